//! Why evidence cannot be used, each reason with what to do. A message shows names of files and of the table, ids of volumes, and nothing else of a file.

use crate::known_metric::commands;

/// Why evidence cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum EvidenceError {
    /// The text ends in the middle.
    #[error("{origin} is cut off: save the whole output again")]
    Cut {
        /// The file.
        origin: String,
    },
    /// The text is no JSON.
    #[error(
        "{origin} is neither an output of nvme amzn stats nor JSON ({message}): save the output of the command as it is, with --output json"
    )]
    NoJson {
        /// The file.
        origin: String,
        /// Where it is wrong.
        message: serde_json::Error,
    },
    /// Counters are missing from a page.
    #[error(
        "{origin} is an output of nvme amzn stats without {lacks}: it is cut off, save the whole output again"
    )]
    CutPage {
        /// The file.
        origin: String,
        /// The first counter that is missing.
        lacks: &'static str,
    },
    /// No time is known for a page.
    #[error("{origin} tells no time: write it as (date -u +%FT%TZ; nvme amzn stats /dev/nvme1n1) > FILE")]
    NoTime {
        /// The file.
        origin: String,
    },
    /// The output of a command that tells something else.
    #[error(
        "{origin} is the output of {command}: give it to {option}. --evidence takes nvme amzn stats, {}",
        commands()
    )]
    OtherCommand {
        /// The file.
        origin: String,
        /// The command.
        command: &'static str,
        /// The option that takes it.
        option: &'static str,
    },
    /// No command prints this.
    #[error(
        "{origin} is not an output that --evidence takes: nvme amzn stats, {}. Save the whole output, without --query",
        commands()
    )]
    Unknown {
        /// The file.
        origin: String,
    },
    /// The metrics are of something else.
    #[error(
        "{origin} is an output of {command} without a metric of volumes that is known here: ask for {metrics}"
    )]
    NoMetric {
        /// The file.
        origin: String,
        /// The command.
        command: &'static str,
        /// Metrics that are known.
        metrics: String,
    },
    /// A key is missing.
    #[error("{origin} lacks {key}: save the whole output of {command}, without --query")]
    Missing {
        /// The file.
        origin: String,
        /// The key.
        key: &'static str,
        /// The command.
        command: &'static str,
    },
    /// There is no value.
    #[error(
        "{origin} is an output of {command} and holds no value: that is no 0. Ask for the time of the run, a few minutes after its end"
    )]
    Empty {
        /// The file.
        origin: String,
        /// The command.
        command: &'static str,
    },
    /// `DescribeMetricList` does not print the name of its metric.
    #[error(
        "{origin}: DescribeMetricList does not print which metric it is: give the file the metric's name, such as DiskReadIOPS.json"
    )]
    Nameless {
        /// The file.
        origin: String,
    },
    /// One page says nothing of the time of a run.
    #[error(
        "one output of nvme amzn stats counts since the volume was attached ({ios} I/Os): give two, one from before the run and one from after it"
    )]
    OnePage {
        /// I/Os that it counts.
        ios: u64,
    },
    /// Two pages are not of one volume.
    #[error(
        "two outputs of nvme amzn stats are not of one volume that stayed attached: {why}. Give outputs of the volume that was measured"
    )]
    OtherPages {
        /// What is wrong.
        why: String,
    },
    /// The Record has no steps with times.
    #[error(
        "evidence is held against the steps of a Record of `volproof run`, whose times are known: this one has none"
    )]
    NoSteps,
    /// The evidence is about another volume.
    #[error(
        "the evidence is of {found}, and the Record of {measured}: ask the provider for the volume that was measured"
    )]
    OtherVolume {
        /// Volumes of the files.
        found: String,
        /// Volumes of the Record.
        measured: String,
    },
    /// No value lies in the time of a step.
    #[error(
        "the evidence is of another time: it covers {from} to {to}, and the steps {first} to {last} (UTC){hint}"
    )]
    OtherTime {
        /// The beginning of the evidence.
        from: String,
        /// Its end.
        to: String,
        /// The beginning of the first step.
        first: String,
        /// The end of the last one.
        last: String,
        /// What to do.
        hint: &'static str,
    },
}
