//! The kinds of outputs, and which existing files may be replaced by one: empty ones, and those that begin and end as an output of the same kind
//! does. Any other file under the name is somebody's text, and the name a mistake. People edit plans and job files: none is replaced.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

use super::fio_report;

/// Bytes at the start of a file that tell what it is.
const HEAD: u64 = 1 << 16;

/// Bytes at the end of a file that tell whether it is complete.
const TAIL: u64 = 64;

/// What an output holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputKind {
    /// A Record.
    Record,
    /// A table of comma-separated values.
    Csv,
    /// Statements of SQL.
    Sql,
    /// A page.
    Html,
    /// Test cases.
    Junit,
    /// Metrics.
    OpenMetrics,
    /// A table for a ticket.
    Markdown,
    /// A report in one of fio's forms, where fio's habit holds: the last one counts, also after one of fio itself.
    FioReport,
    /// A report in one of fio's forms of what volproof measured. One of fio itself is somebody's measurement.
    ConvertedReport,
    /// A job file of fio.
    JobFile,
    /// A plan file.
    PlanFile,
    /// The index of a folder of Records.
    HistoryIndex,
}

impl OutputKind {
    /// Its name in a sentence.
    pub fn noun(self) -> &'static str {
        match self {
            OutputKind::Record => "Record of volproof",
            OutputKind::Csv => "table of volproof",
            OutputKind::Sql => "SQL of volproof",
            OutputKind::Html => "page of volproof",
            OutputKind::Junit => "JUnit file of volproof",
            OutputKind::OpenMetrics => "metrics of volproof",
            OutputKind::Markdown => "Markdown of volproof",
            OutputKind::FioReport => "report of fio",
            OutputKind::ConvertedReport => "report that volproof wrote in fio's form",
            OutputKind::JobFile => "copy of these jobs",
            OutputKind::PlanFile => "copy of this plan",
            OutputKind::HistoryIndex => "index of a history",
        }
    }

    /// Whether a file begins and ends as such an output does, or holds nothing.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn is_in(self, file: &mut File) -> io::Result<bool> {
        let mut head = Vec::new();
        file.take(HEAD).read_to_end(&mut head)?;
        if head.is_empty() {
            return Ok(true);
        }
        let mut tail = Vec::new();
        let from = file.metadata()?.len().saturating_sub(TAIL);
        file.seek(SeekFrom::Start(from))?;
        file.take(TAIL).read_to_end(&mut tail)?;
        let (head, tail) = (String::from_utf8_lossy(&head), String::from_utf8_lossy(&tail));
        Ok(self.begins(&head) && self.ends(&head, &tail))
    }

    /// Whether such an output ends like this. One that was cut off may be the only copy of what it still holds.
    fn ends(self, head: &str, tail: &str) -> bool {
        let is_json = head.trim_start().starts_with('{') || head.contains("\n{\n");
        let ends: &[&str] = match self {
            OutputKind::Record => &["}"],
            OutputKind::Html => &["</html>"],
            OutputKind::Junit => &["</testsuites>"],
            OutputKind::OpenMetrics => &["# EOF"],
            OutputKind::Sql => &["COMMIT;"],
            // A table, or a text in a fence behind it.
            OutputKind::Markdown => &["|\n", "````\n"],
            OutputKind::FioReport | OutputKind::ConvertedReport if is_json => &["}"],
            OutputKind::FioReport | OutputKind::ConvertedReport | OutputKind::Csv => &["\n"],
            // What an index holds is in the Records.
            OutputKind::JobFile | OutputKind::PlanFile | OutputKind::HistoryIndex => &[""],
        };
        ends.iter().any(|end| tail.ends_with(end) || tail.trim_end().ends_with(end))
    }

    /// Whether such an output begins like this. A part of one that stands further down, as in a diary, makes no output.
    fn begins(self, head: &str) -> bool {
        let text = head.trim_start();
        let mut lines = text.lines();
        let first = lines.next().unwrap_or_default();
        let any = |starts: &[&str]| starts.iter().any(|start| text.starts_with(start));
        // JSON, however it is indented.
        let key = |start: &str| text.split_whitespace().take(12).collect::<String>().starts_with(start);
        match self {
            OutputKind::Record => {
                key(r#"{"schema":"volproof.record","schema_version":"#)
                    && text.contains("\"volproof_version\"")
            }
            // Whole columns: all our tables have the last ones.
            OutputKind::Csv => {
                // Of several runs: `history --csv`.
                let is_of_runs = first.starts_with("step,direction,figure,");
                any(&["step,direction,", "step,rw,", "rw,block_bytes,", "trial,rw,"])
                    && first.ends_with(",simulated,started")
                    && (is_of_runs || are_rows_of_one_run(text))
            }
            OutputKind::Html => {
                let title = text.split_once("<title>").and_then(|(_, rest)| rest.split_once("</title>"));
                any(&["<!doctype html>"]) && title.is_some_and(|(title, _)| title.ends_with(" – volproof"))
            }
            OutputKind::Junit => {
                let suites = "<testsuites name=\"volproof\"";
                any(&[suites])
                    || any(&["<?xml"]) && lines.next().is_some_and(|second| second.starts_with(suites))
            }
            OutputKind::Sql => any(&["-- volproof history: "]),
            OutputKind::OpenMetrics => any(&["# HELP volproof_"]),
            // The answer, an empty line, and the facts as a list.
            OutputKind::Markdown => {
                lines.next() == Some("")
                    && lines.take_while(|l| l.starts_with("- ")).any(|l| l.starts_with("- volproof: "))
            }
            // Text, terse lines of every version, JSON; and what fio says before its first report.
            OutputKind::FioReport => fio_report::begins(text),
            // The version stands in the first lines of text, in the second field of a terse line, and in the first key of JSON.
            OutputKind::ConvertedReport => {
                OutputKind::FioReport.begins(head)
                    && (text.split_once("\"fio version\"").is_some_and(|(_, rest)| is_our_version(rest))
                        || first.strip_prefix("3;").is_some_and(is_our_version)
                        || text.lines().any(is_our_version))
            }
            OutputKind::HistoryIndex => {
                const FILE: &str = "{\"file\":\"";
                first.starts_with("volproof history index ")
                    && lines.next().is_none_or(|line| line.starts_with(FILE) || FILE.starts_with(line))
            }
            OutputKind::JobFile | OutputKind::PlanFile => false,
        }
    }
}

/// Whether each row of a table has as many cells as its heading, and the last one, the start of the run, is the same in all of them. The last row may be
/// cut off by the end of what was read.
fn are_rows_of_one_run(table: &str) -> bool {
    let whole = table.rsplit_once('\n').map_or("", |(whole, _)| whole);
    let mut rows = whole.lines().map(cells);
    let columns = rows.next().map_or(0, |heading| heading.len());
    let mut started = None;
    rows.all(|row| {
        let start = row.last().copied();
        row.len() == columns && *started.get_or_insert(start) == start
    })
}

/// The cells of a row; a comma between quotes divides none.
fn cells(row: &str) -> Vec<&str> {
    let mut is_quoted = false;
    row.split(|c: char| {
        is_quoted ^= c == '"';
        c == ',' && !is_quoted
    })
    .collect()
}

/// Whether a text begins with the version that volproof gives itself in fio's forms.
fn is_our_version(text: &str) -> bool {
    let text = text.trim_start().trim_start_matches(['"', ':', ' ']);
    text.strip_prefix("fio-").is_some_and(|rest| {
        let word = rest.split(|c: char| c.is_whitespace() || "\";,".contains(c)).next();
        word.is_some_and(|word| word.contains("-volproof-"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn somebody_elses_text_is_no_output() {
        use OutputKind as K;
        let all = [
            K::Record,
            K::Csv,
            K::Sql,
            K::Html,
            K::Junit,
            K::OpenMetrics,
            K::Markdown,
            K::FioReport,
            K::ConvertedReport,
            K::JobFile,
            K::PlanFile,
        ];
        let foreign = [
            "notes of 3 March\n",
            "{\"a\": 1}",
            "name,age,town\n",
            "step,direction,who\n",
            "trial,rw,figure\n1,2,3\n",
            "trial,rw,figure,simulated,started\nmy notes on March\n",
            "trial,rw,simulated,started\n1,read,yes,2026\n2,read,yes,2027\n",
            "{\"schema\":\"volproof.record\"}",
            "{\"schema\":\"volproof.record\",\"steps\":[]}",
            "# made by volproof convert\nname = 'a'\n[[step]]\n",
            "; plan p\n[a]\nrw=read\n",
            "<!doctype html><title>mine</title>",
            "# HELP node_load1 1m load average.\n",
            "# My page\n\n| a | b |\n",
            "\u{7f}ELF\u{2}",
            "\u{0}\u{0}\u{0}",
            "3,500 EUR\n",
            "Ticket 4711.\nfio said: randread: (g=0): rw=randread\n",
            "{\"owner\":\"me\",\"fio version\":\"fio-3.33\"}",
            "{\"team\":\"storage\",\"runs\":[{\"schema\":\"volproof.record\"}]}",
            "# Decisions\n\nWe bought PL1.\n\n- volproof: PASS\n",
            "<!doctype html><title>How we use volproof</title>",
            "<?xml version=\"1.0\"?>\n<testsuites name=\"pytest\"></testsuites>\n",
            "# our plan\nname = 'a'\n[[step]]\n",
            "name = 'a'\n# the cap of March\n[[step]]\n",
            "name = 'a'\n\n[[step]]\nrw = 'randread'\n",
            "[global]\nrw=read\n",
            "fio-notes: what we learned\n",
            "fio version of March\n",
            "fio: what we learned in March\n",
            "fio: notes\nfio: more notes\n",
            "fio: pid=7 is Bob's\nand this is the diary\n",
            "fio-3.33 is on all hosts\n",
            "fio-3.33\nfio-3.28\n",
            "disks: (g=3): red ones\n",
            "{\"fio version\": \"3.33 everywhere\", \"hosts\": []}",
            &("host;".repeat(50) + "\n"),
            &("3;".repeat(50) + "\n"),
            &("2;".repeat(50) + "\n"),
            &("5;fio-3.33;".to_string() + &"what;".repeat(50) + "\n"),
        ];
        for kind in all {
            for text in foreign {
                assert!(!kind.begins(text), "{kind:?}: {text}");
            }
        }
        for (kind, text) in [
            (
                K::Record,
                "{\"schema\":\"volproof.record\",\"schema_version\":2,\"volproof_version\":\"0.1.0\",",
            ),
            (
                K::Record,
                "{\n  \"schema\": \"volproof.record\",\n  \"schema_version\": 2,\n  \"volproof_version\": \"0.1.0\",\n",
            ),
            (K::Csv, "trial,rw,figure,simulated,started\n"),
            (K::FioReport, "a: (g=0): rw=read, bs=(R) 4096B-4096B\n"),
            (K::FioReport, "\na: (groupid=0, jobs=1): err= 0: pid=7\n"),
            (K::FioReport, "a: (g=0): rw=read, bs=4K-4K/4K-4K/4K-4K, ioengine=sync, iodepth=1\nfio-2.2.8\n"),
            (K::FioReport, "<host> a: (g=12): rw=read, bs=(R) 4096B-4096B\n"),
            (
                K::FioReport,
                "note: both iodepth >= 1 and synchronous I/O engine are selected\na: (g=0): rw=read\n",
            ),
            (
                K::FioReport,
                "fio: io_u error on file a: Input/output error\n\n{\n  \"fio version\" : \"fio-3.33\",\n",
            ),
            (
                K::FioReport,
                "fio: verification read phase will never start because write phase uses all of runtime\na: (g=0): rw=write\n",
            ),
            (K::FioReport, &("3;fio-3.33;a: b;0;5;".to_string() + &"1.000000%=4;".repeat(60) + "\n")),
            (K::FioReport, &("2;a;0;0;".to_string() + &"0%=0;7.5;".repeat(40) + "\n")),
            (K::FioReport, "fio-3.33\n"),
            (K::FioReport, "{\n  \"fio version\" : \"fio-3.33\",\n"),
            (K::FioReport, "fio-3.33\nStarting 1 process\n"),
            (K::Junit, "<?xml version=\"1.0\"?>\n<testsuites name=\"volproof\" tests=\"1\">\n"),
            (K::Html, "<!doctype html>\n<head><title>a – volproof</title>"),
            (K::Markdown, "10 reads a second.\n\n- Plan: a\n- volproof: 0.1.0\n"),
        ] {
            assert!(kind.begins(text), "{kind:?}: {text}");
        }
    }

    #[test]
    fn an_output_that_was_cut_off_is_no_output() {
        use OutputKind as K;
        let whole = [
            (K::Csv, "trial,rw,simulated,started\n1,\"a,b\",yes,2026\n2,c,yes,2026\n"),
            (K::Markdown, "10 reads a second.\n\n- Plan: a\n- volproof: 0.1.0\n\n| a |\n|---|\n| 1 |\n"),
            (K::Markdown, "10 reads a second.\n\n- volproof: 0.1.0\n\n| a |\n\n````text\nx\n````\n"),
            (K::FioReport, "a: (g=0): rw=read\nRun status group 0 (all jobs):\n  READ: bw=1\n"),
            (K::FioReport, "{\n  \"fio version\" : \"fio-3.33\"\n}\n"),
        ];
        for (kind, text) in whole {
            let is_one = |text: &str| kind.begins(text) && kind.ends(text, text);
            assert!(is_one(text), "{kind:?}: {text}");
            // Without its last character but the end of the line, and within its last line.
            for cut in [text.len() - 2, text.len() - 3] {
                assert!(!is_one(&text[..cut]), "{kind:?}: {}", &text[..cut]);
            }
        }
    }
}
