"""
Google's Gemini.
"""
