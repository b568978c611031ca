"""
What makes definitions run.
"""
