"""
OpenAI's Chat Completions, Responses and embeddings.
"""
