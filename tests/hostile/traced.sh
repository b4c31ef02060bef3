#!/usr/bin/env bash
# Which system calls reading a stranger's files makes: no process is started, nothing is connected, and no file is opened
# outside of the folder with these files, beyond those that an empty agent opens.
#
# Usage: tests/hostile/traced.sh [PROGRAM]. Needs strace (Linux). Prints one line per command; exit code 1 if one did more.
set -euo pipefail
program=$(realpath "${1:-target/debug/ptc-workbench}")
command -v strace >/dev/null || { echo "strace is not installed: system calls are not checked"; exit 0; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/home" "$work/own" "$work/other"
cd "$work/own"

trace() { # FILE COMMAND…: the calls of a command, without its own start
  local out=$1; shift
  env -i HOME="$work/home" PATH="$PATH" TERM=xterm LANG=C.UTF-8 \
    timeout 120 strace -f -qq -s 4096 -e trace=execve,execveat,connect,open,openat,openat2,creat -o "$out" \
    "$program" --sessions "$work/own/sessions" "$@" >"$out.stdout" 2>"$out.stderr" </dev/null || true
}

# One path per line that was opened, from the lines of strace; those that do not exist are not opened.
opened() { grep -E 'open(at|at2)?\(|creat\(' "$1" | grep -v ' = -1 ' | sed -E 's/^[^"]*"([^"]*)".*/\1/' | sort -u; }

# A session with a tool that starts a program, of an agent that may do nothing.
printf 'name = "plain"\nmode = "text"\nprompt = "x"\nmodel = "sample"\n' >plain.toml
trace "$work/t.start" run plain.toml
session=$(find sessions -name '*.jsonl' | head -1)
trace "$work/t.empty" prompt plain.toml
trace "$work/t.empty2" replay "$session"
trace "$work/t.empty3" sessions export "$session" -f json -o "$work/own/out0.json"
trace "$work/t.empty4" compare "$session" "$session"
trace "$work/t.empty5" inspect plain.toml
opened_when_empty=$(for n in "" 2 3 4 5; do opened "$work/t.empty$n"; done | sort -u)

# Hostile files.
echo '{"description": "PLANTED"}' >"$work/other/secret.json"
printf 'mode = "text"\nprompt = "PLANTED"\n' >"$work/other/secret.toml"
ln -s "$work/other/secret.json" link.json
ln -s "$work/other" folder
mkfifo pipe
tool='[tools.t]\nkind = "command"\ncommand = ["/usr/bin/touch", "'$work'/PWNED"]\nfolder = "/"\n[tools.h]\nkind = "http"\nurl = "http://127.0.0.1:9/x"\n[tools.m]\nkind = "mcp"\ncommand = ["/usr/bin/touch", "'$work'/PWNED"]\n'
head='name = "plain"\nmode = "json"\nprompt = "x"\nmodel = "openai:gpt-5"\n'
n=0
for schema in "@$work/other/secret.json" "@../other/secret.json" "@link.json" "@folder/secret.json" "@pipe" "@/dev/zero" "@/etc/shadow"; do
  n=$((n + 1)); printf "${head}schema = \"$schema\"\n" >"schema$n.toml"
done
for file in "$work/other/secret.toml" ../other/secret.toml folder/secret.toml pipe /dev/zero /etc/shadow; do
  n=$((n + 1)); printf "${head}[tools.c]\nkind = \"agent\"\nfile = \"$file\"\n" >"tool$n.toml"
  printf "[[steps]]\nfile = \"$file\"\n" >"steps$n.toml"
done
printf 'name = "plain"\nmode = "ptc_lisp"\nprompt = "x"\nsignature = "() -> :string"\nmodel = "sample"\n'"$tool" >tools.toml
printf 'name = "plain"\nmode = "text"\nprompt = "x"\nmodel = "recorded:'"$work"'/other/secret.json"\n' >model.toml
printf 'name = "plain"\nmode = "text"\nprompt = "x"\n[[cases]]\nname = "c"\ncassette = "'"$work"'/other/secret.json"\n' >case.toml
# The recorded agent gets tools and a file, and the recording a consent.
sed 's|prompt = \\"x\\"\\n|prompt = \\"x\\"\\nschema = \\"@'"$work"'/other/secret.json\\"\\n|' "$session" >edited1.jsonl
sed 's|prompt = \\"x\\"\\n|prompt = \\"x\\"\\n[tools.t]\\nkind = \\"command\\"\\ncommand = [\\"/usr/bin/touch\\", \\"'"$work"'/PWNED\\"]\\n|' "$session" >edited2.jsonl

failed=0
check() { # NAME COMMAND…
  local name=$1; shift
  trace "$work/t.one" "$@"
  local bad=""
  # The first line is the program's own start.
  bad+=$(sed 1d "$work/t.one" | grep -E 'execve(at)?\(' | head -3 || true)
  bad+=$(grep 'connect(' "$work/t.one" | head -3 || true)
  bad+=$(comm -23 <(opened "$work/t.one") <(echo "$opened_when_empty") | grep -v -E "^($work/own/|$work/home/|/proc/(self|[0-9]+)/|[^/])" | head -3 || true)
  bad+=$(grep -l PLANTED "$work/t.one.stdout" "$work/t.one.stderr" || true)
  [ ! -e "$work/PWNED" ] || bad+=" PWNED"
  # A relative path may lead out of the folder.
  bad+=$(opened "$work/t.one" | grep -E '(^|/)(link\.json|folder/|pipe$)|\.\./other' || true)
  if [ -n "$bad" ]; then failed=1; echo "BAD  $name: $bad"; else echo "ok   $name"; fi
}

for agent in schema*.toml tool*.toml steps*.toml tools.toml model.toml case.toml; do
  check "inspect $agent" inspect "$agent"
  check "prompt $agent" prompt "$agent"
  check "open $agent" --plain "$agent"
done
check "tools tools.toml" tools tools.toml
check "test case.toml" test case.toml
for file in edited1.jsonl edited2.jsonl; do
  check "inspect $file" inspect "$file"
  check "replay $file" replay "$file"
  check "sessions show $file" sessions show "$file"
  check "compare $file" compare "$file" "$session"
  check "resume $file" resume "$file"
  for format in json markdown html otlp atif bundle; do
    check "export $format $file" sessions export "$file" -f "$format" -o "$work/own/out-$file-$format"
  done
done
exit $failed
