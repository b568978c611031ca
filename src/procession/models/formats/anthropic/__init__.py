"""
Anthropic's Messages.
"""
