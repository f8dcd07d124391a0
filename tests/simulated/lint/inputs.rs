//! Wrong input: exit code 2, a message with the file and the place, and no text of the file.

use std::fs;

use super::{fixture, lint};

/// The message for a file with this text.
fn refused(name: &str, text: &str) -> String {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join(name), text).unwrap();
    let (code, out, err) = lint(dir.path(), &[name]);
    assert_eq!((code, out.as_str()), (Some(2), ""), "{text}: {err}");
    assert!(err.contains(name), "{err}");
    assert!(!err.contains("hunter2"), "{err}");
    err
}

#[test]
fn files_that_are_none() {
    assert!(
        refused("a.json", r#"{"planned_values": {"root_module": "hunter2"}}"#).contains("line 1, column")
    );
    assert!(refused("a.json", r#"{"planned_values": {"password": "hunter2"#).contains("line 1, column"));
    assert!(refused("a.json", r#"{"Statement": "hunter2"}"#).contains("terraform show -json PLAN"));
    assert!(refused("a.json", r#"{"format_version": "2.0", "values": {}}"#).contains("format version"));
    assert!(refused("a.yaml", "a: [1\nb: \"hunter2").contains("line "));
    assert!(refused("a.yaml", "password: hunter2").contains("no object of Kubernetes"));
    assert!(refused("a.yaml", "").contains("no object of Kubernetes"));
    assert!(refused("a.tf", "resource \"aws_ebs_volume\" \"hunter2\" {\n}\n").contains("a.tf"));
    assert!(refused("a.yaml", &"[".repeat(10_000)).contains("line 1"));
    let laughs: String =
        (1..60).map(|i| format!("a{i}: &a{i} [*a{0}, *a{0}]\n", i - 1)).collect::<Vec<_>>().concat();
    assert!(refused("a.yaml", &format!("a0: &a0 [hunter2]\n{laughs}")).contains("no object of Kubernetes"));
    let module = r#"{"child_modules":["#.repeat(500) + "{}" + &"]}".repeat(500);
    assert!(refused("a.json", &format!(r#"{{"values":{{"root_module":{module}}}}}"#)).contains("line 1"));
}

#[test]
fn deep_values_that_nobody_reads_are_passed_over() {
    let dir = tempfile::tempdir().unwrap();
    let deep = "[".repeat(100_000) + &"]".repeat(100_000);
    let text = format!(
        r#"{{"format_version":"1.0","values":{{"root_module":{{"resources":[
           {{"address":"x.y","mode":"managed","type":"x","values":{{"a":{deep}}}}},
           {{"address":"aws_ebs_volume.v","mode":"managed","type":"aws_ebs_volume","values":{{"type":"gp3","size":1,"a":{deep}}}}}]}}}}}}"#
    );
    fs::write(dir.path().join("p.json"), text).unwrap();
    let (code, out, err) = lint(dir.path(), &["p.json"]);
    assert_eq!(code, Some(0), "{err}");
    assert!(out.contains("1 x"), "{out}");
}

#[test]
fn more_volumes_than_anybody_has_are_refused() {
    let volume = r#"{"address":"aws_ebs_volume.v","mode":"managed","type":"aws_ebs_volume","values":{}}"#;
    let all = vec![volume; 20_001].join(",");
    let text = format!(r#"{{"format_version":"1.0","values":{{"root_module":{{"resources":[{all}]}}}}}}"#);
    assert!(refused("a.json", &text).contains("give it in parts"));
}

#[test]
fn options_that_cannot_be() {
    let run = |arguments: &[&str]| {
        let (code, out, err) = lint(&fixture(""), arguments);
        assert_eq!((code, out.as_str()), (Some(2), ""), "{arguments:?}: {err}");
        err
    };
    assert!(run(&["nowhere.json"]).contains("nowhere.json"));
    assert!(run(&["aws.json", "--fit", "etcd"]).contains("volproof promise --need-fit APP"));
    assert!(run(&["aws.json", "--volume", "x"]).contains("--need-fit"));
    assert!(run(&["aws.json", "--json", "--github"]).contains("cannot be used with"));
    assert!(run(&["aws.json", "--catalog", "aws.json"]).contains("catalogue"));
    assert!(run(&[]).contains("FILE"));
}
