//! The export `html`: a session as one file without scripts, for light and dark screens.
//!
//! Everything from outside is escaped; the page's own policy forbids scripts, images, frames, forms and anything from elsewhere, and
//! allows exactly the style in it.

use std::fmt::Write as _;

use base64::Engine as _;
use ptc_core::lisp::format;
use ptc_core::text::lex::{self, lisp};
use ptc_core::text::{Token, TokenKind};
use ptc_core::value::Json;
use sha2::Digest as _;

use super::iso;
use super::story::{Content, Run, calls, child_runs, definitions, notices, roots, runs, usage_facts};
use super::text::visible;
use crate::event::{CallStatus, IssueSeverity};
use crate::record::{CallRecord, QuestionRecord, TurnRecord};

const STYLE: &str = include_str!("html/style.css");

/// Columns that programs are laid out within.
const COLUMNS: usize = 96;
/// Texts above this size are not coloured: colours cost more than they help there.
const COLOURED_BYTES: usize = 256 * 1024;
/// Blocks with more lines start folded.
const OPEN_LINES: usize = 40;

pub(super) fn html(content: &Content) -> String {
    let runs = runs(content);
    let mut page = Page::default();
    let title = escape(&content.session);
    page.raw(&head(&format!("Session {title}")));
    page.raw(&format!("<h1>Session <code>{title}</code></h1>\n"));
    let recorded = format!("Recorded {} by {}.", iso(content.created_ms), content.program);
    page.paragraph("", &recorded);
    if let Some(from) = &content.imported {
        page.paragraph("warn", &format!("Imported from {from}; it cannot be replayed."));
    }
    if let Some(from) = &content.captured {
        page.paragraph("warn", &format!("Captured: {from}; it cannot be replayed."));
    }
    if let Some(damage) = &content.damage {
        page.paragraph("warn", &format!("Not all of it could be read: {damage}"));
    }
    for run in roots(&runs) {
        page.run(&runs, run, 2);
    }
    page.raw(FOOT);
    page.out
}

/// The end of a page.
const FOOT: &str = "</main>\n</body>\n</html>\n";

/// The begin of a page with this escaped title, up to the content.
fn head(title: &str) -> String {
    let hash = base64::engine::general_purpose::STANDARD.encode(sha2::Sha256::digest(STYLE.as_bytes()));
    let policy = format!("default-src 'none'; style-src 'sha256-{hash}'; base-uri 'none'; form-action 'none'");
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<meta name=\"referrer\" content=\"no-referrer\">\n\
         <title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n"
    )
}

/// A page with this escaped title and this content, which must be escaped.
pub(crate) fn document(title: &str, content: &str) -> String {
    format!("{}{content}{FOOT}", head(title))
}

/// Text from outside as HTML text or the value of an attribute.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in visible(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

/// Language of a block.
#[derive(Clone, Copy)]
enum Language {
    Text,
    Json,
    Lisp,
}

/// The class of a token; `None` for what has the colour of text.
fn class(kind: TokenKind) -> Option<&'static str> {
    Some(match kind {
        TokenKind::Key => "k",
        TokenKind::String | TokenKind::Regex | TokenKind::Char => "s",
        TokenKind::Number => "n",
        TokenKind::Literal | TokenKind::Keyword | TokenKind::Quote | TokenKind::Placeholder => "l",
        TokenKind::Punct | TokenKind::Bracket(_) => "p",
        TokenKind::Comment => "c",
        TokenKind::Error => "e",
        TokenKind::Type | TokenKind::Tag => "t",
        TokenKind::Name | TokenKind::Symbol | TokenKind::Plain => return None,
    })
}

/// A text with colours. It is made visible first, so that tokens and text have the same bytes.
fn coloured(text: &str, language: Language) -> String {
    let text = visible(text);
    let tokens: Vec<Token> = match language {
        _ if text.len() > COLOURED_BYTES => Vec::new(),
        Language::Text => Vec::new(),
        Language::Json => lex::json(&text),
        Language::Lisp => lisp::lisp(&text),
    };
    let mut out = String::with_capacity(text.len() * 2);
    let mut at = 0;
    for (place, kind) in tokens {
        let (Some(before), Some(token)) = (text.get(at..place.start), text.get(place.start..place.end)) else { break };
        out.push_str(&escape(before));
        match class(kind) {
            Some(class) => _ = write!(out, "<span class=\"{class}\">{}</span>", escape(token)),
            None => out.push_str(&escape(token)),
        }
        at = place.end;
    }
    out + &escape(text.get(at..).unwrap_or_default())
}

#[derive(Default)]
struct Page {
    out: String,
}

impl Page {
    /// Markup of this program.
    fn raw(&mut self, markup: &str) {
        self.out.push_str(markup);
    }

    fn paragraph(&mut self, class: &str, text: &str) {
        self.raw(&format!("<p class=\"{class}\">{}</p>\n", escape(text)));
    }

    fn heading(&mut self, level: usize, text: &str) {
        let level = level.min(6);
        self.raw(&format!("<h{level}>{}</h{level}>\n", escape(text)));
    }

    /// A block with a title that can be folded.
    fn block(&mut self, title: &str, language: Language, text: &str) {
        let open = if text.lines().count() <= OPEN_LINES { " open" } else { "" };
        let size = if open.is_empty() { format!(" ({} lines)", text.lines().count()) } else { String::new() };
        let body = coloured(text, language);
        self.raw(&format!(
            "<details{open}><summary>{}</summary><pre><code>{body}</code></pre></details>\n",
            escape(&format!("{title}{size}"))
        ));
    }

    /// A block that starts folded.
    fn folded(&mut self, title: &str, text: &str) {
        let body = coloured(text, Language::Text);
        let lines = text.lines().count();
        self.raw(&format!(
            "<details><summary>{} ({lines} lines)</summary><pre><code>{body}</code></pre></details>\n",
            escape(title)
        ));
    }

    fn json(&mut self, title: &str, json: &Json) {
        self.block(title, Language::Json, &json.to_pretty());
    }

    fn run(&mut self, all: &[Run], run: &Run, level: usize) {
        let step = &run.step;
        self.raw("<section class=\"run\">\n");
        self.heading(level, &format!("{} {}", if level > 2 { "Agent" } else { "Run" }, step.name));
        self.facts(run);
        self.json("context", &run.record().start.context.json());
        for notice in &run.record().notices {
            self.paragraph("warn", &format!("! {}", notice.text));
        }
        let mut shown = 0;
        for turn in run.turns() {
            self.turn(all, run, turn, level + 1, &mut shown);
        }
        match (&step.answer, &step.fail) {
            (_, Some(fail)) => {
                self.paragraph("bad", &format!("✗ failed: {}", fail.reason));
                self.block("error", Language::Text, &fail.message);
            }
            (Some(answer), None) => {
                self.paragraph("good", "✓ returned");
                match answer.as_str() {
                    Some(text) => self.block("answer", Language::Text, text),
                    None => self.json("answer", answer),
                }
            }
            (None, None) => self.paragraph("warn", "The run has not ended."),
        }
        if let Some(summary) = &step.summary {
            self.block("beside it", Language::Text, summary);
        }
        if let Some(refs) = &step.refs {
            self.json("refs", refs);
        }
        self.raw("</section>\n");
    }

    fn facts(&mut self, run: &Run) {
        let step = &run.step;
        let mut facts = vec![
            ("address", run.record().address.to_string()),
            ("mode", run.record().start.mode.clone()),
            ("model", run.models()),
            ("started", iso(run.record().started_ms)),
            ("took", format!("{} ms", run.took_ms())),
            ("turns", step.turns.len().to_string()),
        ];
        facts.extend(usage_facts(&step.usage));
        facts.extend(step.signature.clone().map(|signature| ("signature", signature)));
        self.raw("<dl>\n");
        for (name, value) in facts {
            self.raw(&format!("<div><dt>{name}</dt><dd>{}</dd></div>\n", escape(&value)));
        }
        self.raw("</dl>\n");
    }

    fn turn(&mut self, all: &[Run], run: &Run, turn: &TurnRecord, level: usize, shown: &mut u32) {
        self.raw("<section class=\"turn\">\n");
        let mark = if turn.success() { "✓" } else { "✗" };
        self.heading(level, &format!("{mark} Turn {}", turn.number()));
        let new = run.sent(turn).filter(|message| message.m >= *shown && !message.is_repeated_reply());
        let new: Vec<_> = new.collect();
        for message in &new {
            self.folded(&format!("sent as {}", message.role.name()), &message.lines());
        }
        *shown = new.iter().map(|message| message.m + 1).max().unwrap_or(0).max(*shown);
        for edit in &turn.edits {
            self.block(&format!("✎ {} edited by {}", edit.target, edit.by), Language::Text, &edit.text());
        }
        let reasoning = turn.attempts.reasoning();
        if !reasoning.is_empty() {
            self.folded("reasoning", &reasoning);
        }
        let language = if turn.json().is_some() { Language::Json } else { Language::Text };
        self.block("reply", language, turn.reply());
        for call in turn.native_calls() {
            self.block(&format!("asks for {}", call.name), Language::Json, &call.args);
        }
        self.outcome(turn);
        for call in calls(turn) {
            self.call(call);
            let child = child_runs(all, run).find(|child| child.record().address == call.address);
            if let Some(child) = child {
                self.raw(&format!("<details><summary>run of {}</summary>\n", escape(&child.step.name)));
                self.run(all, child, level + 1);
                self.raw("</details>\n");
            }
        }
        self.raw("</section>\n");
    }

    /// Writes the results of the reply: program, prints, value, definitions, findings, errors, questions, notices.
    fn outcome(&mut self, turn: &TurnRecord) {
        let fixes: Vec<&str> = turn.fixes().collect();
        if !fixes.is_empty() {
            self.paragraph("warn", &format!("repaired: {}", fixes.join(", ")));
        }
        if let Some(program) = turn.program() {
            let laid = format::program(program, COLUMNS).unwrap_or_else(|| program.to_owned());
            self.block("program", Language::Lisp, &laid);
        }
        if !turn.prints().is_empty() {
            self.block("printed", Language::Text, &turn.prints().join("\n"));
        }
        if let Some(value) = turn.value() {
            self.block("value", Language::Lisp, value);
        }
        for (name, value) in definitions(turn) {
            self.block(&format!("defined {name}"), Language::Lisp, value);
        }
        for issue in turn.issues() {
            let path = if issue.path.is_empty() { "root" } else { &issue.path };
            let class = if issue.severity == IssueSeverity::Error { "bad" } else { "warn" };
            self.paragraph(class, &format!("{} at {path}: {}", issue.severity, issue.message));
        }
        if let Some(error) = turn.error() {
            self.paragraph("bad", &format!("{}: {}", error.reason, error.message));
        }
        for QuestionRecord { asked, answer, .. } in &turn.questions {
            self.block("asked the user", Language::Text, &asked.text);
            if let Some(answer) = answer {
                self.block(&format!("answered by {}", answer.by), Language::Json, answer.value.as_str());
            }
        }
        for notice in &notices(turn) {
            self.paragraph("warn", notice);
        }
    }

    fn call(&mut self, call: &CallRecord) {
        let status = call.status.map_or("not ended", CallStatus::name);
        let class = if call.status == Some(CallStatus::Ok) { "good" } else { "bad" };
        self.raw("<section class=\"call\">\n");
        self.paragraph(class, &format!("call {} {}: {status}, {} ms", call.address, call.name, call.ms));
        self.json("arguments", &call.args.json());
        if let Some(error) = &call.error {
            self.paragraph("bad", &format!("{}: {}", error.reason, error.message));
        }
        if let Some(result) = &call.result {
            self.json("result", &result.json());
        }
        self.raw("</section>\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_in_content_is_text() {
        let text = "<script>alert('x')</script>]]>\"&";
        let escaped = "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;]]&gt;&quot;&amp;";
        assert_eq!(escape(text), escaped);
        assert_eq!(coloured(text, Language::Text), escaped);
        for language in [Language::Json, Language::Lisp] {
            let coloured = coloured(&format!("{{\"a\": \"{text}"), language);
            assert!(!coloured.contains("<script") && coloured.contains("&lt;script&gt;"), "{coloured}");
        }
    }

    #[test]
    fn colours_leave_every_character_in_place() {
        let text = "(let [x \"a<b\"] ; note\n  (+ x :k 1))";
        let mut plain = coloured(text, Language::Lisp);
        assert!(plain.contains("<span class=\"s\">&quot;a&lt;b&quot;</span>"), "{plain}");
        while let (Some(start), Some(end)) = (plain.find('<'), plain.find('>')) {
            plain.replace_range(start..=end, "");
        }
        assert_eq!(plain, escape(text));
    }
}
