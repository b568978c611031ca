"""
Agents and workflows as tools of an MCP server.
"""
