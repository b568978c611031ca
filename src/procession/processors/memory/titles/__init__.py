"""
What titles of threads are made of.
"""
