"""
Who is asked.
"""
