"""
What an operator sees.
"""
