//! The findings for pipelines: annotations of GitHub Actions.
//!
//! The form of a workflow command and its escapes are those of `@actions/core` (github.com/actions/toolkit, packages/core/src/command.ts).

use super::lint_finding::{LintFinding, LintGrade};
use super::{LintAnswer, file_name};

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_name_cannot_end_a_command() {
        assert_eq!(property("a,b::c%\n"), "a%2Cb%3A%3Ac%25%0A");
        assert_eq!(data("50 %\r\n"), "50 %25%0D%0A");
    }
}
