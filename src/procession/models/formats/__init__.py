"""
Formats: requests and answers in each provider's own words.  No network.
"""
