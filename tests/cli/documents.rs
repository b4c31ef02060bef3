//! The pages in `docs`: every command in a block marked `sh run` is run, in order and in one empty home, and prints what is shown in the
//! block after it. Blocks marked `toml file NAME` (or another language) are the files that the commands use.

use std::path::Path;
use std::process::Command;

use super::program::Program;

/// A fenced block: the words of its fence, and its lines.
struct Block {
    mark: String,
    text: String,
    /// Only blank lines are between it and the block before.
    follows: bool,
    /// The last line before it that is not blank.
    before: String,
}

/// The fenced blocks of a page, in order.
fn blocks(page: &str) -> Vec<Block> {
    let mut found: Vec<Block> = Vec::new();
    let mut open: Option<usize> = None;
    let (mut follows, mut before) = (false, "");
    for line in page.lines() {
        let ticks = line.chars().take_while(|c| *c == '`').count();
        match (open, found.last_mut()) {
            (Some(width), Some(_)) if ticks == width && line.len() == ticks => (open, follows) = (None, true),
            (Some(_), Some(block)) => block.text.extend([line, "\n"]),
            _ if ticks >= 3 => {
                open = Some(ticks);
                let mark = line[ticks..].to_owned();
                found.push(Block { mark, text: String::new(), follows, before: before.to_owned() });
            }
            _ if line.trim().is_empty() => {}
            _ => (follows, before) = (false, line),
        }
    }
    found
}

/// Runs the commands of a page in a folder of its own and compares.
fn holds(file: &str) {
    holds_in(file, &Program::new());
}

/// The same in this folder.
fn holds_in(file: &str, program: &Program) {
    let page = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).unwrap();
    let folder = Path::new(env!("CARGO_BIN_EXE_ptc-workbench")).parent().unwrap();
    let path = std::env::join_paths([folder, Path::new("/usr/bin"), Path::new("/bin")]).unwrap();
    let mut blocks = blocks(&page).into_iter().peekable();
    let mut count = 0;
    while let Some(block) = blocks.next() {
        if let Some((_, name)) = block.mark.split_once(" file ") {
            // A rendered page does not show the words of a fence.
            assert_eq!(block.before, format!("The file `{name}`:"), "{file}");
            let folder = program.dir().join(name).parent().map(Path::to_owned).unwrap();
            std::fs::create_dir_all(folder).unwrap();
            program.file(name, &block.text);
        }
        if block.mark != "sh run" {
            continue;
        }
        count += 1;
        let mut command = Command::new("bash");
        program.surround(&mut command);
        command.env("PATH", &path).args(["-euo", "pipefail", "-c", &block.text]);
        let done = program.done(command.output().unwrap());
        done.exits(0);
        if let Some(shown) = blocks.next_if(|next| next.follows && !next.mark.contains(' ')) {
            assert_eq!(done.stdout, shown.text, "{file}:\n{}\nstderr:\n{}", block.text, done.stderr);
        }
    }
    assert!(count > 0, "{file} has no commands");
}

#[cfg(unix)]
#[test]
fn the_page_about_modes_shows_what_its_commands_print() {
    holds("docs/modes.md");
}

#[cfg(unix)]
#[test]
fn the_page_about_tools_shows_what_its_commands_print() {
    holds("docs/tools.md");
}

#[cfg(unix)]
#[test]
fn the_page_about_the_matrix_shows_what_its_commands_print() {
    holds("docs/matrix.md");
}

#[cfg(unix)]
#[test]
fn the_page_about_testing_shows_what_its_commands_print() {
    holds("docs/testing.md");
}

/// The files below a folder: name and content.
#[cfg(unix)]
fn files_below(folder: &Path, below: &str) -> Vec<(String, Vec<u8>)> {
    let entries = std::fs::read_dir(folder.join(below)).into_iter().flatten().map(|entry| entry.unwrap());
    let read = |entry: std::fs::DirEntry| {
        let name = format!("{below}{}", entry.file_name().into_string().unwrap());
        if entry.path().is_dir() {
            files_below(folder, &format!("{name}/"))
        } else {
            vec![(name, std::fs::read(entry.path()).unwrap())]
        }
    };
    entries.flat_map(read).collect()
}

/// The guide runs on recorded replies. With `BLESS` set its model answers instead, and its replies are recorded again.
#[cfg(unix)]
#[test]
fn the_guide_to_improving_shows_what_its_commands_print() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/improve");
    let program = Program::new();
    let records = std::env::var_os("BLESS").is_some();
    let is_used = |name: &str| !(records && name.starts_with("replies/"));
    for (name, content) in files_below(&folder, "").into_iter().filter(|(name, _)| is_used(name)) {
        std::fs::create_dir_all(program.dir().join(&name).parent().unwrap()).unwrap();
        program.file(&name, content);
    }
    let model = records.then(|| {
        let model = Command::new("python3").arg(folder.join("model.py")).spawn().unwrap();
        super::program::wait_for("the model", || std::net::TcpStream::connect("127.0.0.1:18231").ok());
        model
    });
    holds_in("docs/improve.md", &program);
    if let Some(mut model) = model {
        model.kill().unwrap();
        model.wait().unwrap();
        std::fs::remove_dir_all(folder.join("replies")).ok();
        for (name, content) in files_below(program.dir(), "replies/") {
            std::fs::create_dir_all(folder.join(&name).parent().unwrap()).unwrap();
            std::fs::write(folder.join(&name), content).unwrap();
        }
    }
}

#[cfg(unix)]
#[test]
fn the_commands_of_the_page_about_sessions_work() {
    holds("docs/sessions.md");
}

#[cfg(unix)]
#[test]
fn the_page_about_exports_shows_what_its_commands_print() {
    holds("docs/export.md");
}

#[cfg(unix)]
#[test]
fn the_page_about_serving_shows_what_its_commands_print() {
    if Command::new("/usr/bin/curl").arg("--version").output().is_err() {
        return crate::openai::aimock::say_skipped("there is no /usr/bin/curl, which the page uses");
    }
    holds("docs/serve.md");
}

#[cfg(unix)]
#[test]
fn the_page_about_the_proxy_shows_what_its_commands_print() {
    if Command::new("/usr/bin/curl").arg("--version").output().is_err() {
        return crate::openai::aimock::say_skipped("there is no /usr/bin/curl, which the page uses");
    }
    holds("docs/proxy.md");
}

#[cfg(unix)]
#[test]
fn the_page_about_the_mcp_server_shows_what_its_commands_print() {
    holds("docs/mcp-server.md");
}

#[cfg(unix)]
#[test]
fn the_page_about_comparing_shows_what_its_commands_print() {
    holds("docs/compare.md");
}

#[cfg(unix)]
#[test]
fn the_first_tool_of_the_readme_counts_words() {
    let page = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).unwrap();
    let block = blocks(&page).into_iter().find(|block| block.text.starts_with("[tools.count_words]")).unwrap();
    let tool = block.text.split("[tools.read_text_file]").next().unwrap();
    if Command::new("/usr/bin/python3").arg("--version").output().is_err() {
        return crate::openai::aimock::say_skipped("there is no /usr/bin/python3, which the tool starts");
    }
    let program = Program::new();
    let code = r#"(return (mapv (fn [text] (tool/count_words {:text text})) ["" "a" "a\nb \"c\""]))"#;
    program.file("a.toml", format!("mode = \"ptc_lisp\"\nprompt = \"Go\"\nprogram = '''{code}'''\n\n{tool}"));
    let mut command = Command::new(env!("CARGO_BIN_EXE_ptc-workbench"));
    program.surround(&mut command);
    command.env("PATH", "/usr/bin:/bin").args(["run", "a.toml", "--allow-tools"]);
    let done = program.done(command.output().unwrap());
    assert_eq!(done.exits(0).stdout.split_whitespace().collect::<String>(), "[0,1,3]");
}
