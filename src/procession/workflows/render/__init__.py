"""
A graph, drawn.
"""
