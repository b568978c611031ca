"""
Where things are kept.
"""
