"""What a fuzzer starts from: the programs of the conformance cases, and the language's names as a dictionary.

In: tests/lisp/cases.jsonl, the hostile programs and docs/functions.md. Out: corpus/TARGET/* for each target, words.dict for programs, and
sequences.dict for terminal text.
"""
import hashlib
import json
import pathlib
import re

HERE = pathlib.Path(__file__).parent
TARGETS = ["read", "format", "run", "safe"]
LONGEST_CHARS = 2_000
SYNTAX = [
    "(", ")", "[", "]", "{", "}", "#{", "#(", "#\"", "#_", "'", "@", "^", "##Inf", "##NaN", "\\a", "\\newline", "%", "%&", "&",
    ":a", ":keys", ":as", ":or", ":when", ":while", ":let", "data/rows", "data/xs", "tool/echo", "*1", "1e308", "1/2", "-0.0",
    "9223372036854775807", "é", "\U0001F600", ";", "nil", "true", "\"", "\\u00e9",
]
# Pieces of terminal sequences in seven and eight bits, and characters that hide or reorder.
SEQUENCES = [
    "\x1b", "\x1b[", "\x1b[31m", "\x1b[?1049h", "\x1b]0;", "\x1b]52;c;", "\x1b]8;;", "\x07", "\x1b\\", "\x1bP", "\x1b_", "\x1b^", "\x1bX", "\x1b(0",
    "\x9b", "\x9d", "\x90", "\x98", "\x9c", "\x9e", "\x9f", "\x85", "\x18", "\x1a", "\r", "\r\n", "\x08", "\x7f", "\u2028", "\u202e", "\u2066", "\u200b",
    "\u200d", "\ufe0f", "\ufeff", "\u061c", "\U000e0041", "\U0001f469", "\u2764",
]


def programs():
    for line in (HERE / "../tests/lisp/cases.jsonl").read_text().splitlines():
        yield json.loads(line)["program"]
    blocks = (HERE / "../core/src/lisp/machine/tests/hostile.clj").read_text().split("\n\n")
    yield from (block.split("\n", 1)[1] for block in blocks[1:])


def names():
    return re.findall(r"^### `([^`]+)`", (HERE / "../docs/functions.md").read_text(), re.MULTILINE)


def main():
    texts = {text for text in programs() if len(text) <= LONGEST_CHARS}
    for target in TARGETS:
        folder = HERE / "corpus" / target
        folder.mkdir(parents=True, exist_ok=True)
        for text in texts:
            data = text.encode()
            (folder / hashlib.sha1(data).hexdigest()).write_bytes(data)
    words = SYNTAX + names() + [f"({name} " for name in names()]
    for file, entries in [("words.dict", words), ("sequences.dict", SEQUENCES)]:
        escaped = ("".join(f"\\x{byte:02x}" for byte in entry.encode()) for entry in entries)
        (HERE / file).write_text("".join(f'"{entry}"\n' for entry in escaped))
    print(f"{len(texts)} programs, {len(words)} words")


main()
