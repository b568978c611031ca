"""
Processors that deal with model calls that failed.
"""
