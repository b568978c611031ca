"""
Benchmarks: each beside a hand-written asyncio loop that does the same work.  ``python -m bench --help``.
"""
