"""
What semantic recall is made of.
"""
