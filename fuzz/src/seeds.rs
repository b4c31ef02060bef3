//! Texts that the driver begins with, for each target: valid ones, and ones at the limits.
//!
//! In: the name of a target. Out: its texts. Sessions and agents are the examples of the project.

/// Seeds of a target.
pub(crate) fn of(target: &str) -> Vec<String> {
    let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
    match target {
        "signature" => owned(SIGNATURES),
        "template" => owned(TEMPLATES),
        "reply" => owned(REPLIES),
        "stream" => owned(STREAMS),
        "schema" => schemas(),
        "mcp" => owned(MESSAGES),
        "agent" => {
            files("../examples", "toml").into_iter().chain(files("../assets", "toml")).chain(owned(AGENTS)).collect()
        }
        "session" => files("../sessions", "jsonl").into_iter().chain(owned(&[HEADER])).collect(),
        _ => Vec::new(),
    }
}

const HEADER: &str = "{\"format\":\"ptc-workbench-session\",\"version\":2,\"min_reader\":2,\"id\":\"2026-11-22T00-00-17Z-88ff48b4\",\"created_ms\":1,\"program\":\"x\"}\n";

const SIGNATURES: &[&str] = &[
    "(a :string, b :int?) -> {x :float, y [:keyword], z {q :bool?}}",
    "(a :enum[\"x\" \"y z\"]) -> :datetime",
    "() -> [{id :int, tags [:string], at :datetime?}]",
    "-> :map",
    "(_hidden :any) -> {summary :string \"what\", _rest [:any]}",
    "(xs [[[[[:int]]]]]) -> :any",
];

const TEMPLATES: &[&str] = &[
    "Hello {{name}}, {{#items}}{{title}}: {{.}}{{/items}}{{^items}}none{{/items}}",
    "{{user.name.first}} {{{raw}}} {{&raw}} {{! comment }} {{> partial}}",
    "{{=<% %>=}}<% x %><%={{ }}=%>{{y}}",
    "{{#a}}{{#b}}{{#c}}{{d}}{{/c}}{{/b}}{{/a}}",
];

const REPLIES: &[&str] = &[
    "Here:\n```json\n{\"a\": [1, 2.5e3, null, true, \"x\\u00e9\"]}\n```\nDone.",
    "<think>no {\"a\": 1}</think> {\"a\": 'x', b: \"y\",}",
    "```clojure\n(return {:a 1})\n```",
    "{\"thought\":\"t\",\"tool_call\":{\"name\":\"x\",\"arguments\":{}}}",
    "{\"thought\":\"t\",\"final_answer\":{\"x\":1}}",
    "[{[{[{[{[\"unclosed",
    "````\n```json\n{}\n```\n````",
];

const STREAMS: &[&str] = &[
    "data: {\"choices\":[{\"delta\":{\"content\":\"Hi \\ud83d\\ude00\"},\"index\":0}]}\n\ndata: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"c\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}]},\"finish_reason\":\"tool_calls\"}],\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":2}}\n\ndata: [DONE]\n\n",
    "event: message_start\r\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":1},\"model\":\"m\"}}\r\n\r\nevent: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"thinking\",\"thinking\":\"\"}}\n\nevent: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"x\"}}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
    "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"a\"},{\"functionCall\":{\"name\":\"f\",\"args\":{}}}]},\"finishReason\":\"STOP\"}],\"usageMetadata\":{\"promptTokenCount\":1}}\n\n",
    "{\"model\":\"m\",\"message\":{\"role\":\"assistant\",\"content\":\"x\",\"thinking\":\"y\"},\"done\":false}\n{\"done\":true,\"done_reason\":\"stop\",\"eval_count\":2}\n",
    ": comment\n: comment\nretry: 5\nid: x\nevent\ndata\n\n",
];

const MESSAGES: &[&str] = &[
    "{\"name\":\"list\",\"description\":\"d\",\"inputSchema\":{\"type\":\"object\",\"properties\":{\"a\":{\"$ref\":\"#/$defs/x\"},\"b\":{\"type\":[\"string\",\"null\"],\"enum\":[\"x\",1]}},\"required\":[\"a\"],\"$defs\":{\"x\":{\"anyOf\":[{\"type\":\"integer\"},{\"$ref\":\"#/$defs/x\"}]}}},\"outputSchema\":{\"type\":\"object\",\"additionalProperties\":{\"type\":\"number\"}}}",
    "{\"name\":\"x y\",\"inputSchema\":{\"allOf\":[{\"properties\":{\"a-b\":{}}},{\"properties\":{\"a_b\":{\"items\":{\"oneOf\":[]}}}}]}}",
    "{\"content\":[{\"type\":\"text\",\"text\":\"{\\\"a\\\":1}\"},{\"type\":\"image\",\"data\":\"aa==\",\"mimeType\":\"image/png\"}],\"structuredContent\":{\"a\":1},\"isError\":false}",
    "{\"content\":[{\"type\":\"resource\",\"resource\":{\"uri\":\"file:///etc/passwd\",\"text\":\"x\"}}],\"isError\":true}",
];

const AGENTS: &[&str] = &[
    "name = \"a\"\nmode = \"json\"\nprompt = \"{{x}}\"\nsignature = \"(x :string) -> {y :int}\"\n[tools.t]\nkind = \"command\"\ncommand = [\"x\"]\nfolder = \"/\"\n[modes.text]\nprompt = \"z\"\n",
    "schema = { type = \"object\", properties = { a = { type = \"integer\" } } }\nprompt = \"x\"\n[memory]\na = \"(+ 1 2)\"\n[refs]\nr = { expr = \"result\", optional = true }\n",
    "[[steps]]\nname = \"a\"\nprompt = \"x\"\n[[steps]]\nfile = \"b.toml\"\n[context]\nx = 1\n",
    "prompt = \"x\"\n[[cases]]\nname = \"c\"\nexpect = { predicate = \"(> result 1)\" }\n[tools.q]\nkind = \"llm\"\nprompt = \"y\"\ntools = { u = { kind = \"agent\", agent = { prompt = \"z\" } } }\n",
];

fn schemas() -> Vec<String> {
    let chain: String = (0..12)
        .map(|n| {
            format!("\"d{n}\":{{\"allOf\":[{{\"$ref\":\"#/$defs/d{}\"}},{{\"$ref\":\"#/$defs/d{}\"}}]}},", n + 1, n + 1)
        })
        .collect();
    vec![
        "[{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"integer\",\"minimum\":1},\"b\":{\"pattern\":\"^(a+)+$\"}},\"required\":[\"a\"]},{\"a\":1,\"b\":\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!\"}]".to_owned(),
        format!("[{{\"$ref\":\"#/$defs/d0\",\"$defs\":{{{chain}\"d12\":{{}}}}}},[1,2,3]]"),
        "[{\"items\":{\"$ref\":\"#\"},\"uniqueItems\":true,\"contains\":{\"const\":[]}},[[[[[]]]],[[]]]]".to_owned(),
        "[{\"if\":{\"type\":\"string\"},\"then\":{\"format\":\"uri\"},\"else\":{\"not\":{\"anyOf\":[true,false]}}},\"x\"]".to_owned(),
        "[{\"$dynamicRef\":\"#a\",\"$dynamicAnchor\":\"a\",\"unevaluatedProperties\":{\"$ref\":\"#\"}},{\"a\":{\"b\":{}}}]".to_owned(),
        "[{\"dependentSchemas\":{\"a\":{\"propertyNames\":{\"maxLength\":2}}},\"patternProperties\":{\"^a\":{\"multipleOf\":0.1}}},{\"a\":1e308}]".to_owned(),
    ]
}

/// The texts of all files of a folder with this ending.
fn files(folder: &str, ending: &str) -> Vec<String> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut open = vec![folder];
    let mut texts = Vec::new();
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|found| found == ending) {
                texts.extend(std::fs::read_to_string(path).ok().filter(|text| text.len() < 60_000));
            }
        }
    }
    texts
}
