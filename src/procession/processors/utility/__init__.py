"""
Processors that tidy and limit.
"""
