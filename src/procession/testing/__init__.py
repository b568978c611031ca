"""
Test doubles, for our tests and yours.
"""
