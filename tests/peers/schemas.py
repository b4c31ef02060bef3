"""Makes tests/model/gemini.schema.json, ollama.schema.json and responses.schema.json: what a request may hold, from the types of the official Python SDKs.

From google-genai 3.4.0 (Apache-2.0), ollama 0.6.3 (MIT) and openai 3.57.0 (Apache-2.0), all of PyPI:
pip install google-genai==3.4.0 ollama==0.6.3 openai==3.57.0 && python tests/peers/schemas.py tests/model
Names after the folder choose some of them.
What the SDKs do not send and the services take is added below, each with its reason.
"""

import json
import pathlib
import sys

from pydantic import TypeAdapter, create_model


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
    from google.genai import types

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
        ("Part", ["text", "thought", "thoughtSignature", "functionCall", "functionResponse", "inlineData"]),
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
    from ollama import _types as ollama

    schema = closed(ollama.ChatRequest.model_json_schema())
    defs = schema["$defs"]
    # The server pairs calls and results by id since 0.13 (api/types.go); the SDK does not know it yet.
    text = {"type": "string"}
    defs["ToolCall"]["properties"]["id"] = text
    defs["Message"]["properties"]["tool_call_id"] = text
    # The SDK writes an image as Base64.
    defs["Message"]["properties"]["images"] = {"type": "array", "items": text}
    # The server samples with it (api/types.go); the SDK does not name it yet.
    defs["Options"]["properties"]["min_p"] = {"type": "number"}
    # Schemas of tools are JSON Schemas: the server leaves out what it does not know.
    for name in ("Parameters", "Property"):
        defs[name]["additionalProperties"] = True
    # Dictionaries are as good as objects to the SDK; here they are looked at.
    schema["properties"]["messages"] = {"type": "array", "items": {"$ref": "#/$defs/Message"}}
    schema["properties"]["options"] = {"$ref": "#/$defs/Options"}
    return reachable(schema)


def responses():
    from openai.types.responses import response_create_params as params

    schema = closed(TypeAdapter(params.ResponseCreateParamsStreaming).json_schema())
    # Requests that are not streamed are the same otherwise.
    schema["properties"]["stream"] = {"type": "boolean"}
    # Only what this program sends is looked at; the rest of the unions would be most of the file.
    wanted = [
        "EasyInputMessageParam", "ResponseFunctionToolCallParam", "FunctionCallOutput", "ResponseReasoningItemParam",
        "ResponseCustomToolCallParam", "ResponseCustomToolCallOutputParam",
    ]
    schema["properties"]["input"] = {"type": "array", "items": {"anyOf": [{"$ref": f"#/$defs/{name}"} for name in wanted]}}
    schema["properties"]["tools"] = {
        "type": "array",
        "items": {"anyOf": [{"$ref": "#/$defs/FunctionToolParam"}, {"$ref": "#/$defs/CustomToolParam"}]},
    }
    words = {"enum": ["none", "auto", "required"]}
    schema["properties"]["tool_choice"] = {"anyOf": [words, {"$ref": "#/$defs/ToolChoiceFunctionParam"}]}
    sent = [
        "include", "input", "instructions", "max_output_tokens", "model", "parallel_tool_calls", "reasoning", "store",
        "stream", "temperature", "text", "tool_choice", "tools", "top_p", "prompt_cache_key", "service_tier",
    ]
    schema["properties"] = {key: schema["properties"][key] for key in sent}
    schema["required"] = ["model", "input"]
    defs = schema["$defs"]
    kinds = ["ResponseInputTextParam", "ResponseInputImageParam", "ResponseInputFileParam"]
    parts = {"type": "array", "items": {"anyOf": [{"$ref": f"#/$defs/{name}"} for name in kinds]}}
    defs["EasyInputMessageParam"]["properties"]["content"] = {"anyOf": [{"type": "string"}, parts]}
    # The parts of an output have types of their own with the same fields.
    defs["FunctionCallOutput"]["properties"]["output"] = {"anyOf": [{"type": "string"}, parts]}
    defs["ResponseCustomToolCallOutputParam"]["properties"]["output"] = {"anyOf": [{"type": "string"}, parts]}
    # JSON Schemas, of any content.
    for name, key in [("FunctionToolParam", "parameters"), ("ResponseFormatTextJSONSchemaConfigParam", "schema")]:
        defs[name]["properties"][key] = {"type": "object"}
    calls = ["ResponseFunctionToolCallParam", "FunctionCallOutput", "ResponseCustomToolCallParam", "ResponseCustomToolCallOutputParam"]
    for name in [*calls, "FunctionToolParam", "CustomToolParam"]:
        unused = ["caller", "namespace", "allowed_callers", "defer_loading", "output_schema"]
        defs[name]["properties"] = {key: value for key, value in defs[name]["properties"].items() if key not in unused}
    return reachable(schema)


folder = pathlib.Path(sys.argv[1])
for name, make in [("gemini", gemini), ("ollama", chat), ("responses", responses)]:
    if name in (sys.argv[2:] or [name]):
        (folder / f"{name}.schema.json").write_text(json.dumps(make(), indent=1) + "\n")
