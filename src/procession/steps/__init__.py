"""
One unit of work, and what it is given.
"""
