//! Rows in every published form become the same suite; broken ones say where and why.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hone_benchmarks::swe::import::{ImportError, ImportRequest, Imported, import};
use hone_benchmarks::{Selection, Suite};
use parquet::data_type::{ByteArray, ByteArrayType};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

fn row(id: &str) -> Value {
    json!({
        "instance_id": id,
        "repo": "pallets/flask",
        "version": "2.0",
        "base_commit": "0123456789abcdef0123456789abcdef01234567",
        "problem_statement": "It \u{2028} breaks.\r\n",
        "hints_text": "Look there.",
        "patch": "diff --git a/x b/x\n",
        "test_patch": "diff --git a/t b/t\n",
        "FAIL_TO_PASS": "[\"t::a\"]",
        "PASS_TO_PASS": "[\"t::b\", \"t::c\"]",
        "image": "swebench/x:latest",
        "eval_script": ": '>>>>> Start Test Output'\n: '>>>>> End Test Output'\n",
        "log_parser": "parse_log_flask",
        "eval_type": "pass_and_fail",
    })
}

fn lines(rows: &[Value]) -> String {
    rows.iter().map(|row| format!("{row}\n")).collect()
}

struct Home(tempfile::TempDir);

impl Home {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.path().join(name);
        std::fs::write(&path, content).unwrap();
        path
    }

    fn import(&self, name: &str, content: impl AsRef<[u8]>) -> Result<Imported, ImportError> {
        import(&request(self.file(name, content)))
    }
}

fn request(rows: PathBuf) -> ImportRequest {
    ImportRequest { name: "swe".to_owned(), rows, ..ImportRequest::default() }
}

fn parquet_file(path: &Path, rows: &[Value]) {
    let names: Vec<&String> = rows[0].as_object().unwrap().keys().collect();
    let columns: String =
        names.iter().map(|name| format!("OPTIONAL BYTE_ARRAY {name} (UTF8);\n")).collect();
    let schema = Arc::new(parse_message_type(&format!("message rows {{ {columns} }}")).unwrap());
    let properties =
        WriterProperties::builder().set_compression(parquet::basic::Compression::SNAPPY).build();
    let file = std::fs::File::create(path).unwrap();
    let mut writer = SerializedFileWriter::new(file, schema, Arc::new(properties)).unwrap();
    let mut group = writer.next_row_group().unwrap();
    for name in names {
        let mut column = group.next_column().unwrap().unwrap();
        let values: Vec<ByteArray> =
            rows.iter().map(|row| row[name.as_str()].as_str().unwrap().into()).collect();
        let levels = vec![1; values.len()];
        column.typed::<ByteArrayType>().write_batch(&values, Some(&levels), None).unwrap();
        column.close().unwrap();
    }
    group.close().unwrap();
    writer.close().unwrap();
}

#[test]
fn every_published_form_gives_the_same_problems() {
    let home = Home::new();
    let rows = [row("a__a-1"), row("a__a-2"), row("b__b-1")];
    let plain = home.import("rows.jsonl", lines(&rows)).unwrap().suite;
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(lines(&rows).as_bytes()).unwrap();
    let gzipped = home.import("rows.jsonl.gz", gzip.finish().unwrap()).unwrap().suite;
    let list = home.import("rows.json", Value::from(rows.to_vec()).to_string()).unwrap().suite;
    let path = home.0.path().join("rows.parquet");
    parquet_file(&path, &rows);
    let parquet = import(&request(path)).unwrap().suite;
    for other in [&gzipped, &list, &parquet] {
        assert_eq!(other.problems(), plain.problems());
        assert_eq!(other.digest(), plain.digest());
    }
    let data = &plain.problems()[0].data;
    assert_eq!(data["problem_statement"], "It \u{2028} breaks.\r\n");
    assert_eq!(plain.problems()[2].group.as_deref(), Some("pallets/flask"));
    let folder = home.0.path().join("suite");
    plain.save(&folder).unwrap();
    assert_eq!(Suite::open(&folder).unwrap().digest(), plain.digest());
}

fn said(imported: Result<Imported, ImportError>) -> String {
    let text = imported.map(|_| ()).unwrap_err().to_string();
    // The folder differs from run to run.
    text.split(' ')
        .map(|word| match word.rsplit_once('/') {
            Some((_, name)) if word.starts_with('/') => name,
            _ => word,
        })
        .collect::<Vec<_>>()
        .join(" ")
}

#[test]
fn broken_rows_say_where_and_why() {
    let home = Home::new();
    let with = |column: &str, value: Value| {
        let mut row = row("a__a-2");
        row[column] = value;
        lines(&[self::row("a__a-1"), row])
    };
    let mut short = row("a__a-2");
    short.as_object_mut().unwrap().remove("eval_script");
    for (content, expected) in [
        (
            lines(&[row("a__a-1"), short]),
            "read row 2 (a__a-2) of rows.jsonl: column `eval_script` is missing",
        ),
        (
            lines(&[row("a__a-1"), row("a__a-1")]),
            "read row 2 of rows.jsonl: row 1 has the instance_id a__a-1 already",
        ),
        (
            with("base_commit", json!(5)),
            "read row 2 (a__a-2) of rows.jsonl: column `base_commit` must be a string, not a number",
        ),
        (
            with("base_commit", json!("main")),
            "read row 2 (a__a-2) of rows.jsonl: column `base_commit` cannot be used: it is no full commit id",
        ),
        (
            with("FAIL_TO_PASS", json!("[\"a\"")),
            "read row 2 (a__a-2) of rows.jsonl: column `FAIL_TO_PASS` is not JSON: a comma or a bracket is missing at byte 4",
        ),
        (
            with("instance_id", json!("../x")),
            "read row 2 (../x) of rows.jsonl: column `instance_id` cannot be used: it cannot name a folder",
        ),
        (
            with("log_parser", json!("parse_log_jest")),
            "read row 2 (a__a-2) of rows.jsonl: no parser reads the logs of `parse_log_jest`; the twelve Python repositories of SWE-bench are known",
        ),
        (
            with("eval_script", json!("pytest")),
            "read row 2 (a__a-2) of rows.jsonl: column `eval_script` cannot be used: it lacks the markers that grading needs",
        ),
        (
            format!("{}{{\"instance_id\": ", lines(&[row("a__a-1")])),
            "read row 2 of rows.jsonl: it is not JSON: a value is missing at byte 16",
        ),
        (" \n".to_owned(), "read the rows in rows.jsonl: there are none"),
        ("7\n".to_owned(), "read row 1 of rows.jsonl: a row must be an object, not a number"),
    ] {
        assert_eq!(said(home.import("rows.jsonl", content)), expected);
    }
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(lines(&[row("a__a-1")]).as_bytes()).unwrap();
    let mut cut = gzip.finish().unwrap();
    cut.truncate(cut.len() / 2);
    assert!(said(home.import("rows.gz", cut)).starts_with("read the rows in rows.gz:"));
    let path = home.0.path().join("rows.parquet");
    parquet_file(&path, &[row("a__a-1")]);
    let whole = std::fs::read(&path).unwrap();
    for length in [4, 5, 20, whole.len() / 2, whole.len() - 1] {
        let cut = home.import("cut.parquet", &whole[..length]);
        assert!(said(cut).starts_with("read the rows in cut.parquet:"), "{length}");
    }
    assert!(said(import(&request(home.0.path().join("none")))).contains("No such file"));
}

#[test]
fn subsets_are_taken_by_name_and_kept_as_lists() {
    let home = Home::new();
    let rows = home.file("rows.jsonl", lines(&[row("a__a-1"), row("a__a-2"), row("b__b-1")]));
    let subsets = json!({"all": ["a__a-1", "a__a-2", "b__b-1"], "verified_mini": ["b__b-1", "a__a-1"], "other": ["z"]});
    let subsets = Some(home.file("subsets.json", subsets.to_string()));
    let whole = ImportRequest { subsets, ..request(rows) };
    let suite = import(&whole).unwrap().suite;
    assert_eq!(suite.manifest().subsets.keys().collect::<Vec<_>>(), ["verified-mini"]);
    let selection = Selection { subset: Some("verified-mini".into()), ..Selection::default() };
    let ids = |suite: &Suite| {
        suite.problems().iter().map(|problem| problem.id.0.clone()).collect::<Vec<_>>()
    };
    assert_eq!(ids(&selection.take(&suite).unwrap()), ["a__a-1", "b__b-1"]);
    let only =
        |subset: &str| import(&ImportRequest { subset: Some(subset.to_owned()), ..whole.clone() });
    assert_eq!(ids(&only("verified-mini").unwrap().suite), ["a__a-1", "b__b-1"]);
    assert_eq!(said(only("other")), "take the subset \"other\": z is not among the rows");
    assert_eq!(
        said(only("mini")),
        "find the subset \"mini\" in subsets.json; it has: all, verified-mini, other"
    );
}

#[test]
fn labels_are_corrected_once_and_only_where_the_correction_fits() {
    let home = Home::new();
    let fix = |removed: &str, after: u8| {
        let fix = json!([{
            "instance_id": "a__a-1", "field": "PASS_TO_PASS", "removed_by_fix": [removed],
            "added_by_fix": [], "n_before": 2, "n_after": after
        }]);
        home.file("fixes.json", fix.to_string())
    };
    let run = |rows: &[Value], fixes: PathBuf| {
        let rows = home.file("rows.jsonl", lines(rows));
        import(&ImportRequest { label_fixes: Some(fixes), ..request(rows) })
    };
    let corrected = run(&[row("a__a-1"), row("a__a-2")], fix("t::b", 1)).unwrap();
    assert_eq!(corrected.corrected, ["a__a-1"]);
    let data = &corrected.suite.problems()[0].data;
    assert_eq!(data["PASS_TO_PASS"], "[\"t::c\"]");
    let again = run(std::slice::from_ref(data), fix("t::b", 1)).unwrap();
    assert_eq!(again.corrected, Vec::<String>::new());
    assert_eq!(
        said(run(&[row("a__a-1")], fix("t::x", 1))),
        "correct the labels of a__a-1: PASS_TO_PASS should have 1 tests afterwards, not 2"
    );
}

#[test]
fn no_damage_to_a_parquet_file_panics() {
    let home = Home::new();
    let path = home.0.path().join("rows.parquet");
    parquet_file(&path, &[row("a__a-1")]);
    let whole = std::fs::read(&path).unwrap();
    for at in (0..whole.len()).step_by(13) {
        for bits in [0x01, 0x80] {
            let mut damaged = whole.clone();
            damaged[at] ^= bits;
            // Either answer will do: a byte of a statement may change unseen.
            drop(home.import("damaged.parquet", &damaged));
        }
    }
}
