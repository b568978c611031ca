"""
What a model may call.
"""
