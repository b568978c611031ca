"""
Agents and workflows over HTTP, and the Studio.
"""
