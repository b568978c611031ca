"""
Guards: how fast they are beside a model, and how right they are on labelled corpora.

``python -m bench.guards DIR`` measures how right; ``python -m bench guards`` how fast.
"""

from __future__ import annotations

from bench.guards.latency import benches

__all__ = ["benches"]
