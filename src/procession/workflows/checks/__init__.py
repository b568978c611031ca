"""
What ``commit()`` looks for.
"""
