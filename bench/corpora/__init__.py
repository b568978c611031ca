"""
Labelled corpora: how much the guards find in them, and how much they find that is none.
"""
