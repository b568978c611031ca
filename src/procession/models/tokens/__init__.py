"""
Counting tokens: what a text, a message or a whole prompt costs of a model's context.
"""
