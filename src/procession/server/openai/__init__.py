"""
Agents behind OpenAI's Chat Completions: what a client of that API asks and is answered.
"""
