"""
What guards share: normalising, spans, patterns.
"""
