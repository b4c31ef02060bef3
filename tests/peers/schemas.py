"""Makes tests/model/gemini.schema.json and ollama.schema.json: what a request may hold, from the types of the official Python SDKs.

From google-genai 3.4.0 (Apache-2.0) and ollama 0.6.3 (MIT), both of PyPI:
pip install google-genai==3.4.0 ollama==0.6.3 && python tests/peers/schemas.py tests/model
What the SDKs do not send and the services take is added below, each with its reason.
"""

import json
import pathlib
import sys

from google.genai import types
from ollama import _types as ollama
from pydantic import create_model


def closed(node, within=None):
    """The schema without words for people, objects closed."""
    if isinstance(node, list):
        return [closed(item) for item in node]
    if not isinstance(node, dict):
        return node
    if within in ("properties", "$defs"):
        return {key: closed(value) for key, value in node.items()}
    kept = {key: closed(value, key) for key, value in node.items() if key not in ("title", "description", "default")}
    if "properties" in kept:
        kept.setdefault("additionalProperties", False)
    return kept


def reachable(schema):
    """The schema with the definitions that it uses."""
    found, queue = {}, [{key: value for key, value in schema.items() if key != "$defs"}]
    while queue:
        for name in set(part.split('"')[0] for part in json.dumps(queue.pop()).split("#/$defs/")[1:]):
            if name not in found:
                found[name] = schema["$defs"][name]
                queue.append(found[name])
    return {**schema, "$defs": dict(sorted(found.items()))}


def gemini():
    kinds = {
        "contents": (list[types.Content], ...),
        "systemInstruction": (types.Content, None),
        "tools": (list[types.Tool], None),
        "toolConfig": (types.ToolConfig, None),
        "generationConfig": (types.GenerationConfig, None),
    }
    schema = closed(create_model("Request", **kinds).model_json_schema(by_alias=True))
    defs = schema["$defs"]
    # Only what this program sends is looked at; the rest of the union would be most of the file.
    for name, wanted in [
        ("Tool", ["functionDeclarations"]),
        ("ToolConfig", ["functionCallingConfig"]),
        ("Part", ["text", "thought", "thoughtSignature", "functionCall", "functionResponse"]),
        ("FunctionResponse", ["id", "name", "response"]),
    ]:
        known = defs[name]["properties"]
        defs[name]["properties"] = {key: known[key] for key in wanted}
    unused = ["modelSelectionConfig", "routingConfig", "speechConfig", "responseFormat", "translationConfig", "audioTranscriptionConfig"]
    for name in unused:
        defs["GenerationConfig"]["properties"].pop(name, None)
    # The service takes the names of types and levels in both cases, as its documents write them.
    for name in ("Type", "ThinkingLevel"):
        defs[name]["enum"] += [word.lower() for word in defs[name]["enum"]]
    return reachable(schema)


def chat():
    schema = closed(ollama.ChatRequest.model_json_schema())
    defs = schema["$defs"]
    # The server pairs calls and results by id since 0.13 (api/types.go); the SDK does not know it yet.
    text = {"type": "string"}
    defs["ToolCall"]["properties"]["id"] = text
    defs["Message"]["properties"]["tool_call_id"] = text
    # Schemas of tools are JSON Schemas: the server leaves out what it does not know.
    for name in ("Parameters", "Property"):
        defs[name]["additionalProperties"] = True
    # Dictionaries are as good as objects to the SDK; here they are looked at.
    schema["properties"]["messages"] = {"type": "array", "items": {"$ref": "#/$defs/Message"}}
    schema["properties"]["options"] = {"$ref": "#/$defs/Options"}
    return reachable(schema)


folder = pathlib.Path(sys.argv[1])
for name, schema in [("gemini", gemini()), ("ollama", chat())]:
    (folder / f"{name}.schema.json").write_text(json.dumps(schema, indent=1) + "\n")
