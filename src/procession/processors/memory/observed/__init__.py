"""
What observational memory is made of.
"""
