"""
What is said: messages, their parts, and the chunks of a stream.
"""
