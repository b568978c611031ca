"""
Durable runs: what a run writes down, and how it goes on from that.
"""
