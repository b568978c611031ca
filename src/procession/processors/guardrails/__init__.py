"""
Processors that stop or redact.
"""
