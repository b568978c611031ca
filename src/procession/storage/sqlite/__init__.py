"""
Stores in one SQLite file.
"""
