// Makes tests/model/events.json: streams of events made by chance, each with what an independent reader finds in it.
// The reader is eventsource-parser 3.1.1 (npm, MIT), which reads streams as the WHATWG standard says; bytes become text by node's TextDecoder.
// usage: npm install eventsource-parser@3.1.1 && node tests/peers/events.mjs > tests/model/events.json
import { createParser } from "eventsource-parser";

const STREAMS = 240;
let state = 20261122;
const chance = (n) => {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
  return Math.floor((state / 2 ** 32) * n);
};
const one = (list) => list[chance(list.length)];

const ENDS = ["\n", "\r", "\r\n"];
const TEXTS = ["", " ", "  two", '{"a":"é😀"}', "[DONE]", "data: inside", ":", "a:b", "日本", "\u0000", "\u2028x", "\ufeffmark", "long ".repeat(9)];
const FIELDS = ["data", "data", "data", "data", "event", "id", "retry", "other", "Data", "dat", "data ", ""];
const BAD = [[0xff], [0xc3], [0xe2, 0x82], [0xf0, 0x9f, 0x98], [0xed, 0xa0, 0xbd]];

function stream() {
  const bytes = [];
  const put = (text) => bytes.push(...new TextEncoder().encode(text));
  if (chance(4) === 0) put("\ufeff");
  const usual = one(ENDS);
  const end = () => put(chance(5) ? usual : one(ENDS));
  for (let lines = 1 + chance(10); lines > 0; lines--) {
    const kind = chance(10);
    if (kind < 3) {
      end();
      continue;
    }
    put(kind === 3 ? ":" : one(FIELDS));
    if (kind < 9) put(one([":", ": ", ":  "]) + one(TEXTS));
    if (chance(12) === 0) bytes.push(...one(BAD));
    if (lines > 1 || chance(2)) end();
  }
  if (chance(2)) put(usual + usual);
  return Uint8Array.from(bytes);
}

function events(bytes) {
  const found = [];
  const parser = createParser({ onEvent: ({ event, data }) => found.push(event ? [event, data] : [null, data]), onError: () => {} });
  const text = new TextDecoder().decode(bytes);
  // A CR at the very end ends its line, with and without an LF: this reader waits until it knows.
  parser.feed(text.endsWith("\r") ? text + "\n" : text);
  return found;
}

const lines = [];
for (let n = 0; n < STREAMS; n++) {
  const bytes = stream();
  lines.push(JSON.stringify({ bytes: Buffer.from(bytes).toString("base64"), events: events(bytes) }));
}
process.stdout.write(`[\n${lines.join(",\n")}\n]\n`);
