"""
What working memory is made of.
"""
