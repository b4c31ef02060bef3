"""A scripted server of the OpenAI protocol for the recording of audit.jsonl: one reply for each request, some slow, one refused once."""
import json, time
from http.server import BaseHTTPRequestHandler, HTTPServer

COUNT = 31
SLOW = {9: 0.9, 21: 1.6}
refused = set()


def reply(turn):
    if turn <= COUNT:
        calls = [("fetch", {"id": turn})]
        if turn % 4 == 0:
            calls.append(("rate", {"country": "DE" if turn % 8 else "FR"}))
        if turn == 12:
            calls = [("fetch", {"number": turn}), ("fetch", {"id": turn})]
        return None, calls
    if turn == COUNT + 1:
        return "All invoices are checked; the sum follows.", []
    return json.dumps({"sum": 5562.5, "missing": [7, 18, 26]}), []


class Handler(BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        turn = 1 + sum(1 for message in body["messages"] if message["role"] == "assistant")
        if turn == 15 and turn not in refused:
            refused.add(turn)
            self.send_response(429)
            self.send_header("retry-after", "1")
            self.end_headers()
            return self.wfile.write(b'{"error": {"message": "slow down", "type": "rate_limit_error"}}')
        time.sleep(SLOW.get(turn, 0.03 + 0.01 * (turn * 7 % 11)))
        text, calls = reply(turn)
        asked = [
            {"index": at, "id": f"call_{turn}_{at}", "type": "function",
             "function": {"name": name, "arguments": json.dumps(args)}}
            for at, (name, args) in enumerate(calls)
        ]
        delta = {"role": "assistant", "content": text}
        if asked:
            delta["tool_calls"] = asked
        usage = {"prompt_tokens": len(json.dumps(body["messages"])) // 4, "completion_tokens": 20 + 3 * turn % 17}
        usage["total_tokens"] = sum(usage.values())
        events = [
            {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]},
            {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls" if asked else "stop"}]},
            {"choices": [], "usage": usage},
        ]
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        for event in events:
            event = {"id": "x", "object": "chat.completion.chunk", "model": "scripted", **event}
            self.wfile.write(f"data: {json.dumps(event)}\n\n".encode())
        self.wfile.write(b"data: [DONE]\n\n")


server = HTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
