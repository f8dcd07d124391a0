//! The forms of the answer: text of 80 columns, JSON, annotations.

use std::fs;

use super::{FIXTURES, fixture, lint, lint_fixtures};

#[test]
fn text_is_read_at_80_columns() {
    insta::assert_snapshot!(lint_fixtures(&["google.json", "aws.yaml"]).1);
    for name in FIXTURES {
        let (code, out, err) = lint_fixtures(&[name]);
        assert_eq!((code, err.as_str()), (Some(1), ""), "{name}");
        assert!(out.lines().all(|line| line.chars().count() <= 80), "{out}");
    }
}

#[test]
fn clean_files_exit_0() {
    let dir = tempfile::tempdir().unwrap();
    let text = r#"{"format_version":"1.0","planned_values":{"root_module":{}}}"#;
    fs::write(dir.path().join("p.json"), text).unwrap();
    let (code, out, _) = lint(dir.path(), &["p.json"]);
    assert_eq!(code, Some(0));
    assert!(out.contains("no volume"), "{out}");
}

#[test]
fn annotations_of_github() {
    let (code, out, _) = lint_fixtures(&["google.yaml", "--github"]);
    assert_eq!(code, Some(1));
    let commands: Vec<&str> = out.lines().filter(|line| line.starts_with("::")).collect();
    insta::assert_snapshot!(commands.join("\n"));
}

#[test]
fn names_command_neither_the_terminal_nor_the_pipeline() {
    let dir = tempfile::tempdir().unwrap();
    let name = r"x\u001b[31m ::error::y ##[error]z";
    let text = format!(
        r#"{{"format_version":"1.0","values":{{"root_module":{{"resources":[
           {{"address":"aws_ebs_volume.v[\"{name}\"]","mode":"managed","type":"aws_ebs_volume","values":{{"type":"gp2","size":100}}}},
           {{"address":"a.b","mode":"managed","type":"{name}","values":{{}}}}]}}}}}}"#
    );
    fs::write(dir.path().join("p.json"), text).unwrap();
    for form in [&["p.json"][..], &["p.json", "--json"], &["p.json", "--github"]] {
        let (_, out, _) = lint(dir.path(), form);
        assert!(!out.contains('\u{1b}') && !out.contains("##[") && !out.contains("::error"), "{out}");
    }
}

#[test]
fn standard_input_is_a_file() {
    use std::io::Write;
    use std::process::{Command, Stdio};
    let mut child = Command::new(env!("CARGO_BIN_EXE_volproof"))
        .args(["lint", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(&fs::read(fixture("aws.yaml")).unwrap()).unwrap();
    let out = child.wait_with_output().unwrap();
    assert_eq!(out.status.code(), Some(1));
    assert!(String::from_utf8(out.stdout).unwrap().starts_with("standard input\n"));
}
