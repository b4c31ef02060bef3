//! Cases of files: each kind of file, with and without a mapping, and what cannot be read.

use std::path::Path;

use ptc_workbench::agent::{Agent, Case};
use ptc_workbench::event::FileRecord;
use ptc_workbench::tool::FileAccess;

const AGENT: &str = "mode = \"json\"\nprompt = \"{{text}}\"\nsignature = \"(text :string, n :int?) -> {label :enum[good bad], score :float}\"\n";

/// The cases of an agent file with these `cases`, next to these files.
fn read(cases: &str, files: &[(&str, &str)]) -> Result<Vec<Case>, String> {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("more")).unwrap();
    for (name, text) in files {
        std::fs::write(dir.path().join(name), text).unwrap();
    }
    let agent = Agent::from_toml(&format!("{cases}\n{AGENT}"), "a.toml").map_err(|error| error.to_string())?;
    assert!(agent.has_case_files());
    let rows: Result<Vec<Case>, _> = agent.case_rows(dir.path(), &FileAccess::default()).collect();
    // The same cases need no files once these are read into the definition.
    let whole = agent.with_case_files_read(dir.path(), &FileAccess::default());
    if let (Ok(cases), Ok(whole)) = (&rows, &whole) {
        let recorded = Agent::recorded(&whole.to_toml()).unwrap().cases().unwrap();
        assert_eq!(recorded.iter().map(shown).collect::<Vec<_>>(), cases.iter().map(shown).collect::<Vec<_>>());
    }
    rows.map_err(|found| found.message)
}

fn shown(case: &Case) -> String {
    let context = case.context.as_ref().map(ptc_core::value::Json::to_text).unwrap_or_default();
    let expect = case.expect.as_ref().map(|expect| expect.outline().replace('\n', " ")).unwrap_or_default();
    let marks = format!(
        "{}{}{}",
        case.tags.join("+"),
        if case.skip { " skip" } else { "" },
        if case.only { " only" } else { "" }
    );
    format!(
        "{}|{context}|{}|{}|{marks}",
        case.name,
        expect.split_whitespace().collect::<Vec<_>>().join(" "),
        case.weight
    )
}

fn all(cases: &str, files: &[(&str, &str)]) -> Vec<String> {
    read(cases, files).unwrap().iter().map(shown).collect()
}

#[test]
fn a_row_without_a_mapping_has_the_keys_of_a_case() {
    let expected = [r#"one|{"text":"a"}|{ "label": "good" }|2|x"#, r#"FILE:2|{"text":"b","n":3}|(= 1 1)|1| skip"#];
    let toml = "[[cases]]\nname = \"one\"\ncontext = { text = \"a\" }\nexpect = { label = \"good\" }\nweight = 2\ntags = [\"x\"]\n\
                [[cases]]\ncontext = { text = \"b\", n = 3 }\nexpect = \"(= 1 1)\"\nskip = true\n";
    let jsonl = "{\"name\":\"one\",\"context\":{\"text\":\"a\"},\"expect\":{\"label\":\"good\"},\"weight\":2,\"tags\":[\"x\"]}\n\
                 {\"context\":{\"text\":\"b\",\"n\":3},\"expect\":\"(= 1 1)\",\"skip\":true}\n";
    let json = format!("[{}]", jsonl.trim().replace('\n', ","));
    let csv = "name,context.text,context.n,expect,weight,tags,skip\none,a,,\"{\"\"label\"\":\"\"good\"\"}\",2,x,\n,b,3,(= 1 1),,,true\n";
    let tsv = csv
        .replace("\"{\"\"label\"\":\"\"good\"\"}\"", "\"{'label':'good'}\"")
        .replace(',', "\t")
        .replace('\'', "\"\"");
    for (name, text) in [("c.toml", toml), ("c.jsonl", jsonl), ("c.json", &json), ("c.csv", csv), ("c.tsv", &tsv)] {
        let found = all(&format!("cases = [\"{name}\"]"), &[(name, text)]);
        assert_eq!(found, expected.map(|line| line.replace("FILE", name)), "{name}");
    }
}

#[test]
fn columns_are_mapped_to_inputs_and_parts_of_the_answer() {
    let csv = "id,review,stars,mood,kind,w\n7,Great lamp,5,good,a;b,2\n8,,1,bad,,0.5\n";
    let mapping = "cases = [{ file = \"d.csv\", inputs = { text = \"review\", n = \"stars\" }, expected = { label = \"mood\" }, \
                   name = \"id\", tags_from = \"kind\", weight_from = \"w\" }]";
    let expected = [r#"7|{"text":"Great lamp","n":5}|label: "good"|2|a+b"#, r#"8|{"text":"","n":1}|label: "bad"|0.5|"#];
    assert_eq!(all(mapping, &[("d.csv", csv)]), expected);
    let jsonl = "{\"id\":7,\"review\":\"Great lamp\",\"stars\":5,\"mood\":\"good\",\"kind\":[\"a\",\"b\"],\"w\":2}\n\
                 {\"id\":8,\"review\":\"\",\"stars\":1,\"mood\":\"bad\",\"kind\":[],\"w\":0.5}\n";
    assert_eq!(all(&mapping.replace("d.csv", "d.jsonl"), &[("d.jsonl", jsonl)]), expected);
    // Columns called like inputs need no mapping of their own, and the whole answer may be one column.
    let same =
        "cases = [{ file = \"d.csv\", expected = \"answer\", tags = \"all\", expect = { run = { turns = 2 } } }]";
    let csv = "text,answer\nx,\"{\"\"label\"\":\"\"good\"\",\"\"score\"\":1}\"\n";
    let found = all(same, &[("d.csv", csv)]);
    assert_eq!(found, [r#"d.csv:1|{"text":"x"}|turns at most 2 and { "label": "good", "score": 1 }|1|all"#]);
}

#[test]
fn files_follow_a_pattern_and_mix_with_tables() {
    let row = |name: &str| format!("{{\"name\":\"{name}\",\"context\":{{\"text\":\"t\"}}}}\n");
    let (b, a) = (row("b"), row("a"));
    let files = [("more/2.jsonl", b.as_str()), ("more/1.jsonl", a.as_str()), ("more/x.txt", "no")];
    let cases = "cases = [{ name = \"first\", context = { text = \"t\" } }, \"more/*.jsonl\", { name = \"last\", context = { text = \"t\" } }]";
    let names: Vec<String> = read(cases, &files).unwrap().into_iter().map(|case| case.name).collect();
    assert_eq!(names, ["first", "a", "b", "last"]);
    // The same as tables with the key `file`.
    let tables = "[[cases]]\nname = \"first\"\n[[cases]]\nfile = \"more/1.jsonl\"";
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("more")).unwrap();
    std::fs::write(dir.path().join("more/1.jsonl"), &a).unwrap();
    let agent = Agent::from_toml(&format!("{AGENT}{tables}"), "a.toml").unwrap();
    let names = agent.case_rows(dir.path(), &FileAccess::default()).map(|case| case.unwrap().name);
    assert_eq!(names.collect::<Vec<_>>(), ["first", "a"]);
    assert_eq!(agent.cases().unwrap().len(), 1, "the definition itself holds one");
}

#[test]
fn variants_give_a_case_for_each_combination() {
    let table = "cases = [\"c.jsonl\", { name = \"v\", context = { text = \"t\" }, variants = { n = [1, 2], text = [\"a\", \"b\"] } }]";
    let names: Vec<String> = read(table, &[("c.jsonl", "")])
        .unwrap()
        .iter()
        .map(|case| format!("{} {}", case.name, case.context.as_ref().unwrap().to_text()))
        .collect();
    assert_eq!(
        names,
        [
            r#"v · n=1 · text=a {"text":"a","n":1}"#,
            r#"v · n=1 · text=b {"text":"b","n":1}"#,
            r#"v · n=2 · text=a {"text":"a","n":2}"#,
            r#"v · n=2 · text=b {"text":"b","n":2}"#,
        ]
    );
    // Without a context of its own, a case varies that of the agent.
    let own = "context = { text = \"own\" }\ncases = [\"c.jsonl\", { name = \"v\", variants = { n = [1, 2] } }]";
    let row = "{\"name\":\"r\",\"variants\":{\"n\":[3]}}\n";
    assert_eq!(
        all(own, &[("c.jsonl", row)]),
        [
            r#"r · n=3|{"text":"own","n":3}||1|"#,
            r#"v · n=1|{"text":"own","n":1}||1|"#,
            r#"v · n=2|{"text":"own","n":2}||1|"#,
        ]
    );
    let empty = Agent::from_toml("prompt = \"x\"\ncases = [{ name = \"v\", variants = { n = [] } }]", "a.toml");
    assert!(empty.unwrap_err().to_string().contains("`cases.0.variants.n` must not be empty"));
    let of_file = "cases = [{ file = \"c.jsonl\", variants = { n = [1, 2] } }]";
    let names: Vec<String> = read(of_file, &[("c.jsonl", "{\"context\":{\"text\":\"t\"}}\n")])
        .unwrap()
        .into_iter()
        .map(|case| case.name)
        .collect();
    assert_eq!(names, ["c.jsonl:1 · n=1", "c.jsonl:1 · n=2"]);
}

#[test]
fn cases_name_files_of_the_folder_of_the_agent() {
    let dir = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| std::fs::write(dir.path().join(name), text).unwrap();
    file("n.txt", "a note");
    file("c.jsonl", "{\"context\":{\"note\":{\"file\":\"n.txt\"}}}\n");
    file("c.csv", "context.note\nn.txt\n");
    file("d.csv", "path\nn.txt\n");
    let toml = "cases = [\"c.jsonl\", \"c.csv\", { file = \"d.csv\", inputs = { note = \"path\" } }]\nmode = \"json\"\n\
                prompt = \"{{note}}\"\nsignature = \"(note :file) -> {a :int}\"\n";
    let agent = Agent::from_toml(toml, "a.toml").unwrap();
    let access = FileAccess::default();
    let known = |case: &Case, agent: &Agent| {
        let records = FileRecord::all_in(&case.inputs(agent)).into_iter();
        records.map(|record| (record.name, record.size)).collect::<Vec<_>>()
    };
    let cases: Vec<Case> = agent.case_rows(dir.path(), &access).map(Result::unwrap).collect();
    assert_eq!(cases.len(), 3);
    for case in &cases {
        assert_eq!(known(case, &agent), [("n.txt".to_owned(), 6)], "{}", case.name);
    }
    let whole = agent.clone().with_case_files_read(dir.path(), &access).unwrap();
    assert_eq!(whole.files.len(), 1, "read once");
    for case in whole.cases().unwrap() {
        assert_eq!(known(&case, &whole), [("n.txt".to_owned(), 6)], "{}", case.name);
    }
    file("c.csv", "context.note\nnone.txt\n");
    let missing = agent.case_rows(dir.path(), &access).find_map(Result::err).unwrap().message;
    assert!(
        missing.contains("the case `c.csv:1`: `context.note` names the file") && missing.contains("none.txt"),
        "{missing}"
    );

    // Those of the definition itself, also in JSON text and in variants.
    file("b.txt", "another");
    let toml = "mode = \"json\"\nprompt = \"{{note}}\"\nsignature = \"(note :file) -> {a :int}\"\n\
                [[cases]]\nname = \"text\"\ncontext = '{\"note\": {\"file\": \"n.txt\"}}'\n\
                [[cases]]\nname = \"v\"\ncontext = {}\nvariants = { note = [{ file = \"n.txt\" }, { file = \"b.txt\" }] }\n";
    let path = dir.path().join("a.toml");
    std::fs::write(&path, toml).unwrap();
    let agent = Agent::read(&path).unwrap();
    let paths: Vec<&str> = agent.files.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(paths, ["n.txt", "b.txt"]);
}

#[test]
fn what_is_no_case_is_reported_with_file_and_row() {
    let known = [
        ("c.jsonl", "{\"name\":\"a\"}\n{\"nam\":\"b\"}\n", "c.jsonl row 2"),
        ("c.jsonl", "{\"name\":\"a\"}\n{oops\n", "c.jsonl:2: the line is not JSON"),
        ("c.jsonl", "[1]\n", "c.jsonl: row 1: a row must be an object"),
        ("c.csv", "", "c.csv: the file has no first row with the columns"),
        ("c.csv", "name,text\na,b\n", "c.csv: row 1: unknown column `text`"),
        ("c.csv", "name,context.text,name\na,b,c\n", "c.csv: the first row names the column `name` twice"),
        ("c.csv", "name,context.text\na\n", "c.csv: row 1: the row has 1 cells, and the first row names 2 columns"),
        ("c.csv", "name,context.n\na,x\n", "c.csv: row 1: the input `n`: \"x\" is not :int"),
        ("c.csv", "name,weight\na,x\n", "the weight \"x\" is not a number"),
        ("c.toml", "name = \"x\"\n", "c.toml: unknown key `name`; a file of cases has only [[cases]]"),
        ("c.toml", "[[cases]\n", "c.toml:1:"),
        (
            "c.json",
            "[{\"name\":\"a\",\n \"name\":\"b\"}]",
            "c.json: the file is ambiguous at line 2, column 2: an object has the member \"name\" twice",
        ),
        (
            "c.jsonl",
            "\n{\"name\":\"a\",\"name\":\"b\"}\n",
            "c.jsonl:2: the line is ambiguous: an object has the member \"name\" twice",
        ),
        (
            "c.jsonl",
            "{\"name\":\"a\",\"context\":\"{\\\"text\\\":\\\"x\\\",\\\"text\\\":\\\"y\\\"}\"}\n",
            "`c.jsonl row 1.context`: the JSON text is ambiguous at line 1, column 13: an object has the member \"text\" twice",
        ),
        (
            "c.csv",
            "name,expect\na,\"{\"\"x\"\":1,\"\"x\"\":2}\"\n",
            "c.csv: row 1: the column `expect` is ambiguous at line 1, column 8: an object has the member \"x\" twice",
        ),
        ("c.json", "{}", "c.json: must hold a JSON list of cases"),
        ("c.xml", "", "which is not a file of cases; known endings: toml, json, jsonl, csv, tsv"),
    ];
    for (name, text, message) in known {
        let error = read(&format!("cases = [\"{name}\"]"), &[(name, text)]).unwrap_err();
        assert!(error.contains(message), "{name} {text:?}\n{error}");
    }
    let missing = read("cases = [\"none.csv\"]", &[]).unwrap_err();
    assert!(missing.contains("none.csv, which cannot be read"), "{missing}");
    assert!(read("cases = [\"no*.csv\"]", &[]).unwrap_err().contains("`cases.file` = \"no*.csv\" matches no file"));
    let column = "cases = [{ file = \"c.csv\", inputs = { text = \"revew\" } }]";
    let error = read(column, &[("c.csv", "review\nx\n")]).unwrap_err();
    assert!(error.contains("no column `revew`; did you mean `review`?"), "{error}");
    let key = read("cases = [{ file = \"c.csv\", input = { text = \"a\" } }]", &[]).unwrap_err();
    assert!(key.contains("did you mean `inputs`?"), "{key}");
}

#[test]
fn files_outside_of_the_folder_need_consent() {
    let (own, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    std::fs::write(other.path().join("c.jsonl"), "{\"name\":\"a\"}\n").unwrap();
    let path = other.path().join("c.jsonl").display().to_string();
    let agent = Agent::from_toml(&format!("cases = ['{path}']\n{AGENT}"), "a.toml").unwrap();
    let read = |access: &FileAccess| agent.case_rows(Path::new(own.path()), access).collect::<Result<Vec<_>, _>>();
    let refused = read(&FileAccess::default()).unwrap_err().message;
    assert!(refused.contains("needs consent"), "{refused}");
    let access = FileAccess::default();
    access.allow(other.path()).unwrap();
    assert_eq!(read(&access).unwrap().len(), 1);
}
