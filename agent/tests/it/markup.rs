//! The rule for values and calls, read back from what a model writes by it.

use hone_agent::markup::call::{Place, read};
use hone_agent::markup::{Block, Call, CallKind, Reading};
use hone_agent::model::stream::{Assembler, StreamError};
use hone_agent::model::{Finish, Reply};
use pretty::call_of;
use proptest::prelude::*;

mod pretty {
    use super::*;

    /// Returns the call of a text that has to hold a whole one.
    pub fn call_of(text: &str) -> Call {
        match read(text) {
            Reading::Call { call, .. } => call,
            other => panic!("{other:?}"),
        }
    }
}

fn written(value: &str) -> String {
    let argument = Block::new("content").argument(value);
    format!(
        "Prose with <TOOL_CALL> in it.\n<TOOL_CALL>\n<TOOL_NAME> overwrite_file\n</TOOL_NAME>\r\n\
         <TOOL_ARGS><path>a b.py</path>\n{argument}\n</TOOL_ARGS>\n</TOOL_CALL>"
    )
}

/// Values made of what is dangerous in them.
fn value() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("</content>"),
        Just("<content>"),
        Just("</content fence=\"x\">"),
        Just("</TOOL_CALL>"),
        Just("</AGENT_CALL>"),
        Just("</TOOL_ARGS>"),
        Just("<TOOL_CALL><TOOL_NAME>x</TOOL_NAME></TOOL_CALL>"),
        Just("<![CDATA["),
        Just("]]>"),
        Just("\n"),
        Just("\r\n"),
        Just("\r"),
        Just("\0"),
        Just("\u{FFFD}"),
        Just(" "),
        Just("x = \"é€😀\" & y"),
        Just("<"),
        Just(">"),
        Just("/"),
    ];
    let text = proptest::collection::vec(piece, 0..10).prop_map(|pieces| pieces.concat());
    prop_oneof![4 => text.clone(), 1 => text.prop_map(|text| format!("<![CDATA[{text}]]>"))]
}

/// Writes a reply as the stream of a gateway.
fn streamed(text: &str, cuts: &[usize]) -> Vec<u8> {
    let mut stream = String::new();
    let mut rest = text;
    for cut in cuts {
        let end = (0..=(*cut).min(rest.len())).rev().find(|end| rest.is_char_boundary(*end));
        let (piece, after) = rest.split_at(end.unwrap_or(0));
        rest = after;
        stream.push_str(&chunk(piece));
    }
    stream.push_str(&chunk(rest));
    stream.push_str(
        "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n",
    );
    stream.into_bytes()
}

fn chunk(piece: &str) -> String {
    format!("data: {}\n\n", serde_json::json!({"choices": [{"delta": {"content": piece}}]}))
}

fn assembled(bytes: &[u8], step: usize) -> Result<Reply, StreamError> {
    let mut assembler = Assembler::default();
    for part in bytes.chunks(step) {
        assembler.push(part)?;
    }
    assembler.finish()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn any_argument_is_read_back_as_the_same_bytes_however_the_stream_is_cut(
        value in value(),
        cuts in proptest::collection::vec(0usize..40, 0..6),
        step in 1usize..70,
    ) {
        let reply = assembled(&streamed(&written(&value), &cuts), step).unwrap();
        let call = call_of(&reply.text);
        prop_assert_eq!(call.name, "overwrite_file");
        prop_assert_eq!(call.arguments, [
            ("path".to_owned(), "a b.py".to_owned()),
            ("content".to_owned(), value),
        ]);
    }

    #[test]
    fn reading_never_panics_and_every_cut_of_a_call_is_seen_as_one(value in value(), at in 0usize..400) {
        let text = written(&value);
        let name = text.find("<TOOL_NAME>").unwrap() + "<TOOL_NAME>".len();
        let end = (0..=at.min(text.len() - 1)).rev().find(|end| text.is_char_boundary(*end)).unwrap();
        let is_whole = matches!(read(&text[..end]), Reading::Call { .. } | Reading::Wrong { .. });
        prop_assert!(!is_whole, "{:?}", read(&text[..end]));
        prop_assert_eq!(matches!(read(&text[..end]), Reading::Cut { .. }), end >= name);
    }

    #[test]
    fn blocks_for_the_model_hold_any_value(value in value()) {
        let text = Block::new("content").with("path", "p").around(&value);
        // A value that a block need not fence may still look like CDATA, which only arguments unwrap.
        prop_assume!(!value.starts_with("<![CDATA["));
        let call = format!("<TOOL_CALL><TOOL_NAME>x</TOOL_NAME><TOOL_ARGS>{text}</TOOL_ARGS></TOOL_CALL>");
        prop_assert_eq!(&call_of(&call).arguments[0].1, &value);
    }
}

#[test]
fn a_plain_cdata_value_is_unwrapped_and_a_fenced_one_is_not() {
    let call = |argument: &str| {
        call_of(&format!(
            "<TOOL_CALL><TOOL_NAME>x</TOOL_NAME><TOOL_ARGS>{argument}</TOOL_ARGS></TOOL_CALL>"
        ))
    };
    assert_eq!(call("<a><![CDATA[1 < 2]]></a>").arguments[0].1, "1 < 2");
    assert_eq!(call("<a>\r\n<![CDATA[1]]></a>").arguments[0].1, "1");
    assert_eq!(call("<a> <![CDATA[1]]></a>").arguments[0].1, " <![CDATA[1]]>");
    assert_eq!(
        call("<a fence=\"k\"><![CDATA[1]]></a fence=\"k\">").arguments[0].1,
        "<![CDATA[1]]>"
    );
}

#[test]
fn one_newline_after_the_opening_tag_is_dropped_and_nothing_else() {
    let value = |argument: &str| {
        let text = format!(
            "<AGENT_CALL><AGENT_NAME>x</AGENT_NAME><AGENT_ARGS>{argument}</AGENT_ARGS></AGENT_CALL>"
        );
        let call = call_of(&text);
        assert_eq!(call.kind, CallKind::Agent);
        call.arguments[0].1.clone()
    };
    assert_eq!(value("<a>\n x \n</a>"), " x \n");
    assert_eq!(value("<a>\r\n\r\nx</a>"), "\r\nx");
    assert_eq!(value("<a>\rx</a>"), "\rx");
    assert_eq!(value("<a fence=\"k\">\nx</a></a fence=\"k\">"), "x</a>");
}

#[test]
fn the_first_call_counts_and_the_others_are_counted() {
    let one = "<TOOL_CALL><TOOL_NAME>a</TOOL_NAME></TOOL_CALL>";
    let two = "<AGENT_CALL><AGENT_NAME>b</AGENT_NAME><AGENT_ARGS></AGENT_ARGS></AGENT_CALL>";
    let reading = read(&format!("Text. {one} more text {two}{one} end"));
    let call = Call { kind: CallKind::Tool, name: "a".to_owned(), arguments: Vec::new() };
    assert_eq!(reading, Reading::Call { call, before: "Text. ".to_owned(), more: 2 });
}

#[test]
fn what_is_wrong_with_a_call_is_said() {
    let problem = |text: &str| match read(text) {
        Reading::Wrong { problem, .. } => problem,
        other => panic!("{other:?}"),
    };
    assert_eq!(
        problem("<TOOL_CALL><TOOL_NAME>x</TOOL_NAME><TOOL_ARGS>path: a</TOOL_ARGS></TOOL_CALL>"),
        "there is text between the tags of the call: `path: a</TOOL_ARGS></TOOL_CALL>`"
    );
    assert_eq!(
        problem("<TOOL_CALL><TOOL_NAME>x</TOOL_NAME><path>a</path></TOOL_CALL>"),
        "found `<path>` where <TOOL_ARGS> should stand"
    );
    assert_eq!(
        problem("<TOOL_CALL><TOOL_NAME>x</TOOL_NAME><TOOL_ARGS></AGENT_ARGS></TOOL_CALL>"),
        "found `</AGENT_ARGS>` where an argument or </TOOL_ARGS> should stand"
    );
}

#[test]
fn a_cut_says_where_it_is() {
    let place = |text: &str| match read(text) {
        Reading::Cut { place, .. } => place,
        other => panic!("{other:?}"),
    };
    let start = "<TOOL_CALL><TOOL_NAME>x</TOOL_NAME>";
    assert_eq!(place(start), Place::Closing);
    assert_eq!(place(&format!("{start}<TOOL_ARGS><a>1</a></TOOL_ARGS>\n")), Place::Closing);
    assert_eq!(place(&format!("{start}<TOOL_ARGS><a>1</a></TOOL_")), Place::Tags);
    let slipped = Place::Argument { name: "a".into(), closing: "</a>".into(), slipped: true };
    assert_eq!(place(&format!("{start}<TOOL_ARGS><a>1\n</TOOL_ARGS>\n")), slipped);
    let fenced =
        Place::Argument { name: "a".into(), closing: "</a fence=\"k\">".into(), slipped: false };
    assert_eq!(place(&format!("{start}<TOOL_ARGS><a fence=\"k\">1</TOOL_ARGS>\n")), fenced);
}

#[test]
fn a_stream_is_checked_to_its_end() {
    let whole = streamed("hello", &[2]);
    let reply = assembled(&whole, 3).unwrap();
    assert_eq!((reply.text.as_str(), reply.finish), ("hello", Finish::Stop));
    let broken = &whole[..whole.len() / 3];
    assert_eq!(assembled(broken, 7), Err(StreamError::BrokenOff));
    let error = b"data: {\"error\":{\"message\":\"no more\",\"code\":\"cost_cap\"}}\n\n";
    assert_eq!(
        assembled(error, 7),
        Err(StreamError::Reported { code: "cost_cap".to_owned(), message: "no more".to_owned() })
    );
    assert!(matches!(assembled(b"data: {nonsense\n\n", 50), Err(StreamError::Garbled(_))));
    let length = b"data: {\"choices\":[{\"delta\":{\"content\":\"x\"},\"finish_reason\":\"length\"}]}\r\n\r\n";
    assert_eq!(assembled(length, 1).unwrap().finish, Finish::Length);
}

#[test]
fn bytes_of_a_stream_that_are_not_utf8_are_replaced() {
    let mut bytes = streamed("a-b", &[]);
    let at = bytes.windows(3).position(|part| part == b"a-b").unwrap();
    bytes[at + 1] = 0xFF;
    assert_eq!(assembled(&bytes, 1).unwrap().text, "a\u{FFFD}b");
}
