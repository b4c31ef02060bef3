"""Makes tests/model/recorded.json: replies of servers written by others, each with what the official SDK of its protocol reads in it.

In: files of lines {path, status, type, chunks, request} as a relay wrote them down, each named SERVER=FILE. Every reply is served again
on loopback and read by openai 2.54.0, anthropic 2.12.0, google-genai 3.4.0 or ollama 0.6.3 (PyPI), whichever speaks its protocol.
usage: python tests/peers/judge.py "SERVER AND VERSION=FILE"… > tests/model/recorded.json
"""

import http.server
import json
import sys
import threading

import anthropic
import ollama
import openai
from google import genai

# Larger replies add nothing.
BODY_MAX_BYTES = 6_000
CURRENT = {}


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers.get("content-length", 0)))
        body = CURRENT["body"].encode()
        self.send_response(200)
        self.send_header("content-type", CURRENT["type"])
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def by_openai(root, stream):
    client = openai.OpenAI(base_url=root + "/v1", api_key="x", max_retries=0)
    reply = client.chat.completions.create(model="m", messages=[{"role": "user", "content": "x"}], stream=stream)
    text, calls, finish, usage = "", {}, None, None
    for part in reply if stream else [reply]:
        usage = part.usage or usage
        for choice in part.choices:
            said = choice.delta if stream else choice.message
            text += said.content or ""
            finish = choice.finish_reason or finish
            for place, call in enumerate(said.tool_calls or []):
                known = calls.setdefault(call.index if stream else place, ["", ""])
                known[0] += call.function.name or ""
                known[1] += call.function.arguments or ""
    calls = [[name, json.loads(args)] for name, args in calls.values()]
    return text, calls, finish, usage and (usage.prompt_tokens, usage.completion_tokens)


def by_anthropic(root, stream):
    client = anthropic.Anthropic(base_url=root, api_key="x", max_retries=0)
    asked = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "x"}]}
    if stream:
        with client.messages.stream(**asked) as events:
            reply = events.get_final_message()
    else:
        reply = client.messages.create(**asked)
    text = "".join(block.text for block in reply.content if block.type == "text")
    calls = [[block.name, block.input] for block in reply.content if block.type == "tool_use"]
    words = {"end_turn": "stop", "max_tokens": "length", "tool_use": "tool_calls"}
    usage = reply.usage
    read = usage.input_tokens + (usage.cache_read_input_tokens or 0) + (usage.cache_creation_input_tokens or 0)
    return text, calls, words.get(reply.stop_reason, reply.stop_reason), (read, usage.output_tokens)


def by_gemini(root, stream):
    client = genai.Client(api_key="x", http_options={"base_url": root})
    ask = client.models.generate_content_stream if stream else client.models.generate_content
    reply = ask(model="m", contents="x")
    text, calls, finish, usage = "", [], None, None
    for part in reply if stream else [reply]:
        usage = part.usage_metadata or usage
        for candidate in part.candidates or []:
            finish = candidate.finish_reason or finish
            for piece in (candidate.content and candidate.content.parts) or []:
                text += piece.text or ""
                if piece.function_call:
                    calls.append([piece.function_call.name, piece.function_call.args])
    words = {"STOP": "tool_calls" if calls else "stop", "MAX_TOKENS": "length"}
    counts = usage and (usage.prompt_token_count or 0, usage.candidates_token_count or 0)
    return text, calls, words.get(finish and finish.name), counts


def by_ollama(root, stream):
    reply = ollama.Client(host=root).chat(model="m", messages=[{"role": "user", "content": "x"}], stream=stream)
    text, calls, last = "", [], None
    for part in reply if stream else [reply]:
        text += part.message.content or ""
        calls += [[call.function.name, dict(call.function.arguments)] for call in part.message.tool_calls or []]
        last = part
    finish = "tool_calls" if calls and last.done_reason == "stop" else last.done_reason
    return text, calls, finish, (last.prompt_eval_count, last.eval_count)


JUDGES = [
    ("/chat/completions", "openai", by_openai),
    ("/messages", "anthropic", by_anthropic),
    ("enerateContent", "gemini", by_gemini),
    ("/api/chat", "ollama", by_ollama),
]


def main():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    root = f"http://127.0.0.1:{server.server_port}"
    seen, kept = set(), []
    for named in sys.argv[1:]:
        name, file = named.split("=")
        for line in open(file):
            record = json.loads(line)
            body = "".join(record["chunks"])
            found = [judge for judge in JUDGES if judge[0] in record["path"].split("?")[0]]
            if record["status"] != 200 or not found or len(body) > BODY_MAX_BYTES:
                continue
            _, protocol, read = found[0]
            stream = record["request"].get("stream", "streamGenerate" in record["path"])
            CURRENT.update(body=body, type=record["type"])
            text, calls, finish, usage = read(root, stream)
            kind = (name, protocol, stream, bool(calls), finish)
            if kind in seen:
                continue
            seen.add(kind)
            said = {"text": text, "calls": calls, "finish": finish, "usage": usage}
            kept.append({"server": name, "protocol": protocol, "stream": stream, "type": record["type"], "body": body, "said": said})
    lines = ",\n".join(json.dumps(one, ensure_ascii=False) for one in kept)
    sys.stdout.write(f"[\n{lines}\n]\n")


main()
