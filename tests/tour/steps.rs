//! The steps of the guided tour.

use super::Do::{Press, Times, Type};
use super::{Move, Step};

/// A move without a picture.
const PLAIN: Move = Move { does: &[], says: "", sees: &[], large: &[], gone: None, picture: None };

/// Every step in its order.
pub(crate) const STEPS: &[Step] = &[
    Step {
        title: "Start",
        intro: "`ptc-workbench` (or `cargo run --release`) opens an example agent: prompt, signature, inputs, tools and options on the \
                left, a recorded run of it on the right (on a narrow terminal one of both at a time; **F2** goes between them). Its model `demo` answers from recordings, so nothing leaves this machine.",
        moves: &[
            Move { says: "The first start begins with a tour of six steps.", sees: &["Tour 1 of 6"], ..PLAIN },
            Move {
                does: &[Times(6, "tour.next")],
                says: "read them; any other key that does something ends the tour and does it.",
                sees: &["a recorded run of this example"],
                gone: Some("Tour 6 of 6"),
                ..PLAIN
            },
        ],
    },
    Step {
        title: "Edit a prompt",
        intro: "The texts are checked against each other while you type.",
        moves: &[
            Move {
                does: &[Press("text.end"), Type(" as {{tone}}")],
                says: "the signature has no such parameter, and the prompt shows it at its place.",
                sees: &["`tone` is not a parameter; known here: `text`", "F8 add `tone` to the signature"],
                picture: Some((
                    "findings",
                    "A variable that the signature does not have, shown below the prompt with its correction",
                )),
                ..PLAIN
            },
            Move {
                does: &[Press("draft.fix")],
                says: "the correction goes into the signature; now the context has no value for it.",
                sees: &["tone :string", "`tone` is missing"],
                ..PLAIN
            },
            Move {
                does: &[Press("text.undo"), Press("focus.prompt"), Times(2, "text.undo")],
                says: "undo takes all of it back, each text its own changes.",
                sees: &["✓ 2 fields"],
                gone: Some("● unsaved"),
                ..PLAIN
            },
        ],
    },
    Step {
        title: "Run it, and see an error corrected",
        intro: "Each turn is a card.",
        moves: &[
            Move {
                does: &[Press("run.start")],
                says: "the first answer lacks a field and has one that was not asked for. What is wrong goes back to the model, and the \
                   second turn fits.",
                sees: &["✗ sentiment  missing field", "Feedback sent to the model", "Turn 2", "✓ returned"],
                picture: Some((
                    "workbench",
                    "Editors on the left; on the right two turns, the first with its errors, the second valid",
                )),
                ..PLAIN
            },
            Move {
                says: "the row above the cards has the runs of the draft: the recorded one, and this one.",
                sees: &["[2 ✓ json]"],
                ..PLAIN
            },
        ],
    },
    Step {
        title: "Inspect what was really sent",
        intro: "Every turn can be opened: request, reply, what was read from it, program, calls, memory, and the bytes on the wire.",
        moves: &[
            Move {
                does: &[Press("focus.run"), Press("transcript.up")],
                says: "the run has the keys.",
                sees: &["Enter open turn"],
                ..PLAIN
            },
            Move {
                does: &[Press("transcript.inspect"), Press("inspect.difference")],
                says: "the request of turn 2 and what it adds to the previous one: the first reply and the feedback are new.",
                sees: &["Turn 2 of 2 · run r0 · sentiment · json", "difference to the previous request"],
                picture: Some((
                    "inspect-feedback",
                    "The parts of the second request with their sizes, new ones with a plus",
                )),
                ..PLAIN
            },
            Move {
                does: &[Press("focus.next"), Press("close")],
                says: "the reply is in the next tab; Escape leads back.",
                sees: &["Feedback sent to the model"],
                gone: Some("difference to the previous request"),
                ..PLAIN
            },
        ],
    },
    Step {
        title: "Be the model",
        intro: "The model `human` is you.",
        moves: &[
            Move {
                does: &[Press("draft.model")],
                says: "the models that can be used now; the key of a provider in the environment adds its own.",
                sees: &["▸ use the model demo", "use the model human: you type the replies"],
                ..PLAIN
            },
            Move {
                does: &[Times(2, "fixes.down"), Press("fixes.apply")],
                says: "it is written into the options, where it could be typed as well; the title names it.",
                sees: &["json · human"],
                gone: Some("▸ use the model"),
                ..PLAIN
            },
            Move {
                does: &[Press("run.start")],
                says: "what the model would be sent.",
                sees: &["You are the model · turn 1", "F5 send reply"],
                ..PLAIN
            },
            Move {
                does: &[Type("{\"sentiment\": \"good\", \"score\": 1")],
                says: "what you type is parsed and checked as it grows.",
                sees: &["✗ sentiment  expected one of"],
                large: &["object open, 1 of 2 fields, number unfinished"],
                picture: Some((
                    "human",
                    "The request above, the reply being typed below, with what the parser makes of it",
                )),
                ..PLAIN
            },
            Move {
                does: &[Press("text.select_all"), Type("{\"sentiment\": \"neutral\", \"score\": 0.5}")],
                says: "it fits.",
                sees: &["✓ fits"],
                ..PLAIN
            },
            Move {
                does: &[Press("answer.send")], says: "the run continues with it.", sees: &["✓ returned"], ..PLAIN
            },
            Move {
                does: &[Press("focus.options"), Press("text.undo")],
                says: "`demo` is back.",
                sees: &["json · demo"],
                ..PLAIN
            },
        ],
    },
    Step {
        title: "Fork: what if?",
        intro: "Every run is a saved session. A fork begins a new one at any turn of it; the old one is never touched.",
        moves: &[
            Move {
                does: &[Press("screen.sessions")],
                says: "your runs are above the examples, the last one is selected.",
                sees: &["✓ {\"sentiment\":\"neu"],
                large: &[
                    "sentiment        json      human            1        –        –   ✓ {\"sentiment\":\"neutral\"",
                ],
                ..PLAIN
            },
            Move {
                does: &[Press("sessions.fork")],
                says: "from the turn that you have just answered.",
                sees: &["Fork: a new session from a turn of this one", "continues live from there"],
                ..PLAIN
            },
            Move {
                does: &[Press("choice.next")],
                says: "another reply in the place of that one.",
                sees: &["Fork: a new session from a turn of this one", "the model's reply", "the earlier text:"],
                picture: Some(("fork", "The dialog of a fork: turn, change, and the reply to be changed")),
                ..PLAIN
            },
            Move {
                does: &[
                    Times(3, "dialog.next"),
                    Press("text.select_all"),
                    Type("{\"sentiment\": \"neutral\", \"score\": 0.55}"),
                    Press("dialog.submit"),
                ],
                says: "everything up to there is taken from the recording, then the new reply is applied.",
                sees: &["0.55", "✓ returned"],
                gone: Some("Fork: a new session"),
                ..PLAIN
            },
        ],
    },
    Step {
        title: "Compare a program with data",
        intro: "The same agent can answer with a program in PTC-Lisp or with JSON.",
        moves: &[Move {
            does: &[Press("run.both_modes")],
            says: "both run side by side and stay there: `≠` marks the turns that differ, **d** shows what differs in them.",
            sees: &["ptc_lisp · demo", "first difference at"],
            picture: Some((
                "both-modes",
                "Two transcripts next to each other with their figures and marks at the turns that differ",
            )),
            ..PLAIN
        }],
    },
    Step {
        title: "Open and replay a session",
        intro: "A session holds all that came from outside. Replaying it runs the same engine again without a model and compares.",
        moves: &[
            Move {
                does: &[Press("screen.sessions")],
                says: "the list, forks below their parents.",
                sees: &["when", "agent", "└ fork t"],
                picture: Some(("sessions", "The list of sessions with a preview of the selected one")),
                ..PLAIN
            },
            Move {
                does: &[Press("sessions.replay")],
                says: "every event is the same.",
                sees: &["✓ replayed: identical"],
                picture: Some(("replay", "A replayed session")),
                ..PLAIN
            },
            Move {
                does: &[Press("viewer.play")],
                says: "as it was recorded, at its own speed.",
                sees: &["Playing ", "event "],
                ..PLAIN
            },
            Move {
                does: &[Press("play.start"), Press("play.turn")],
                says: "or turn by turn, and event by event.",
                sees: &["‖ event 2 of "],
                ..PLAIN
            },
            Move {
                does: &[Press("close")],
                says: "back in the session.",
                sees: &["read-only"],
                gone: Some("Playing "),
                ..PLAIN
            },
        ],
    },
    Step {
        title: "Export",
        intro: "As a document, a page, data, a picture or a recording; what shall not leave is taken out first.",
        moves: &[
            Move {
                does: &[Press("viewer.export")],
                says: "nothing in it looks like a secret.",
                sees: &["a document to read, in Markdown", "nothing is omitted"],
                ..PLAIN
            },
            Move {
                does: &[Press("choice.down"), Press("choice.next")],
                says: "what `summary` would leave out.",
                sees: &["secrets, and every text except its start", "places omitted:"],
                picture: Some(("export", "The dialog of an export with the places that are omitted")),
                ..PLAIN
            },
            Move {
                does: &[Times(2, "dialog.next"), Press("text.select_all"), Type("tour.md"), Press("line.submit")],
                says: "the file is written.",
                sees: &["✓ exported", "tour.md, "],
                ..PLAIN
            },
        ],
    },
    Step {
        title: "A matrix",
        intro: "Once is luck. A matrix runs modes and models several times each and shows how certain a pass rate is.",
        moves: &[
            Move {
                does: &[Press("screen.compare"), Press("turns.matrix")],
                says: "which modes and models, and how often.",
                sees: &["New matrix"],
                ..PLAIN
            },
            Move {
                does: &[Press("form.begin")],
                says: "each cell opens its sessions with Enter.",
                sees: &["pass", "95 %", "▰▰▰", "complete"],
                picture: Some(("matrix", "Modes and models with their pass rates as bars and intervals")),
                ..PLAIN
            },
        ],
    },
    Step {
        title: "An agent of your own",
        intro: "A new agent takes six presses in addition to the typing. Its inputs are fields, one for each parameter of the signature: text is typed or \
                pasted as it is, **Alt-I** inserts a file, **Alt-J** shows them as JSON. `ptc-workbench new NAME` does the same from the command \
                line, and so does opening a path that does not exist.",
        moves: &[
            Move {
                does: &[Press("draft.new"), Type("greeting"), Press("line.submit")],
                says: "name, mode, and what it starts from. Where no provider is configured, the model `sample` answers with generated data.",
                sees: &["a new agent: saving creates greeting.toml"],
                ..PLAIN
            },
            Move {
                does: &[Type("Greet {{name}}."), Press("focus.next"), Type("(name :string) -> {greeting :string}")],
                says: "the prompt and the signature.",
                sees: &["✓ 1 field"],
                ..PLAIN
            },
            Move {
                does: &[Press("focus.next"), Type("Ada \"the first\""), Press("run.start")],
                says: "the input, and the first run. To stop a run takes two presses, so that none is lost to one.",
                sees: &["{:greeting", "✓ returned"],
                ..PLAIN
            },
            Move {
                does: &[Press("draft.save")],
                says: "the file is created; a file that exists is never replaced without a question.",
                sees: &["saved greeting.toml"],
                ..PLAIN
            },
        ],
    },
];
