//! File -> findings: every rule, over the fixtures.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{FIXTURES, answer, fixture};

/// `address: code, code` of every volume and class that has findings or no promise; notes are in parentheses.
fn found(folder: &std::path::Path, files: &[&str]) -> String {
    let (answer, _) = answer(folder, files);
    let codes = |findings: &Value| {
        let all = findings.as_array().unwrap().iter().map(|f| match f["grade"].as_str().unwrap() {
            "note" => format!("({})", f["code"].as_str().unwrap()),
            grade => format!("{}!{grade}", f["code"].as_str().unwrap()),
        });
        all.collect::<Vec<_>>().join(" ")
    };
    let classes = answer["classes"].as_array().unwrap().iter().map(|c| {
        let finding = Value::Array(vec![c["finding"].clone()]);
        format!("class {}: {}", c["class"].as_str().unwrap(), codes(&finding))
    });
    let volumes = answer["volumes"].as_array().unwrap().iter().map(|v| {
        let promise = match &v["promise"] {
            Value::Null => "skipped".into(),
            p => {
                let figure = |side: &str| p[side]["iops"]["value"].as_f64().map_or(0, |n| n as u64);
                let bytes = p["read"]["bytes_per_second"]["value"].as_f64().unwrap_or(0.0) / 1048576.0;
                format!("{} {}/{} {bytes:.1}", p["type"].as_str().unwrap(), figure("read"), figure("write"))
            }
        };
        format!("{}: {promise} {}", v["address"].as_str().unwrap(), codes(&v["findings"]))
    });
    classes.chain(volumes).map(|line| line.trim_end().to_string() + "\n").collect()
}

fn of(name: &str) -> String {
    found(&fixture(""), &[name])
}

#[test]
fn amazon() {
    insta::assert_snapshot!(of("aws.json"));
    insta::assert_snapshot!(of("aws.yaml"));
}

#[test]
fn google() {
    insta::assert_snapshot!(of("google.json"));
    insta::assert_snapshot!(of("google.yaml"));
}

#[test]
fn azure() {
    insta::assert_snapshot!(of("azure.json"));
    insta::assert_snapshot!(of("azure.yaml"));
}

#[test]
fn alibaba() {
    insta::assert_snapshot!(of("alibaba.json"));
    insta::assert_snapshot!(of("alibaba.yaml"));
}

#[test]
fn a_state_holds_what_providers_filled_in() {
    // gp2 has 300 IOPS in every state: nobody asked for them.
    insta::assert_snapshot!(of("state.json"), @"
    aws_ebs_volume.old: aws:gp2 300/300 128.0 (burst-only)
    aws_ebs_volume.new: aws:gp3 2000/2000 41.4 instance-cap!waste
    ");
}

/// A class of EBS with these parameters and a claim of 100 GiB.
fn class(parameters: &str) -> String {
    let dir = tempfile::tempdir().unwrap();
    let text = format!(
        "apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {{name: c}}\nprovisioner: ebs.csi.aws.com\n\
         parameters: {{{parameters}}}\n---\napiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {{name: v}}\n\
         spec: {{storageClassName: c, resources: {{requests: {{storage: 100Gi}}}}}}\n"
    );
    std::fs::write(dir.path().join("c.yaml"), text).unwrap();
    found(dir.path(), &["c.yaml"]).replace("PersistentVolumeClaim v: ", "")
}

#[test]
fn parameters_of_a_driver() {
    for (parameters, expected) in [
        ("type: gp3", "aws:gp3 3000/3000 125.0"),
        ("", "aws:gp3 3000/3000 125.0"),
        ("TYPE: io2, IOPSPERGB: '50'", "aws:io2 5000/5000 1280.0"),
        ("type: io2, iopsPerGB: '5000'", "aws:io2 100000/100000 4000.0 capped!waste"),
        ("type: gp3, iops: '100'", "aws:gp3 3000/3000 125.0 not-sold!refused"),
        ("type: gp3, iops: '100', allowAutoIOPSPerGBIncrease: 'true'", "aws:gp3 3000/3000 125.0 (raised)"),
        ("type: gp3, tagSpecification_1: 'a=b', csi.storage.k8s.io/fstype: xfs", "aws:gp3 3000/3000 125.0"),
        ("type: gp2, iops: '3000'", "aws:gp2 300/300 128.0 not-sold-alone!waste (burst-only)"),
        ("type: io2", "skipped"),
        ("iops: '3k'", "class c: not-a-number!refused\nskipped"),
        ("iops: 5000", "class c: not-a-text!refused\naws:gp3 5000/5000 125.0"),
        ("encrypted: true", "class c: not-a-text!refused\naws:gp3 3000/3000 125.0"),
        ("iop: '5000'", "class c: unknown-parameter!refused\naws:gp3 3000/3000 125.0"),
        ("iops: '5000', iopsPerGB: '50'", "class c: both-iops!refused\nskipped"),
    ] {
        assert_eq!(class(parameters).trim_end(), expected, "{parameters}");
    }
}

#[test]
fn volumes_of_one_instance_are_added_up() {
    let dir = tempfile::tempdir().unwrap();
    let plan = |iops: u64| {
        let volume = |i: usize| {
            format!(
                r#"{{"address":"aws_ebs_volume.v[{i}]","mode":"managed","type":"aws_ebs_volume","values":{{"id":"vol-{i}","type":"gp3","size":500,"iops":{iops}}}}},
                   {{"address":"aws_volume_attachment.v[{i}]","mode":"managed","type":"aws_volume_attachment","values":{{"volume_id":"vol-{i}","instance_id":"i-1"}}}}"#
            )
        };
        let text = format!(
            r#"{{"format_version":"1.0","values":{{"root_module":{{"resources":[
               {{"address":"aws_instance.a","mode":"managed","type":"aws_instance","values":{{"id":"i-1","instance_type":"m5.4xlarge"}}}},{},{}]}}}}}}"#,
            volume(0),
            volume(1)
        );
        std::fs::write(dir.path().join("p.json"), text).unwrap();
        found(dir.path(), &["p.json"])
    };
    // m5.4xlarge takes 18,750 IOPS.
    assert!(plan(10_000).starts_with("aws_ebs_volume.v[0]: aws:gp3 10000/10000 125.0 instance-sum!waste\n"));
    assert!(!plan(9_000).contains("instance-sum"), "{}", plan(9_000));
}

#[test]
fn an_attachment_that_may_be_several_gives_no_cap() {
    let dir = tempfile::tempdir().unwrap();
    let text = r#"{"format_version":"1.0","planned_values":{"root_module":{"resources":[
      {"address":"aws_instance.a[0]","mode":"managed","type":"aws_instance","values":{"instance_type":"t3.medium"}},
      {"address":"aws_instance.a[1]","mode":"managed","type":"aws_instance","values":{"instance_type":"m5.large"}},
      {"address":"aws_ebs_volume.v","mode":"managed","type":"aws_ebs_volume","values":{"type":"gp3","size":100}},
      {"address":"aws_volume_attachment.v","mode":"managed","type":"aws_volume_attachment","values":{}}]}},
      "configuration":{"root_module":{"resources":[
      {"address":"aws_volume_attachment.v","expressions":{"volume_id":{"references":["aws_ebs_volume.v.id","aws_ebs_volume.v"]},
       "instance_id":{"references":["aws_instance.a","var.which"]}}}]}}}"#;
    std::fs::write(dir.path().join("p.json"), text).unwrap();
    assert_eq!(found(dir.path(), &["p.json"]), "aws_ebs_volume.v: aws:gp3 3000/3000 125.0\n");
}

#[test]
fn a_class_may_stand_in_another_file() {
    let dir = tempfile::tempdir().unwrap();
    let class = "apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: c}\nprovisioner: ebs.csi.aws.com\nparameters:\n  \
                 type: gp3\n  iops: \"900000\"\n";
    let claim = "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: v}\n\
                 spec: {storageClassName: c, resources: {requests: {storage: 100Gi}}}\n";
    std::fs::write(dir.path().join("class.yaml"), class).unwrap();
    std::fs::write(dir.path().join("claim.yaml"), claim).unwrap();
    let (answer, code) = answer(dir.path(), &["claim.yaml", "class.yaml"]);
    assert_eq!(code, Some(1));
    let finding = &answer["volumes"][0]["findings"][0];
    assert_eq!((&finding["code"], &finding["line"]), (&Value::from("capped"), &Value::Null), "{answer}");
}

#[test]
fn the_page_has_every_code() {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/lint.md")).unwrap();
    let mut codes = BTreeSet::new();
    for name in FIXTURES {
        let (answer, _) = answer(&fixture(""), &[name]);
        let of_volumes =
            answer["volumes"].as_array().unwrap().iter().flat_map(|v| v["findings"].as_array().unwrap());
        let of_classes = answer["classes"].as_array().unwrap().iter().map(|c| &c["finding"]);
        codes.extend(of_volumes.chain(of_classes).map(|f| f["code"].as_str().unwrap().to_string()));
    }
    codes.extend(["instance-sum", "instance-unknown", "raised", "capped"].map(String::from));
    for code in codes {
        assert!(page.contains(&format!("| `{code}` |")), "docs/lint.md has no row for {code}");
    }
}
