"""What a fuzzer starts from: the programs of the conformance cases, and the language's names as a dictionary.

In: tests/lisp/cases.jsonl, the hostile programs and docs/functions.md. Out: corpus/TARGET/* for each target, and words.dict.
"""
import hashlib
import json
import pathlib
import re

HERE = pathlib.Path(__file__).parent
TARGETS = ["read", "format", "run"]
LONGEST_CHARS = 2_000
SYNTAX = [
    "(", ")", "[", "]", "{", "}", "#{", "#(", "#\"", "#_", "'", "@", "^", "##Inf", "##NaN", "\\a", "\\newline", "%", "%&", "&",
    ":a", ":keys", ":as", ":or", ":when", ":while", ":let", "data/rows", "data/xs", "tool/echo", "*1", "1e308", "1/2", "-0.0",
    "9223372036854775807", "é", "\U0001F600", ";", "nil", "true", "\"", "\\u00e9",
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
    escaped = ("".join(f"\\x{byte:02x}" for byte in word.encode()) for word in words)
    (HERE / "words.dict").write_text("".join(f'"{word}"\n' for word in escaped))
    print(f"{len(texts)} programs, {len(words)} words")


main()
