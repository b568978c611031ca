"""
Processors that recall and save.
"""
