"""
Answers from before.
"""
