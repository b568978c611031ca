"""
How steps are joined; definitions only.
"""
