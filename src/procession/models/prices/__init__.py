"""
What models cost: prices as data.
"""
