"""
How the tables come about, a module for each of their versions; Alembic runs them.
"""
