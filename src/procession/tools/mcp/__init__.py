"""
Tools of MCP servers.
"""
