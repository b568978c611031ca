"""
Structured output, as far as it knows nothing of the loop: what is wanted, how it is asked for, and how it is read.
"""
