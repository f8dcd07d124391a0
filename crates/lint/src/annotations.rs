//! The findings for pipelines: annotations of GitHub Actions, and JUnit XML.
//!
//! The form of a workflow command and its escapes are those of `@actions/core` (github.com/actions/toolkit, packages/core/src/command.ts).

use super::lint_finding::{LintFinding, LintGrade};
use super::{LintAnswer, file_name};
use volproof_base::unit::counted;
use volproof_report::junit::{TestCase, TestSuite};

/// A line for each finding: `::warning file=plan.json,line=3,title=waste::...`.
pub fn github(answer: &LintAnswer) -> String {
    let of_classes = answer
        .classes
        .iter()
        .map(|(class, file, finding)| (format!("StorageClass {class}"), *file, None, finding));
    let of_volumes = answer.volumes.iter().flat_map(|v| {
        v.findings.iter().map(|f| (v.declared.address.clone(), v.declared.file, v.declared.line, f))
    });
    of_classes
        .chain(of_volumes)
        .map(|(address, file, line, finding)| {
            let line = finding.line.or(line).map(|n| format!(",line={n}")).unwrap_or_default();
            let file = property(&file_name(&answer.files[file]));
            let title = property(&format!("{}: {}", finding.grade.name(), finding.code));
            let text = data(&format!("{address}: {}", finding.text));
            format!("::{} file={file}{line},title={title}::{text}\n", command(finding))
        })
        .collect()
}

fn command(finding: &LintFinding) -> &'static str {
    match finding.grade {
        LintGrade::Note => "notice",
        LintGrade::Waste => "warning",
        LintGrade::Refused => "error",
    }
}

fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

/// JUnit XML: each volume and each class with findings is a test case.
pub fn junit(answer: &LintAnswer) -> String {
    let said = |findings: &[&LintFinding]| {
        findings.iter().map(|f| format!("{}: {}", f.grade.name(), f.text)).collect::<Vec<_>>().join("\n")
    };
    let case = |name: String, findings: Vec<&LintFinding>, skipped: Option<&String>| {
        let worst = findings.iter().filter(|f| f.grade.fails()).max_by_key(|f| f.grade);
        let wrong = match (worst, skipped) {
            (Some(worst), _) => Some(("failure", worst.grade.name(), worst.text.clone())),
            (None, Some(why)) => Some(("skipped", "", why.clone())),
            (None, None) => None,
        };
        TestCase { name, seconds: 0.0, wrong, said: said(&findings) }
    };
    let mut cases: Vec<TestCase> = Vec::new();
    let mut names: Vec<&(String, usize, LintFinding)> = answer.classes.iter().collect();
    names.dedup_by_key(|(name, file, _)| (name.clone(), *file));
    for (class, file, _) in names {
        let findings = answer.classes.iter().filter(|(c, f, _)| c == class && f == file);
        cases.push(case(format!("StorageClass {class}"), findings.map(|(.., f)| f).collect(), None));
    }
    for volume in &answer.volumes {
        cases.push(case(
            volume.declared.address.clone(),
            volume.findings.iter().collect(),
            volume.skipped.as_ref(),
        ));
    }
    TestSuite {
        name: "lint".into(),
        class: "lint".into(),
        attributes: String::new(),
        is_simulated: false,
        cases,
        said: counted(answer.volumes.len() as u64, "volume"),
    }
    .xml(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_name_cannot_end_a_command() {
        assert_eq!(property("a,b::c%\n"), "a%2Cb%3A%3Ac%25%0A");
        assert_eq!(data("50 %\r\n"), "50 %25%0D%0A");
    }
}
