//! The kinds of outputs, and which existing files may be replaced by one: those that begin and end as an output of the same kind does, and empty ones. Any other file under the name is somebody's text, and the name a mistake.
//!
//! A file is known by its first bytes and its last ones, and by its [`SumLine`] where people write into outputs of its kind. What a file holds is not
//! checked here.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};

use super::fio_report;
use super::sum_line::SumLine;
use super::table_sum;

/// Bytes at the start of a file that tell what it is, and at its end.
const HEAD: u64 = 1 << 16;

/// So much of a report in fio's text or terse lines is read.
const LONGEST_REPORT: u64 = 1 << 27;

/// The first line of a plan file that `convert` writes.
pub const PLAN_MARK: &str = "# made by volproof convert";

/// The end of the title of a page of a simulation.
const SIMULATED_TITLE: &str = ", SIMULATED – volproof</title>";
/// The fact in Markdown.
const SIMULATED_FACT: &str = "- SIMULATED: a device in virtual time";
/// The begin of the description of a job, in fio's JSON, text and terse lines.
const SIMULATED_REPORT: [&str; 3] = ["\"desc\" : \"SIMULATED", "[SIMULATED", ";SIMULATED"];

/// What an output holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputKind {
    /// A Record.
    Record,
    /// A table of comma-separated values.
    Csv,
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
}

impl OutputKind {
    /// Its name in a sentence.
    pub fn noun(self) -> &'static str {
        match self {
            OutputKind::Record => "unchanged Record of volproof",
            OutputKind::Csv => "unchanged table of volproof",
            OutputKind::Html => "unchanged page of volproof",
            OutputKind::Junit => "unchanged JUnit file of volproof",
            OutputKind::OpenMetrics => "unchanged metrics of volproof",
            OutputKind::Markdown => "unchanged Markdown of volproof",
            OutputKind::FioReport => "report of fio",
            OutputKind::ConvertedReport => "unchanged report that volproof wrote in fio's form",
            OutputKind::JobFile => "unchanged job file of volproof convert",
            OutputKind::PlanFile => "unchanged plan file of volproof convert",
        }
    }

    /// Whether a file holds such an output, or nothing.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn is_in(self, file: &mut File) -> io::Result<bool> {
        let (mut head, mut tail) = (Vec::new(), Vec::new());
        (&mut *file).take(HEAD).read_to_end(&mut head)?;
        if head.is_empty() || !self.begins(&String::from_utf8_lossy(&head)) {
            return Ok(head.is_empty());
        }
        if let Some(line) = self.sum_line() {
            return line.closes(file);
        }
        if self == OutputKind::Csv {
            return table_sum::agrees(file);
        }
        if self == OutputKind::ConvertedReport && !is_of_one_run(file)? {
            return Ok(false);
        }
        file.seek(SeekFrom::Start(file.metadata()?.len().saturating_sub(HEAD)))?;
        file.take(HEAD).read_to_end(&mut tail)?;
        Ok(self.ends(&String::from_utf8_lossy(&head), &String::from_utf8_lossy(&tail)))
    }

    /// Whether an output of this kind says that no volume was measured, but a device that exists in virtual time alone. A JUnit file and metrics,
    /// which other programs take as the state of the last run, are not asked.
    ///
    /// # Errors
    /// The output cannot be read.
    pub fn is_simulated(self, output: impl Read) -> io::Result<bool> {
        let said = |line: &str| match self {
            OutputKind::Html => line.contains(SIMULATED_TITLE),
            OutputKind::Markdown => line.starts_with(SIMULATED_FACT),
            _ => SIMULATED_REPORT.iter().any(|words| line.contains(words)),
        };
        for line in BufReader::new(output.take(LONGEST_REPORT)).split(b'\n') {
            let line = line?;
            let line = String::from_utf8_lossy(&line);
            if self == OutputKind::Csv {
                // Above the start of the run and the sum.
                if line.rsplit(',').nth(2) == Some("no") {
                    return Ok(false);
                }
            } else if said(&line) {
                return Ok(true);
            }
        }
        Ok(self == OutputKind::Csv)
    }

    /// The last line by which a file of a kind into which people write is known to be as volproof wrote it.
    pub(super) fn sum_line(self) -> Option<SumLine> {
        match self {
            OutputKind::Markdown | OutputKind::Html | OutputKind::Junit => {
                Some(SumLine { before: "<!-- ", after: " -->", end: "" })
            }
            // OpenMetrics knows no comments: the line is the help of a family without samples.
            OutputKind::OpenMetrics => {
                Some(SumLine { before: "# HELP volproof_file ", after: "", end: "# EOF\n" })
            }
            OutputKind::JobFile => Some(SumLine { before: "; ", after: "", end: "" }),
            OutputKind::PlanFile => Some(SumLine { before: "# ", after: "", end: "" }),
            _ => None,
        }
    }

    /// Whether a file that begins as such an output ends as one: nobody wrote something below it.
    fn ends(self, head: &str, tail: &str) -> bool {
        let tail = tail.trim_end();
        let last = tail.lines().last().unwrap_or_default();
        match self {
            OutputKind::Record => tail.ends_with('}'),
            OutputKind::ConvertedReport => match head.trim_start().chars().next() {
                Some('{') => tail.ends_with('}'),
                Some('3') => last.starts_with("3;"),
                _ => last.starts_with(' '),
            },
            _ => true,
        }
    }

    /// Whether such an output begins like this. A part of one that stands further down, as in a diary, makes no output.
    fn begins(self, head: &str) -> bool {
        let text = head.trim_start();
        let mut lines = text.lines();
        let first = lines.next().unwrap_or_default();
        let any = |starts: &[&str]| starts.iter().any(|start| text.starts_with(start));
        // JSON, however it is indented.
        let key = |start: &str| text.split_whitespace().take(9).collect::<String>().starts_with(start);
        match self {
            OutputKind::Record => key(r#"{"schema":"volproof.record""#),
            OutputKind::Csv => any(&["step,direction,", "step,rw,", "rw,block_bytes,", "trial,rw,"]),
            OutputKind::Html => {
                let title = text.split_once("<title>").and_then(|(_, rest)| rest.split_once("</title>"));
                any(&["<!doctype html>"]) && title.is_some_and(|(title, _)| title.ends_with(" – volproof"))
            }
            OutputKind::Junit => {
                let suites = "<testsuites name=\"volproof\"";
                any(&[suites])
                    || any(&["<?xml"]) && lines.next().is_some_and(|second| second.starts_with(suites))
            }
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
                let version = |text: &str| {
                    let text = text.trim_start().trim_start_matches(['"', ':', ' ']);
                    text.strip_prefix("fio-").is_some_and(|rest| {
                        let word = rest.split(|c: char| c.is_whitespace() || "\";,".contains(c)).next();
                        word.is_some_and(|word| word.contains("-volproof-"))
                    })
                };
                OutputKind::FioReport.begins(head)
                    && (text.split_once("\"fio version\"").is_some_and(|(_, rest)| version(rest))
                        || first.strip_prefix("3;").is_some_and(version)
                        || text.lines().any(version))
            }
            OutputKind::JobFile => any(&["; plan "]),
            // Others were written by hand.
            OutputKind::PlanFile => first == PLAN_MARK,
        }
    }
}

/// Whether fio's text names its version once, and no terse line has the job of another. Neither form takes a [`SumLine`]: who reads it would take
/// that for a job. Lines of several runs of different plans look like those of one.
fn is_of_one_run(file: &mut File) -> io::Result<bool> {
    file.rewind()?;
    let (mut reports, mut jobs) = (0, HashSet::new());
    for line in BufReader::new(file).take(LONGEST_REPORT).split(b'\n') {
        let line = line?;
        let mut fields = line.split(|byte| *byte == b';');
        if line.starts_with(b"fio-") && !line.contains(&b' ') {
            reports += 1;
        } else if fields.next() == Some(b"3")
            && let Some(job) = fields.nth(1)
            && !jobs.insert(job.to_vec())
        {
            return Ok(false);
        }
    }
    Ok(reports <= 1)
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
            (K::Record, "{\"schema\":\"volproof.record\","),
            (K::Record, "{\n  \"schema\": \"volproof.record\",\n"),
            (K::FioReport, "fio: this platform does not support process shared mutexes\n"),
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
            (K::JobFile, "; plan p\n[a]\nrw=read\n"),
            (K::PlanFile, "# made by volproof convert\nname = 'a'\n[[step]]\n"),
        ] {
            assert!(kind.begins(text), "{kind:?}: {text}");
        }
    }

    /// A file of these bytes.
    fn file(text: &str) -> File {
        let mut file = tempfile::tempfile().unwrap();
        io::Write::write_all(&mut file, text.as_bytes()).unwrap();
        file.rewind().unwrap();
        file
    }

    #[test]
    fn what_somebody_wrote_below_an_output_is_no_part_of_it() {
        use OutputKind as K;
        let json = "{\n  \"fio version\" : \"fio-3.33-volproof-0.1.0\",\n  \"jobs\" : []\n}\n";
        let terse = "3;fio-3.33-volproof-0.1.0;a;0;0;".to_string() + &"0;".repeat(60) + "\n";
        let text = "a: (g=0): rw=read, bs=(R) 4096B-4096B\nfio-3.33-volproof-0.1.0\nStarting 1 process\n\n   READ: bw=1MiB/s\n";
        for (kind, output) in [
            (K::Record, "{\"schema\":\"volproof.record\",\"steps\":[]}\n"),
            (K::Csv, &table_sum::with_sum("step,direction,target\n\"a, or b\",read,f.dat\n")),
            (K::ConvertedReport, json),
            (K::ConvertedReport, &terse),
            (K::ConvertedReport, text),
        ] {
            assert!(kind.is_in(&mut file(output)).unwrap(), "{kind:?}: {output}");
            let with_notes = format!("{output}\nBob: keep PL1 (ticket 4711)\n");
            assert!(!kind.is_in(&mut file(&with_notes)).unwrap(), "{kind:?}: {with_notes}");
        }
        for (kind, begin) in [
            (K::Html, "<!doctype html>\n<head><title>a – volproof</title></head></html>\n"),
            (K::Junit, "<testsuites name=\"volproof\">\n</testsuites>\n"),
            (K::OpenMetrics, "# HELP volproof_a X.\nvolproof_a 1\n# EOF\n"),
            (K::Markdown, "10 reads a second.\n\n- Plan: a\n- volproof: 0.1.0\n"),
            (K::JobFile, "; plan p\n[a]\nrw=read\n"),
            (K::PlanFile, "# made by volproof convert\nname = 'a'"),
        ] {
            let mut sealed = Vec::new();
            kind.sum_line().unwrap().write(&mut sealed, &|out| out.write_all(begin.as_bytes())).unwrap();
            let sealed = String::from_utf8(sealed).unwrap();
            assert_eq!(sealed.matches("# EOF").count(), begin.matches("# EOF").count(), "{sealed}");
            assert!(!begin.contains("# EOF") || sealed.ends_with("\n# EOF\n"), "{sealed}");
            assert!(kind.is_in(&mut file(&sealed)).unwrap(), "{sealed}");
            let below = format!("{sealed}\nBob: keep PL1\n");
            for edited in [begin, &below, &sealed.replacen('a', "b", 1), &format!("{sealed}{sealed}")] {
                assert!(!kind.is_in(&mut file(edited)).unwrap(), "{kind:?}: {edited}");
            }
        }
    }

    #[test]
    fn reports_of_several_runs_are_a_collection() {
        let terse = |job: &str| format!("3;fio-3.33-volproof-0.1.0;{job};0;0;{}\n", "0;".repeat(60));
        let text = "a: (g=0): rw=read, bs=(R) 4096B-4096B\nfio-3.33-volproof-0.1.0\nStarting 1 process\n\n   READ: bw=1MiB/s\n";
        let is = |report: &str| OutputKind::ConvertedReport.is_in(&mut file(report)).unwrap();
        assert!(is(&(terse("a") + &terse("b"))) && is(text));
        assert!(!is(&(terse("a") + &terse("b") + &terse("a"))) && !is(&text.repeat(2)));
    }

    #[test]
    fn a_report_of_fio_itself_is_no_conversion() {
        let fio = [
            "{\n  \"fio version\" : \"fio-3.33\",\n  \"jobs\" : []\n}\n".to_string(),
            "3;fio-3.33;a-volproof-b;0;0;".to_string() + &"0;".repeat(60) + "\n",
            "a-volproof-b: (g=0): rw=read\nfio-3.33\nStarting 1 process\n   READ: bw=1MiB/s\n".to_string(),
        ];
        for report in fio {
            assert!(OutputKind::FioReport.is_in(&mut file(&report)).unwrap(), "{report}");
            assert!(!OutputKind::ConvertedReport.is_in(&mut file(&report)).unwrap(), "{report}");
        }
    }
}
