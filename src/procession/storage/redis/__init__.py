"""
What is kept in Redis.
"""
