"""The official Python client of MCP against `ptc-workbench mcp`.

usage: mcp_client.py PROGRAM [ARGUMENT…]; prints one JSON object.
"""
import asyncio
import json
import os
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.types import ElicitResult


async def answer_question(_context, params):
    schema = getattr(params, "requestedSchema", None) or params.requested_schema
    field = next(iter(schema["properties"]))
    return ElicitResult(action="accept", content={field: "large" if "size" in params.message else "red"})


def member(result, name):
    """A member under its name in Python, or in the protocol: versions of the client differ."""
    camel = "".join(part.capitalize() if at else part for at, part in enumerate(name.split("_")))
    return getattr(result, name, None) if hasattr(result, name) else getattr(result, camel)


async def main():
    server = StdioServerParameters(command=sys.argv[1], args=sys.argv[2:], env=dict(os.environ))
    async with stdio_client(server, errlog=open(os.devnull, "w")) as (reading, writing):
        async with ClientSession(reading, writing, elicitation_callback=answer_question) as session:
            await session.initialize()
            report = {"tools": [tool.name for tool in (await session.list_tools()).tools]}
            # The client checks structured content against the tool's schema.
            report["optional"] = member(await session.call_tool("optional", {}), "structured_content")
            report["asked"] = member(await session.call_tool("ask", {}), "structured_content")
            report["unknown"] = member(await session.call_tool("nope", {}), "is_error")
            print(json.dumps(report))


asyncio.run(main())
