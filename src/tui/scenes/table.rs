//! The table of scenes.

use super::Step::{
    Asked, Choose, ChooseBy, Compared, ExampleRun, FileRun, Held, Keys, Ran, Replayed, Rest, Searched, Streams, Tested,
    Traffic, Type, Until,
};
use super::{Opens, Scene, Step};
use crate::agent::Mode;

const SENTIMENT: Opens = Opens { name: "sentiment", mode: None, model: None };
const SALES: Opens = Opens { name: "sales", mode: Some(Mode::PtcLisp), model: None };
const HUMAN: Opens = Opens { model: Some("human"), ..SENTIMENT };
const WORDS: Opens = Opens { name: "words", mode: None, model: None };
const QUOTE: Opens = Opens { name: "quote", mode: None, model: None };
const EXTRACT: Opens = Opens { name: "extract", mode: Some(Mode::Json), model: None };
const REVIEWS: Opens = Opens { name: "reviews", mode: None, model: None };
const WORKSHOP: Opens = Opens { name: "workshop", mode: None, model: None };
const STATEMENT: Opens = Opens { name: "statement", mode: Some(Mode::PtcLisp), model: None };
const SALES_TEXT: Opens = Opens { mode: Some(Mode::Text), ..SALES };
const YARD: Opens = Opens { name: "yard", mode: None, model: None };
const BOOKING: Opens = Opens { name: "booking", mode: None, model: None };
const FAILING: Opens = Opens { model: Some("sample:missing_field,every"), ..SENTIMENT };
const REFUSED: Opens = Opens { model: Some("sample:provider_error"), ..SENTIMENT };
const SLOW: Opens = Opens { name: "sentiment", mode: Some(Mode::PtcLisp), model: Some("sample:slow") };

/// From the start to the first turn of the recording of `sales` in `ptc_lisp`, taken apart.
const INSPECT: Step = Keys(&["f3"]);
/// The long run: 33 turns, five of which failed.
const OPEN_AUDIT: Step = Choose("audit", "text");
const OPEN_SALES: Step = Choose("sales", "ptc_lisp");
const FIRST_TURN: Step = Keys(&["enter", "home", "down", "enter"]);
/// Chooses the session of `extract` over HTTP, whose first reply had to be repaired.
const OPEN_EXTRACT: Step = Choose("extract", "json");

const fn scene(name: &'static str, about: &'static str, opens: Opens, steps: &'static [Step]) -> Scene {
    Scene { name, about, opens, steps }
}

/// Every scene.
#[rustfmt::skip]
pub const SCENES: &[Scene] = &[
    scene("workbench", "editors and a finished run: an error that was corrected", SENTIMENT, &[Ran]),
    scene("fresh", "the first start", SENTIMENT, &[]),
    scene("run", "the run with the focus: a page of its own on a narrow screen", SENTIMENT, &[Ran, Keys(&["f2"])]),
    scene("selection", "a selection in an editor", SENTIMENT, &[Keys(&["ctrl-home", "ctrl-shift-right", "ctrl-shift-right"])]),
    scene("findings", "what does not fit, at its place", SENTIMENT, &[Keys(&["ctrl-end"]), Type(" as {{tone}}")]),
    scene("fixes", "what can be done about a finding", SENTIMENT, &[Keys(&["ctrl-end"]), Type(" as {{txt}}"), Keys(&["f8"])]),
    scene("search", "search and replace in a field", SENTIMENT, &[Keys(&["ctrl-f"]), Type("text")]),
    scene("new-agent", "a new agent about to begin", SENTIMENT, &[Keys(&["ctrl-n"]), Type("invoice")]),
    scene("inputs", "inputs as fields of the signature", SALES, &[Keys(&["alt-g", "c"])]),
    scene("zoom", "the focused editor on the whole screen", SENTIMENT, &[Ran, Keys(&["alt-g", "z"])]),
    scene("stop", "a run that the next press stops", SENTIMENT, &[Streams(1), Keys(&["f5"])]),
    scene("preview", "exactly what would be sent", SENTIMENT, &[Keys(&["f6"])]),
    scene("tools", "the tools of an agent being edited", SALES, &[Keys(&["alt-g", "t"])]),
    scene("streaming", "a reply as it comes", SENTIMENT, &[Streams(1)]),
    scene("streaming-json", "JSON as it grows", EXTRACT, &[Streams(5), Keys(&["f2"])]),
    scene("streaming-program", "a program as it grows", SLOW, &[Streams(9), Keys(&["f2"])]),
    scene("retry", "a request before its retry", REFUSED, &[Until("retry.wait"), Keys(&["f2"])]),
    scene("failed", "a run that used up its turns", FAILING, &[Ran, Keys(&["f2", "end"])]),
    scene("refused", "a run that does not begin", SENTIMENT, &[Keys(&["alt-g", "c", "alt-j", "ctrl-a"]), Type("{"), Keys(&["f5"])]),
    scene("draft-runs", "two runs of a draft, edited between them", SENTIMENT, &[Ran, Keys(&["ctrl-end"]), Type(" Be brief."), Ran]),
    scene("raw", "a run with the exact texts", SENTIMENT, &[Ran, Keys(&["f2", "v"])]),
    scene("wire", "a run as it went over the wire", SENTIMENT, &[Ran, Keys(&["f2", "v", "v"])]),
    scene("repairs", "a reply next to what was read from it", EXTRACT, &[Ran, Keys(&["f2", "home", "pagedown"])]),
    scene("program", "a run whose replies are programs", SALES, &[Ran]),
    scene("program-error", "a program that fails, with the place of its error", STATEMENT, &[Ran, Keys(&["f2", "home"])]),
    scene("native-calls", "a run with the model's own tool calls", SALES_TEXT, &[Ran, Keys(&["f2", "end"])]),
    scene("folded", "a run with every card folded", SENTIMENT, &[Ran, Keys(&["f2", "a"])]),
    scene("children", "runs inside a run", REVIEWS, &[Ran, Keys(&["f2", "home"])]),
    scene("plan", "a run that follows a plan", WORKSHOP, &[Ran, Keys(&["f2", "end"])]),
    scene("compaction", "a run that leaves old messages out", YARD, &[Ran, Keys(&["f2", "end"])]),
    scene("pipeline", "the steps of a pipeline", QUOTE, &[]),
    scene("example", "a recorded run next to the draft, at the first start", SENTIMENT, &[ExampleRun]),
    scene("help", "every key", SENTIMENT, &[Ran, Keys(&["f1"])]),
    scene("actions", "every action by name", SENTIMENT, &[Ran, Keys(&["ctrl-p"])]),
    scene("disabled", "an action that cannot be done now, and why", SENTIMENT, &[Keys(&["ctrl-p"]), Type("fix")]),
    scene("menu", "the menu of what can be done here", SENTIMENT, &[Ran, Keys(&["f10"])]),
    scene("chord", "what can follow the first stroke", SENTIMENT, &[Keys(&["alt-m"]), Rest(300)]),
    scene("tour", "the tour of six steps", SENTIMENT, &[Keys(&["ctrl-p"]), Type("tour"), Keys(&["enter", "enter"])]),
    scene("save", "where to save an agent that has no file", SENTIMENT, &[Type("Please: "), Keys(&["ctrl-s"])]),
    scene("leaving", "unsaved edits", SENTIMENT, &[Type("Please: "), Keys(&["ctrl-q"])]),

    scene("human", "the user is the model", HUMAN, &[Asked, Type("{\"sentiment\": \"good\", \"score\": 1")]),
    scene("gate-request", "a run that waits before its request", SENTIMENT, &[Keys(&["f7"]), Asked]),
    scene("gate-reply", "a run that waits before a reply is applied", SENTIMENT, &[Keys(&["shift-f7"]), Asked]),
    scene("gate-result", "a run that waits before a tool's result is passed on", SALES, &[Keys(&["alt-f7"]), Asked]),
    scene("breakpoints", "where runs stop because of their programs", SALES, &[Keys(&["ctrl-f7"]), Type("def:total, error")]),
    scene("breakpoint", "a run that waits where its program defined a name", SALES, &[Keys(&["ctrl-f7"]), Type("def:names"), Keys(&["f5"]), Asked]),
    scene("question", "an agent that asks the user", BOOKING, &[Asked]),
    scene("consent", "a tool that asks before it starts a program", WORDS, &[Asked]),

    scene("sessions", "saved sessions, forks below their parents", SENTIMENT, &[Keys(&["f3", "down"])]),
    scene("sessions-search", "sessions found while typing", SENTIMENT, &[Keys(&["f3", "/"]), Type("region mode:json")]),
    scene("sessions-none", "a search that finds nothing", SENTIMENT, &[Keys(&["f3", "/"]), Type("zebra")]),
    scene("session", "an opened session", SENTIMENT, &[Keys(&["f3"]), OPEN_SALES, Keys(&["enter"])]),
    scene("file-input", "a run on a picture: name, type and size of the file", SENTIMENT, &[FileRun, Keys(&["f3"]), Choose("photo", "json"), Keys(&["enter", "home", "right"])]),
    scene("inspect-file", "a file among the parts of a request", SENTIMENT, &[FileRun, Keys(&["f3"]), Choose("photo", "json"), Keys(&["enter", "enter", "down", "down", "down", "down", "down", "down", "down"])]),
    scene("transcript-search", "what was found in a transcript", SENTIMENT, &[Keys(&["f3"]), OPEN_SALES, Keys(&["enter", "/"]), Type("region")]),
    scene("matches", "what was found in a run, by turn and kind", SENTIMENT, &[Keys(&["f3"]), OPEN_SALES, Keys(&["enter", "/"]), Type("region"), Keys(&["alt-l", "down", "down"])]),
    scene("overview", "one line for each turn of a long run, at a turn in which a tool failed", SENTIMENT, &[Keys(&["f3"]), OPEN_AUDIT, Keys(&["enter", "u", "}"])]),
    scene("overview-slow", "the slowest turns first, and where the time of one went", SENTIMENT, &[Keys(&["f3"]), OPEN_AUDIT, Keys(&["enter", "u", "s", "home", "down"])]),
    scene("overview-filter", "the turns in which one tool failed", SENTIMENT, &[Keys(&["f3"]), OPEN_AUDIT, Keys(&["enter", "u", "/"]), Type("tool:fetch failed"), Keys(&["enter"])]),
    scene("turns", "a long run with its turns next to it", SENTIMENT, &[Keys(&["f3"]), OPEN_AUDIT, Keys(&["enter", "}", "}"])]),
    scene("failures", "what failed in all sessions, with its places", SENTIMENT, &[Keys(&["f3", "x"])]),
    scene("failed-tool", "the sessions in which a tool failed", SENTIMENT, &[Keys(&["f3", "/"]), Type("tool:fetch failed"), Keys(&["down"])]),
    scene("tests", "the cases of the draft: expected next to got", SENTIMENT, &[Keys(&["alt-g", "o", "ctrl-end", "enter"]), Type("[[cases]]"), Keys(&["enter"]), Type("name = \"sarcasm\""), Keys(&["enter"]), Type("context = { text = \"Great, it broke.\" }"), Keys(&["enter"]), Type("expect = '(= (:sentiment result) \"negative\")'"), Keys(&["f11"]), Tested("sentiment", "expected \"negative\", got \"positive\""), Keys(&["end"])]),
    scene("play", "a session played from its recording", SENTIMENT, &[Keys(&["f3"]), OPEN_SALES, Keys(&["enter", "p", "]", "right", "right", "right", "right", "right", "right", "right"])]),
    scene("replay", "a replay without a difference", SENTIMENT, &[Keys(&["f3"]), OPEN_SALES, Keys(&["enter"]), Replayed]),
    scene("fork", "a fork about to begin, with another reply", SENTIMENT, &[Keys(&["f3"]), Choose("sentiment", "json"), Keys(&["f", "right"])]),
    scene("rerun", "a run before its re-run", SENTIMENT, &[Keys(&["f3"]), OPEN_SALES, Keys(&["shift-r"])]),
    scene("edit", "a reply about to be changed, from the transcript", SENTIMENT, &[Keys(&["f3"]), OPEN_SALES, Keys(&["enter", "home", "down", "down", "shift-e"])]),
    scene("note", "a note being written", SENTIMENT, &[Keys(&["f3"]), OPEN_SALES, Keys(&["w"]), Type("Why is there no West?")]),
    scene("case", "a session that becomes a test case", SENTIMENT, &[Keys(&["f3"]), OPEN_SALES, Keys(&["shift-t"])]),
    scene("tags", "tags being written", SENTIMENT, &[Keys(&["f3"]), OPEN_SALES, Keys(&["t"]), Type("slow north")]),
    scene("export", "what an export leaves out", SENTIMENT, &[Keys(&["f3"]), Choose("sentiment", "json"), Keys(&["e", "down", "right"])]),

    scene("inspect-request", "what was sent, whole", SENTIMENT, &[INSPECT, OPEN_SALES, FIRST_TURN]),
    scene("inspect-parts", "what fills a request, by kind and part", SENTIMENT, &[INSPECT, OPEN_EXTRACT, FIRST_TURN, Keys(&["down"])]),
    scene("inspect-part", "one part of a request", SENTIMENT, &[INSPECT, OPEN_SALES, FIRST_TURN, Keys(&["down", "down", "down", "down", "down"])]),
    scene("drop-part", "a part of a request about to be dropped, and the model asked again", SENTIMENT, &[INSPECT, OPEN_SALES, FIRST_TURN, Keys(&["n", "down", "down", "down", "down", "x"])]),
    scene("prompt-growth", "what fills the requests of a run, turn by turn", SENTIMENT, &[INSPECT, Choose("yard", "text"), Keys(&["enter", "b"])]),
    scene("inspect-search", "what was found in a turn", SENTIMENT, &[INSPECT, OPEN_SALES, FIRST_TURN, Keys(&["/"]), Type("region")]),
    scene("inspect-difference", "differences to the previous request", SENTIMENT, &[INSPECT, OPEN_SALES, FIRST_TURN, Keys(&["n", "d"])]),
    scene("inspect-feedback", "the feedback to the model", SENTIMENT, &[INSPECT, Choose("sentiment", "json"), FIRST_TURN, Keys(&["n", "d"])]),
    scene("inspect-reply", "the reply, byte by byte", SENTIMENT, &[INSPECT, OPEN_EXTRACT, FIRST_TURN, Keys(&["tab"])]),
    scene("inspect-extract", "what was read from a reply", SENTIMENT, &[INSPECT, OPEN_EXTRACT, FIRST_TURN, Keys(&["tab", "tab", "down"])]),
    scene("inspect-value", "the answer as a tree", SENTIMENT, &[INSPECT, OPEN_EXTRACT, FIRST_TURN, Keys(&["tab", "tab", "down", "down", "enter", "down"])]),
    scene("inspect-program", "a program with the value of each form", SENTIMENT, &[INSPECT, OPEN_SALES, FIRST_TURN, Keys(&["tab", "tab", "tab", "enter", "right", "right", "right", "right"])]),
    scene("inspect-calls", "tool calls of a turn", SENTIMENT, &[INSPECT, OPEN_SALES, FIRST_TURN, Keys(&["tab", "tab", "tab", "tab", "down"])]),
    scene("inspect-memory", "memory and the bench on it", SENTIMENT, &[INSPECT, OPEN_SALES, Keys(&["enter", "home", "down", "i"]), Type("(count data/rows)"), Keys(&["enter"])]),
    scene("inspect-wire", "what went over the wire", SENTIMENT, &[INSPECT, OPEN_EXTRACT, FIRST_TURN, Keys(&["backtab", "down"])]),
    scene("inspect-frames", "one frame after the other, with their times", SENTIMENT, &[INSPECT, OPEN_EXTRACT, FIRST_TURN, Keys(&["backtab", "down", "enter", "right", "right", "right", "right", "right"])]),

    scene("traffic-none", "no proxy yet", SENTIMENT, &[Keys(&["f12"])]),
    scene("traffic", "the traffic of three programs, and what one of them asked", SENTIMENT, &[Keys(&["f12"]), Traffic]),
    scene("traffic-opened", "a conversation of another program, opened", SENTIMENT, &[Keys(&["f12"]), Traffic, Keys(&["enter"])]),
    scene("traffic-held", "a request of another program that waits", SENTIMENT, &[Keys(&["f12", "f7"]), Traffic, Held]),
    scene("traffic-aside", "a request that waits while others are looked at", SENTIMENT, &[Keys(&["f12", "f7"]), Traffic, Held, Keys(&["esc", "home"])]),
    scene("traffic-answer", "an answer in the model's place", SENTIMENT, &[Keys(&["f12", "f7"]), Traffic, Held, Keys(&["alt-a"]), Type("There are none.")]),
    scene("traffic-models", "a captured request about to be asked of other models", SENTIMENT, &[Keys(&["f12"]), Traffic, Keys(&["shift-m"]), Type("gpt, sonnet")]),

    scene("candidates", "the candidates of a search, and what the best one changes", SENTIMENT, &[Searched, Keys(&["b"])]),
    scene("candidates-cases", "the cases that a candidate won and lost", SENTIMENT, &[Searched, Keys(&["b", "enter", "down"])]),
    scene("candidates-write", "a candidate that is written into the agent file, one hunk of it chosen", SENTIMENT, &[Searched, Keys(&["b"]), Compared, Keys(&["space"])]),
    scene("candidates-open", "a folder without a search", SENTIMENT, &[Keys(&["alt-g", "b"])]),

    scene("compare-empty", "nothing is compared yet", SENTIMENT, &[Keys(&["f4"])]),
    scene("compare", "two sessions side by side", SENTIMENT, &[Keys(&["f3"]), OPEN_SALES, Keys(&["m"]), Choose("sales", "text"), Keys(&["m", "c"])]),
    scene("compare-turns", "the turns of two sessions aligned, with the first difference", SENTIMENT, &[Keys(&["f3"]), OPEN_SALES, Keys(&["m"]), Choose("sales", "text"), Keys(&["m", "c", "t"])]),
    scene("both-modes", "the same agent as a program and as data", SENTIMENT, &[Keys(&["f3"]), ChooseBy("ptc_lisp", "demo"), Keys(&["m"]), ChooseBy("json", "demo"), Keys(&["m", "c"])]),
    scene("matrix-new", "a matrix about to begin", SENTIMENT, &[Keys(&["f4", "m"])]),
    scene("matrices", "earlier matrices", SENTIMENT, &[Keys(&["f4", "shift-m"])]),
    scene("matrix", "modes and models against each other", SENTIMENT, &[Keys(&["f4", "shift-m", "enter", "down"])]),
];
