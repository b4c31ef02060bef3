//! The user at the keyboard: sees the prompt on stderr and types the reply on stdin, line by line.
//!
//! In: a question from the queue. Out: its answer, or nothing when there is no user. It must never read ahead of a reply's end.

use std::io::{BufRead, IsTerminal};

use super::output::{print_note, safe};
use crate::event::Decision;
use crate::tool::{ARGUMENTS, FILE_DECISIONS, NamedFile};
use crate::workbench::QueuedQuestion;

/// A reply ends with a line that holds only this.
const END: &str = ".";

/// Shows the question and reads its answer on a thread of its own: a user may take any time.
pub(super) fn ask(queued: QueuedQuestion) {
    if !queued.question.options.is_empty() {
        return choose(queued);
    }
    print_note(&safe(queued.question.text.trim_end()));
    let at = &queued.question.address;
    match queued.question.gate {
        None => print_note(&format!("[your reply for {at}; end it with a line containing only {END}]")),
        Some(gate) => {
            print_note(&format!("[{}]", gate.prompt()));
            print_note(&format!(
                "[at {at}: enter the replacement text, then a line containing only {END}; to change nothing, enter only that line]"
            ));
        }
    }
    tokio::task::spawn_blocking(move || {
        let stdin = std::io::stdin();
        let reply = read_reply(&mut stdin.lock()).or_else(|| stdin.is_terminal().then(String::new));
        // Without a reply the question is dropped, which means that no user answers; a run that was stopped takes none.
        let as_it_is = |reply: &String| queued.question.gate.is_some() && reply.is_empty();
        let reply = reply.map(|reply| if as_it_is(&reply) { queued.question.text.clone() } else { reply });
        reply.map(|reply| queued.answer.send(reply))
    });
}

/// Asks the user about a file that a definition names, on stderr and stdin.
pub fn ask_about_file(named: &NamedFile) -> Decision {
    print_note(&safe(&named.question()));
    let options: Vec<String> = FILE_DECISIONS.iter().map(|decision| decision.name().to_owned()).collect();
    print_note(&format!("[{}]", choices(&options)));
    let answer = read_choice(&mut std::io::stdin().lock(), &options);
    answer.and_then(|answer| Decision::read(&answer)).unwrap_or(Decision::Deny)
}

/// Asks the user for a yes, on stderr and stdin; `None` when the input ends before an answer.
pub(super) fn confirm(question: &str) -> Option<bool> {
    print_note(&safe(question));
    let options = ["yes", "no"].map(str::to_owned);
    print_note(&format!("[{}]", choices(&options)));
    read_choice(&mut std::io::stdin().lock(), &options).map(|answer| answer == options[0])
}

/// Minimum lines of a question whose beginning is printed again before the input.
const LONG_QUESTION: usize = 16;

/// A question as it is printed: complete, and what matters first also at its end.
fn printed(text: &str) -> String {
    let text = text.trim_end();
    let lines = text.lines().count();
    if lines <= LONG_QUESTION {
        return text.to_owned();
    }
    let head = text.lines().take_while(|line| !line.starts_with(ARGUMENTS)).take(LONG_QUESTION);
    let head = head.collect::<Vec<_>>().join("\n");
    format!("{text}\n\nThis question has {lines} lines, all of them above. It begins with:\n{head}")
}

/// Shows a question with answers to choose from and reads lines until one is an answer.
fn choose(queued: QueuedQuestion) {
    print_note(&safe(&printed(&queued.question.text)));
    print_note(&format!("[{}]", choices(&queued.question.options)));
    tokio::task::spawn_blocking(move || {
        let stdin = std::io::stdin();
        let chosen = read_choice(&mut stdin.lock(), &queued.question.options);
        // Without an answer the question is dropped, which means that no user answers.
        chosen.map(|option| queued.answer.send(option))
    });
}

/// The options, each with its key: `o = once · d = deny`.
fn choices(options: &[String]) -> String {
    let choices = options.iter().map(|option| format!("{} = {option}", option.get(..1).unwrap_or_default()));
    choices.collect::<Vec<_>>().join(" · ")
}

/// The option that a line names in full or by its first letter; `None` when the input ends before.
fn read_choice(input: &mut impl BufRead, options: &[String]) -> Option<String> {
    let mut line = Vec::new();
    loop {
        line.clear();
        if !input.read_until(b'\n', &mut line).is_ok_and(|count| count > 0) {
            return None;
        }
        let typed = String::from_utf8_lossy(&line).trim().to_ascii_lowercase();
        let is_meant = |option: &&String| **option == typed || (typed.len() == 1 && option.starts_with(&typed));
        match options.iter().find(is_meant) {
            Some(option) => return Some(option.clone()),
            None => print_note(&format!("[{}]", choices(options))),
        }
    }
}

/// The lines of one reply, joined; `None` when the input had already ended. Bytes that are not text become U+FFFD.
fn read_reply(input: &mut impl BufRead) -> Option<String> {
    let (mut reply, mut line) = (None::<String>, Vec::new());
    loop {
        line.clear();
        match input.read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return reply,
            Ok(_) => {}
        }
        let read = String::from_utf8_lossy(&line);
        let text = read.strip_suffix('\n').map_or(read.as_ref(), |line| line.strip_suffix('\r').unwrap_or(line));
        if text == END {
            return Some(reply.unwrap_or_default());
        }
        match &mut reply {
            Some(reply) => {
                reply.push('\n');
                reply.push_str(text);
            }
            None => reply = Some(text.to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_ends_with_a_dot_alone_or_with_the_input() {
        let mut input: &[u8] = b"{\"a\":\r\n1}\r\n.\n\nx\n. \n.\n.\nlast \xff";
        let mut next = || read_reply(&mut input);
        assert_eq!(next().as_deref(), Some("{\"a\":\n1}"));
        assert_eq!(next().as_deref(), Some("\nx\n. "));
        assert_eq!(next().as_deref(), Some(""));
        assert_eq!(next().as_deref(), Some("last \u{fffd}"));
        assert_eq!(next(), None);
    }

    #[test]
    fn a_long_question_is_complete_and_shows_its_beginning_next_to_the_answer() {
        let arguments: Vec<String> = (1..=120).map(|number| format!("  {number}  \"a{number}\"")).collect();
        let text =
            format!("May it?\nprogram    /bin/x\nvariables  KEY\n{ARGUMENTS} 120\n{}\nwith {{}}", arguments.join("\n"));
        let shown = printed(&text);
        assert!(shown.starts_with(&text) && arguments.iter().all(|line| shown.contains(line)));
        assert!(shown.ends_with("May it?\nprogram    /bin/x\nvariables  KEY"), "{shown}");
        assert_eq!(printed("May it?\n"), "May it?");
    }

    #[test]
    fn a_choice_is_a_name_or_its_first_letter_and_nothing_else() {
        let options: Vec<String> = ["once", "run", "always", "deny"].map(str::to_owned).into();
        let mut input: &[u8] = b"yes\n\nA\nrun\nx";
        let mut next = || read_choice(&mut input, &options);
        assert_eq!(next().as_deref(), Some("always"));
        assert_eq!(next().as_deref(), Some("run"));
        assert_eq!(next(), None);
    }
}
