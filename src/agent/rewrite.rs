//! Writing an agent back into its file: only what changed is touched; comments, order and layout of the rest stay.
//!
//! In: the file's text as it was read, the agent as it is now. Out: the file's new text. It must never lose a comment.

use toml_edit::{Array, ArrayOfTables, DocumentMut, Item, Table, TableLike, Value};

use super::Agent;
use crate::tool::FileAccess;

impl Agent {
    /// The text of an agent file with this definition. Where `original` is an agent file, everything that means the same as
    /// before stays as it was written; otherwise the whole definition is rewritten. Line ends stay as most of them were.
    pub fn rewrite(&self, original: &str, file: &str) -> String {
        self.rewrite_with(original, file, &FileAccess::default())
    }

    /// Like `rewrite`, with this access to other files.
    pub fn rewrite_with(&self, original: &str, file: &str, access: &FileAccess) -> String {
        let windows = original.matches("\r\n").count();
        if windows == 0 {
            return self.rewrite_lines(original, file, access);
        }
        let text = self.rewrite_lines(&original.replace("\r\n", "\n"), file, access);
        if 2 * windows > original.matches('\n').count() { text.replace('\n', "\r\n") } else { text }
    }

    /// Like `rewrite_with`, for text whose lines end in line feeds.
    fn rewrite_lines(&self, original: &str, file: &str, access: &FileAccess) -> String {
        let now = self.without_files().to_toml();
        if original.trim().is_empty() {
            return now;
        }
        let before = Self::from_toml_with(original, file, access).map(|agent| agent.without_files().to_toml());
        let (Ok(mut text), Ok(after)) = (original.parse::<DocumentMut>(), now.parse::<DocumentMut>()) else {
            return now;
        };
        match before.map(|before| before.parse::<DocumentMut>()) {
            Ok(Ok(before)) => change(text.as_table_mut(), before.as_table(), after.as_table()),
            Ok(Err(_)) => return now,
            Err(_) => correct(text.as_table_mut(), after.as_table()),
        }
        let text = text.to_string();
        // Whatever could not be changed in place must not change what the file means.
        match Self::from_toml_with(&text, file, access) {
            Ok(written) if written.without_files().to_toml() == now => text,
            _ => now,
        }
    }
}

/// Applies the differences between two definitions to the table as it was written.
fn change(text: &mut dyn TableLike, before: &dyn TableLike, after: &dyn TableLike) {
    for (key, _) in before.iter() {
        if after.get(key).is_none() {
            text.remove(key);
        }
    }
    for (key, now) in after.iter() {
        let was = before.get(key);
        if was.is_some_and(|was| means(was) == means(now)) {
            continue;
        }
        let both = text.get_mut(key).and_then(Item::as_table_like_mut).zip(now.as_table_like());
        if let (Some((written, now)), Some(was)) = (both, was.and_then(Item::as_table_like)) {
            change(written, was, now);
            continue;
        }
        if let (Some(Item::ArrayOfTables(was)), Item::ArrayOfTables(now)) = (was, now)
            && text.get_mut(key).is_some_and(|written| change_list(written, was, now))
        {
            continue;
        }
        put(text, key, now);
    }
}

/// Makes a table with errors mean a definition: what means the same already stays as it was written.
fn correct(text: &mut dyn TableLike, after: &dyn TableLike) {
    let wrong: Vec<String> =
        text.iter().map(|(key, _)| key.to_owned()).filter(|key| after.get(key).is_none()).collect();
    for key in wrong {
        text.remove(&key);
    }
    for (key, now) in after.iter() {
        if text.get(key).is_none_or(|written| means(written) != means(now)) {
            put(text, key, now);
        }
    }
}

/// Like `correct`, for a list of tables, however it is written: those at the same place are changed, the rest is added or removed.
/// `false`: it is written in a way that cannot be changed.
fn change_list(written: &mut Item, was: &ArrayOfTables, now: &ArrayOfTables) -> bool {
    let pairs = now.iter().enumerate();
    match written {
        Item::ArrayOfTables(tables) if tables.len() == was.len() => {
            for (place, now) in pairs {
                if let (Some(table), Some(was)) = (tables.get_mut(place), was.get(place)) {
                    change(table, was, now);
                } else {
                    let mut table = now.clone();
                    unplaced(&mut table);
                    table.decor_mut().set_prefix("\n");
                    tables.push(table);
                }
            }
            (now.len()..was.len()).rev().for_each(|place| drop(tables.remove(place)));
            true
        }
        Item::Value(Value::Array(list)) if list.len() == was.len() => {
            for (place, now) in pairs {
                let written = list.get_mut(place).and_then(Value::as_inline_table_mut);
                if let (Some(table), Some(was)) = (written, was.get(place)) {
                    change(table, was, now);
                } else {
                    push(list, now.clone().into_inline_table().into());
                }
            }
            (now.len()..was.len()).rev().for_each(|place| drop(list.remove(place)));
            true
        }
        _ => false,
    }
}

/// Adds an item on a line of its own where each of the others has one; a comment after the last of them stays there.
fn push(list: &mut Array, mut item: Value) {
    let behind = list.trailing().as_str().unwrap_or_default().to_owned();
    if behind.contains('\n') {
        item.decor_mut().set_prefix(format!("{}\n  ", behind.trim_end()));
        list.set_trailing("\n");
        list.push_formatted(item);
    } else {
        list.push(item);
    }
}

/// Sets a key; a comment after or above the old value stays.
fn put(text: &mut dyn TableLike, key: &str, now: &Item) {
    if let (Some(Item::Value(written)), Item::Value(now)) = (text.get_mut(key), now) {
        let decor = written.decor().clone();
        *written = now.clone();
        *written.decor_mut() = decor;
        return;
    }
    let mut item = now.clone();
    if let Item::Table(table) = &mut item {
        unplaced(table);
    }
    text.insert(key, item);
}

/// A table that came from another document is placed after the others.
fn unplaced(table: &mut Table) {
    table.set_position(None);
    for (_, item) in table.iter_mut() {
        if let Item::Table(table) = item {
            unplaced(table);
        }
    }
}

/// The content of an item, without its layout. The text of a table does not contain the tables below it, so that each is written by itself.
fn means(item: &Item) -> String {
    match item {
        Item::Table(table) => {
            let keys = table.iter().map(|(key, item)| format!("{key:?}={{{}}}", means(item)));
            keys.collect::<Vec<_>>().join(",")
        }
        Item::ArrayOfTables(tables) => {
            let each = tables.iter().map(|table| format!("[{}]", means(&Item::Table(table.clone()))));
            each.collect()
        }
        Item::Value(value) => {
            let mut bare = value.clone();
            bare.decor_mut().clear();
            bare.to_string()
        }
        Item::None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "# my agent\nname = \"a\"   # short\nprompt = \"Say {{x}}\"\n\n# in and out\nsignature = \"(x :string) -> {y :int}\"\nmax_turns = 2 # enough\n\n[context] # what is tried\nx = \"one\"\nn = 1\n";

    fn agent() -> Agent {
        Agent::from_toml(FILE, "a.toml").unwrap()
    }

    #[test]
    fn an_unchanged_agent_leaves_the_file_as_it_is() {
        assert_eq!(agent().rewrite(FILE, "a.toml"), FILE);
    }

    #[test]
    fn a_changed_value_keeps_comments_and_order() {
        let changed = Agent { prompt: "Write {{x}}".to_owned(), max_turns: 4, ..agent() };
        let expected = FILE.replace("Say", "Write").replace("max_turns = 2", "max_turns = 4");
        assert_eq!(changed.rewrite(FILE, "a.toml"), expected);
    }

    #[test]
    fn new_keys_are_added_and_gone_ones_removed() {
        let mut changed = agent();
        changed.token_limit = Some(900);
        changed.context = ptc_core::value::json::parse(r#"{"x":"two"}"#).unwrap();
        changed.field_descriptions = vec![("y".to_owned(), "why".to_owned())];
        let text = changed.rewrite(FILE, "a.toml");
        assert_eq!(Agent::from_toml(&text, "a.toml").unwrap().to_toml(), changed.to_toml());
        for kept in ["# my agent", "# short", "# in and out", "# enough", "# what is tried"] {
            assert!(text.contains(kept), "{kept} is gone:\n{text}");
        }
        assert!(!text.contains("n = 1"), "{text}");
    }

    #[test]
    fn a_change_in_a_table_of_a_table_keeps_comments() {
        let tools = "\n# what it calls\n[tools.count]   # words\nkind = \"command\"\ncommand = [\"wc\", \"-w\"]\nsignature = \"(text :string) -> :string\"\ndescription = \"old\"\n";
        let file = format!("{FILE}{tools}");
        let mut changed = Agent::from_toml(&file, "a.toml").unwrap();
        changed.tools[0].definition =
            changed.tools[0].definition.clone().with("description", ptc_core::value::Json::str("new"));
        assert_eq!(changed.rewrite(&file, "a.toml"), file.replace("old", "new"));
    }

    #[test]
    fn line_ends_stay_and_the_text_means_the_same() {
        let windows = FILE.replace("prompt = \"Say {{x}}\"", "prompt = \"\"\"\nSay\n{{x}}\"\"\"").replace('\n', "\r\n");
        let agent = Agent::from_toml(&windows, "a.toml").unwrap();
        assert_eq!(agent.prompt, "Say\n{{x}}");
        assert_eq!(agent.rewrite(&windows, "a.toml"), windows);
        let changed = Agent { prompt: "Write\n{{x}}".to_owned(), ..agent };
        let text = changed.rewrite(&windows, "a.toml");
        assert_eq!(text.matches('\n').count(), text.matches("\r\n").count(), "{text:?}");
        assert_eq!(Agent::from_toml(&text, "a.toml").unwrap().to_toml(), changed.to_toml());
        assert!(text.starts_with("# my agent\r\n"), "{text:?}");
    }

    #[test]
    fn a_file_without_an_agent_is_replaced() {
        assert_eq!(agent().rewrite("not toml [", "a.toml"), agent().to_toml());
    }
}
