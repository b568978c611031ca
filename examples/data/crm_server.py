"""A small MCP server, written with the official SDK, for 10_mcp.py."""

from mcp.server.mcpserver import MCPServer
from mcp.types import ToolAnnotations

server = MCPServer("crm")


@server.tool(description="Find a customer by number.", structured_output=False)
def find_customer(number: int) -> str:
    return f"Customer {number} is Eva, eva@example.net"


@server.tool(
    description="Delete a customer.", structured_output=False, annotations=ToolAnnotations(destructive_hint=True)
)
def delete_customer(number: int) -> str:
    return f"Customer {number} is gone"


if __name__ == "__main__":
    server.run()
