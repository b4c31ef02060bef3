#!/usr/bin/env python3
"""The model of the guide in docs/improve.md: it labels by the rules that are in the prompt, and as a proposer it adds the rule that a failed run lacks.

It answers POST /v1/chat/completions on 127.0.0.1:18231. The guide takes its replies from `replies`; the model runs only to record them again:
BLESS=1 cargo test --test integration the_guide
"""
import json
import re
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

# Words of messages, the team that answers them, and the rule by which the model knows that (none: it knows without).
KINDS = [
    (("parcel", "tracking", "courier"), "shipping", ""),
    (("invoice",), "billing", ""),
    (("password", "locked", "code"), "access", "Whoever cannot log in writes to access."),
    (("charged", "twice", "money"), "billing", "Questions about a payment go to billing."),
    (("broken", "size", "back"), "returns", "A faulty or unwanted article goes to returns."),
]


def kind_of(message):
    return next((kind for kind in KINDS if any(word in message for word in kind[0])), None)


def team(text):
    """The team of a message, as far as the prompt has the rule for it."""
    kind = kind_of(re.search(r"Message: (.*)", text).group(1))
    return kind[1] if kind and kind[2] in text else "other"


def data(text, name):
    """An input of a proposer."""
    found = re.search(r"^- %s [^\n]*\n<data>\n(.*?)\n</data>" % name, text, re.M | re.S)
    return json.loads(found.group(1))


def better(prompt, runs):
    """The prompt with the rule that one of the failed runs lacks, and why."""
    for message in (json.loads(run["inputs"])["message"] for run in runs):
        kind = kind_of(message)
        if kind and kind[2] not in prompt:
            return kind[2] + "\n" + prompt, f"No rule covers messages such as “{message}”"
    return "Answer with one team.\n" + prompt, "The text does not ask for one team."


def answer(messages):
    text = "\n".join(message["content"] for message in messages)
    if "Judge whether" in text:
        is_other = "other" in json.dumps(data(text, "answer"))
        return {"reason": "No team is named." if is_other else "A team is named.", "score": 0 if is_other else 10}
    if "Improve one text" in text:
        prompt, reason = better(data(text, "text"), data(text, "failed_runs"))
        return {"reason": reason, "text": prompt}
    if "Fix an AI agent" in text:
        prompt, reason = better(data(text, "texts")["prompt"], [data(text, "failed_run")])
        return {"reason": reason, "changes": [{"name": "prompt", "text": prompt}]}
    return {"team": team(text)}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        content = json.dumps(answer(request["messages"]), ensure_ascii=False)
        sent = sum(len(message["content"]) for message in request["messages"]) // 4
        usage = {"prompt_tokens": sent, "completion_tokens": len(content) // 4, "total_tokens": sent + len(content) // 4}
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": content}}
        body = json.dumps({"object": "chat.completion", "model": request["model"], "choices": [choice], "usage": usage})
        body = body.encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        """No log."""


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", 18231), Handler).serve_forever()
