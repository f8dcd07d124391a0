//! Evidence from files beside a simulated gp3 that gives half of its promise: each provider's output is taken as it is, nothing private of it is shown, and
//! the two outputs of AWS's page prove what the page proves that a run reads itself.

use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

use proptest::prelude::*;
use volproof::evidence::{
    AlignedEvidence, EvidenceError, EvidenceReading, EvidenceText, PageUse, hold_beside, read,
};
use volproof::nvme::provider_page::ProviderPage;
use volproof::record::{Cause, CauseFinding, Outcome, Record};
use volproof::report::{evidence_words, html};
use volproof::seal::seal;

/// Account numbers, subscriptions, projects and addresses that stand in the files.
const PRIVATE: [&str; 10] = [
    "123456789012",
    "11111111-2222",
    "secret-",
    "10.9.8.7",
    "arn:aws",
    "857255BA",
    "8410064A",
    "/subscriptions",
    "ocid1.",
    "CPUUtilization",
];

/// All forms, with the words that must be told of them.
const FORMS: [(&str, &[&str]); 7] = [
    ("aws-metric-data.json", &["reads a second", "volume's IOPS limit exceeded", "proof", "agrees"]),
    ("aws-metric-statistics.json", &["bytes read a second", "agrees"]),
    ("azure-metrics.json", &["of the volume's IOPS used", "99.0 %", "agrees"]),
    ("google-time-series.json", &["volume stalled or slow", "not met", "mean latency", "agrees"]),
    ("alibaba-events.json", &["volume's IOPS limit exceeded", "proof"]),
    ("alibaba-DiskReadIOPS.json", &["reads a second", "agrees"]),
    ("oracle-metrics.json", &["I/Os held back", "20.0", "IOPS that are guaranteed"]),
];

/// Its page says what the run read itself; the Record without it begins at half past ten.
fn lab() -> &'static (Record, ProviderPage, Record) {
    static LAB: OnceLock<(Record, ProviderPage, Record)> = OnceLock::new();
    LAB.get_or_init(|| {
        let dir = tempfile::tempdir().unwrap();
        let line = "run folder --promise aws:gp3 --volume-size 100GiB --rw randread --bs 4KiB --iodepth 16 --runtime 200s --ramp 1s --simulate \
                    latency=280us,jitter=20us,iops-cap=1500,page=ebs --offline --json r.json";
        std::fs::create_dir(dir.path().join("folder")).unwrap();
        let words = line.split_ascii_whitespace();
        let out = Command::new(env!("CARGO_BIN_EXE_volproof")).args(words).current_dir(dir.path()).output();
        let with_page = Record::load(&dir.path().join("r.json")).unwrap_or_else(|e| panic!("{e}: {out:?}"));
        let track = &with_page.steps[0].evidence.provider[0];
        let mut page = ProviderPage::default();
        page.reads.ios = track.reads.ios.iter().sum();
        page.reads.bytes.0 = track.reads.bytes.iter().sum();
        page.reads.time_ns.0 = track.reads.busy_ns.iter().sum();
        page.volume_exceeded.ios_ns.0 = track.volume_exceeded.ios_ns.iter().sum();
        let mut plain = with_page.clone();
        plain.steps[0].evidence.provider.clear();
        plain.steps[0].started = "2026-03-01T10:00:30Z".to_string().into();
        seal(&mut plain);
        (with_page, page, plain)
    })
}

fn fixture(name: &str) -> EvidenceText {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/evidence").join(name);
    text(name, &std::fs::read_to_string(path).unwrap())
}

fn text(name: &str, content: &str) -> EvidenceText {
    EvidenceText { origin: name.into(), bytes: content.as_bytes().to_vec(), written_ns: None }
}

/// As nvme-cli prints a page, with the time in front.
fn printed(at: &str, page: &ProviderPage, colon: &str) -> String {
    let (r, w) = (&page.reads, &page.writes);
    let two = |head: &str, names: [&str; 2], values: [u64; 2]| {
        format!("{head}{colon}\n  {}: {}\n  {}: {}\n", names[0], values[0], names[1], values[1])
    };
    let rw = ["Read", "Write"];
    let limits = ["IOPS", "Throughput"];
    let us = |times: &volproof::nvme::provider_page::ExceededTimes| {
        [times.ios_ns.0 / 1000, times.bytes_ns.0 / 1000]
    };
    format!("{at}\n")
        + &two("Total Ops", rw, [r.ios, w.ios])
        + &two("Total Bytes", rw, [r.bytes.0, w.bytes.0])
        + &two("Total Time (us)", rw, [r.time_ns.0 / 1000, w.time_ns.0 / 1000])
        + &two("EBS Volume Performance Exceeded (us)", limits, us(&page.volume_exceeded))
        + &two("EC2 Instance EBS Performance Exceeded (us)", limits, us(&page.instance_exceeded))
        + "Queue Length (point in time): 0\n\nRead IO Latency Histogram\nNumber of bins: 28\n"
}

fn json_of(at: &str, page: &ProviderPage) -> String {
    let keys = serde_json::json!({
        "total_read_ops": page.reads.ios, "total_write_ops": page.writes.ios,
        "total_read_bytes": page.reads.bytes.0, "total_write_bytes": page.writes.bytes.0,
        "total_read_time": page.reads.time_ns.0 / 1000, "total_write_time": 0,
        "ebs_volume_performance_exceeded_iops": page.volume_exceeded.ios_ns.0 / 1000,
        "ebs_volume_performance_exceeded_tp": 0,
        "ec2_instance_ebs_performance_exceeded_iops": 0, "ec2_instance_ebs_performance_exceeded_tp": 0,
        "volume_queue_length": 0, "a_later_key": [1],
    });
    format!("{at}\n{keys}\n")
}

const BEFORE: &str = "2026-03-01T10:00:20Z";
const AFTER: &str = "2026-03-01T10:04:10Z";

fn pages() -> [EvidenceText; 2] {
    let (_, page, _) = lab();
    [text("before", &printed(BEFORE, &ProviderPage::default(), "")), text("after", &json_of(AFTER, page))]
}

fn beside(files: &[EvidenceText], record: &mut Record) -> Result<AlignedEvidence, EvidenceError> {
    let evidence = read(files)?;
    hold_beside(&evidence, record)
}

/// Holds files beside the plain Record; no text of it or of the answer has anything private.
fn told(files: &[EvidenceText]) -> Result<(AlignedEvidence, String, Record), String> {
    let mut record = lab().2.clone();
    let found = beside(files, &mut record).map(|aligned| {
        let words = evidence_words::text(&aligned);
        (aligned, words, record)
    });
    let shown = match &found {
        Ok((aligned, words, record)) => {
            let json =
                serde_json::to_string(aligned).unwrap() + &serde_json::to_string(&record.verdict).unwrap();
            let mut page = Vec::new();
            html::write_with_evidence(record, words, &mut page).unwrap();
            let page = String::from_utf8(page).unwrap();
            assert!(page.contains("What the provider counted"));
            words.clone() + &json + &volproof::report::summary_text::shown(record, true) + &page
        }
        Err(error) => error.to_string(),
    };
    for private in PRIVATE {
        assert!(!shown.contains(private), "{private}: {shown}");
    }
    found.map_err(|error| error.to_string())
}

fn outcome(record: &Record) -> Option<Outcome> {
    record.verdict.as_ref().unwrap().outcome
}

#[test]
fn each_providers_output_is_taken_as_it_is() {
    for (name, words) in FORMS {
        let (aligned, text, record) = told(&[fixture(name)]).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert!(words.iter().all(|word| text.contains(word)), "{name}: {text}");
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{name}: {text}");
        assert!(!aligned.steps[0].rows.is_empty());
        assert_eq!(record, lab().2, "{name}: means and checks of minutes change no outcome");
    }
}

#[test]
fn two_outputs_prove_what_the_page_proves_that_a_run_reads() {
    let (with_page, _, plain) = lab();
    assert_ne!(outcome(plain), Some(Outcome::Fail));
    let (aligned, text, record) = told(&pages()).unwrap();
    assert!(matches!(&aligned.pages[..], [PageUse::OfStep { .. }]), "{text}");
    assert_eq!(outcome(&record), outcome(with_page));
    let limit = |record: &Record| record.verdict.as_ref().unwrap().claims[0].proven_limit.unwrap();
    assert!((limit(&record).per_second / limit(with_page).per_second - 1.0).abs() < 0.02);
    let rows = &record.causes.as_ref().unwrap().rows;
    let volume = rows.iter().find(|row| row.cause == Cause::VolumeLimit).unwrap();
    assert_eq!(volume.finding, CauseFinding::Proven);
}

#[test]
fn outputs_of_another_load_or_of_a_part_prove_nothing() {
    let (_, page, plain) = lab();
    let mut more = page.clone();
    more.reads.ios *= 2;
    let foreign = [pages()[0].clone(), text("after", &json_of(AFTER, &more))];
    let (_, words, record) = told(&foreign).unwrap();
    assert!(words.contains("nothing is proven") && outcome(&record) == outcome(plain), "{words}");
    let part = [pages()[0].clone(), text("after", &json_of("2026-03-01T10:02:00Z", page))];
    let (aligned, words, record) = told(&part).unwrap();
    assert!(aligned.pages == [PageUse::OfPart] && record == *plain, "{words}");
}

#[test]
fn what_is_wrong_is_named_with_what_to_do() {
    let (_, page, _) = lab();
    let whole = printed(BEFORE, page, ":");
    let fallen =
        [text("a", &printed(BEFORE, page, ":")), text("b", &json_of(AFTER, &ProviderPage::default()))];
    let cut_page = text("before.txt", &whole[..whole.find("EC2").unwrap()]);
    let data = String::from_utf8(fixture("aws-metric-data.json").bytes).unwrap();
    let change = |from: &str, to: &str| text("x.json", &data.replace(from, to));
    let volumes = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/provider/aws-volumes.json");
    let volumes = std::fs::read_to_string(volumes).unwrap();
    let cases: [(&[EvidenceText], &str); 11] = [
        (&[text("x.json", &data[..data.len() / 2])], "x.json is cut off"),
        (&[text("x.json", "no json")], "neither an output of nvme amzn stats nor JSON"),
        (&[text("x.json", &volumes)], "the output of aws ec2 describe-volumes: give it to --promise"),
        (&[text("x.json", "{}")], "not an output that --evidence takes"),
        (&[text("x.json", "{\"MetricDataResults\":[]}")], "holds no value: that is no 0"),
        (&[change("Timestamps", "Times")], "lacks Timestamps"),
        (&[change("Volume", "Network")], "ask for VolumeReadOps"),
        (&[change("2026-03-01", "2026-03-02")], "of another time"),
        (&[cut_page], "before.txt is an output of nvme amzn stats without Queue Length"),
        (&[text("x", &whole)], "give two, one from before the run"),
        (&fallen, "the counter of reads fell"),
    ];
    for (files, wanted) in cases {
        let refused = told(files).map(|(_, words, _)| words).unwrap_err();
        assert!(refused.contains(wanted), "{wanted}: {refused}");
    }
    let nameless = EvidenceText { origin: "x.json".into(), ..fixture("alibaba-DiskReadIOPS.json") };
    assert!(told(&[nameless]).map(|_| ()).unwrap_err().contains("DiskReadIOPS.json"));
    let timeless = text("x", whole.split_once('\n').unwrap().1);
    assert!(told(&[timeless]).map(|_| ()).unwrap_err().contains("date -u"));
}

#[test]
fn the_order_of_files_does_not_matter() {
    let names: Vec<&str> =
        FORMS.iter().map(|form| form.0).filter(|name| !name.starts_with("alibaba")).collect();
    let mut files: Vec<EvidenceText> = names.into_iter().map(fixture).chain(pages()).collect();
    let (aligned, words, record) = told(&files).unwrap();
    for _ in 0..files.len() {
        files.rotate_left(1);
        assert_eq!(told(&files).unwrap(), (aligned.clone(), words.clone(), record.clone()));
    }
    assert!(aligned.steps[0].rows.iter().any(|row| row.reading == EvidenceReading::Proof));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn cut_and_changed_files_are_read_or_refused(form in 0..FORMS.len(), at in 0.0..1.0f64, byte in any::<u8>(), cut in any::<bool>()) {
        let mut file = fixture(FORMS[form].0);
        let place = (at * (file.bytes.len() - 1) as f64) as usize;
        if cut { file.bytes.truncate(place) } else { file.bytes[place] = byte }
        // Whatever stands in a file, an error has nothing private of it.
        let refused = read(&[file]).map(|_| ()).err().map(|e| e.to_string()).unwrap_or_default();
        prop_assert!(PRIVATE.iter().all(|private| !refused.contains(private)), "{}", refused);
    }
}
