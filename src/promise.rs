//! `volproof promise`: what a volume is promised, which volume promises what is needed, and what is known of this
//! machine's own.
//!
//! Arguments in, the text of the answer out. Every error is one of input (exit code 2). Nothing is measured or changed;
//! the one network request goes to the provider's metadata service, and only where the firmware names that provider.

use std::borrow::Cow;
use std::path::PathBuf;

use anyhow::{Context, bail};

use crate::report::promise as report;
use crate::spec::catalogue::{Catalogue, Volume};
use crate::spec::level::Choice;
use crate::spec::promise::Promise;
use crate::spec::request::{Amount, Asked, Request, parse_iops};
use crate::spec::reverse::Need;
use crate::unit::Bytes;

/// Arguments of `promise`.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct PromiseArgs {
    /// Volume type, such as alibaba:cloud_essd.PL1 or gp3; with --list and --need-*, a provider
    #[arg(value_name = "TYPE")]
    pub kind: Option<String>,
    /// Capacity of the volume
    #[arg(long, value_name = "SIZE", help_heading = "Volume")]
    pub size: Option<Bytes>,
    /// IOPS that were bought: a number, max or min
    #[arg(long, value_name = "N", value_parser = parse_iops, help_heading = "Volume")]
    pub iops: Option<Choice>,
    /// Throughput that was bought: in the type's own unit, or with one (500MiB), max or min
    #[arg(long, value_name = "N", help_heading = "Volume")]
    pub throughput: Option<Amount>,
    /// Instance the volume is attached to, such as ecs.g7.8xlarge
    #[arg(long, value_name = "SIZE", help_heading = "Volume")]
    pub instance: Option<String>,
    /// A volume attached beside it and loaded at the same time; may be given several times
    #[arg(long, value_name = "TYPE:SIZE[,iops=N][,throughput=N]", help_heading = "Volume")]
    pub with: Vec<Asked>,
    /// Block size of interest
    #[arg(long, value_name = "SIZE", help_heading = "Volume")]
    pub bs: Option<Bytes>,
    /// Date of the promise: 2018, 2018-07 or 2018-07-12
    #[arg(long, value_name = "DATE", help_heading = "Volume")]
    pub at: Option<String>,
    /// Lists the volume types of all providers, or of one
    #[arg(long, conflicts_with_all = ["search", "need_iops", "need_throughput"], help_heading = "Catalogue")]
    pub list: bool,
    /// Lists the volume types in which every word of TEXT occurs
    #[arg(long, value_name = "TEXT", conflicts_with_all = ["kind", "need_iops", "need_throughput"],
          help_heading = "Catalogue")]
    pub search: Option<String>,
    /// Lists the smallest volume of each type that promises these IOPS
    #[arg(long, value_name = "N", help_heading = "Catalogue", value_parser = parse_need_iops,
          conflicts_with_all = ["size", "iops", "throughput", "with"])]
    pub need_iops: Option<u64>,
    /// Lists the smallest volume of each type that promises this throughput per second, such as 500MiB
    #[arg(long, value_name = "SIZE", help_heading = "Catalogue", value_parser = parse_need_throughput,
          conflicts_with_all = ["size", "iops", "throughput", "with"])]
    pub need_throughput: Option<Bytes>,
    /// A file whose entries replace or add to the catalogue
    #[arg(long, value_name = "FILE", help_heading = "Catalogue")]
    pub catalog: Option<PathBuf>,
    /// Writes JSON
    #[arg(long, help_heading = "Output")]
    pub json: bool,
}

fn parse_need_iops(text: &str) -> Result<u64, String> {
    let digits = text.replace([',', '_'], "");
    digits.parse().map_err(|_| format!("'{text}' is not a number of IOPS: write it as 100000"))
}

fn parse_need_throughput(text: &str) -> Result<Bytes, String> {
    match text.parse::<Amount>() {
        Ok(Amount::Bytes(bytes)) => Ok(bytes),
        Ok(_) => Err(format!("'{text}' has no unit: write {text}MiB or {text}MB")),
        Err(e) => Err(e.to_string()),
    }
}

/// The answer to what was asked, to be printed as it is.
pub fn answer(args: &PromiseArgs) -> anyhow::Result<String> {
    let catalogue = match &args.catalog {
        Some(path) => Cow::Owned(Catalogue::with_file(path)?),
        None => Cow::Borrowed(Catalogue::shipped()),
    };
    if args.list || args.search.is_some() {
        return listed(args, &catalogue);
    }
    if args.need_iops.is_some() || args.need_throughput.is_some() {
        return fitting(args, &catalogue);
    }
    let Some(kind) = &args.kind else {
        bail!("which volume? Give a type such as alibaba:cloud_essd.PL1; --list and --search show them");
    };
    let promise = Promise::of(&catalogue, &request(args, kind))?;
    if args.json { json(&report::json(&promise)) } else { Ok(report::text(&promise)) }
}

fn request(args: &PromiseArgs, kind: &str) -> Request {
    let volume = Asked { kind: kind.into(), size: args.size, iops: args.iops, throughput: args.throughput };
    Request {
        volume,
        with: args.with.clone(),
        instance: args.instance.clone(),
        block: args.bs,
        at: args.at.clone(),
    }
}

fn listed(args: &PromiseArgs, catalogue: &Catalogue) -> anyhow::Result<String> {
    let provider =
        args.kind.as_deref().map(|p| catalogue.provider_id(p.trim_end_matches(':'))).transpose()?;
    let volumes: Vec<&Volume> = match &args.search {
        Some(text) => catalogue.search(text),
        None => catalogue.volumes.iter().filter(|v| provider.is_none_or(|p| v.provider == p)).collect(),
    };
    if volumes.is_empty() && !args.json {
        let text = args.search.as_deref().unwrap_or_default();
        bail!("no volume type holds every word of '{text}': 'promise --list' shows them all");
    }
    if args.json { json(&report::list_json(&volumes)) } else { Ok(report::list_text(&volumes)) }
}

fn fitting(args: &PromiseArgs, catalogue: &Catalogue) -> anyhow::Result<String> {
    let provider =
        args.kind.as_deref().map(|p| catalogue.provider_id(p.trim_end_matches(':'))).transpose()?;
    let need = Need {
        iops: args.need_iops.map(|n| n as f64),
        bytes: args.need_throughput.map(|b| b.0 as f64),
        block: args.bs,
        instance: args.instance.clone(),
        at: args.at.clone(),
    };
    let fits = catalogue.fits(&need, provider)?;
    if args.json { json(&report::fits_json(&fits)) } else { Ok(report::fits_text(&fits, &need)) }
}

fn json(value: &serde_json::Value) -> anyhow::Result<String> {
    let text = serde_json::to_string_pretty(value).context("cannot write the answer as JSON")?;
    Ok(text + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Command {
        #[command(flatten)]
        args: PromiseArgs,
    }

    fn run(line: &str) -> Result<String, String> {
        let words = std::iter::once("promise").chain(line.split_whitespace());
        let command = Command::try_parse_from(words).map_err(|e| e.to_string())?;
        answer(&command.args).map_err(|e| format!("{e:#}"))
    }

    #[test]
    fn the_line_of_the_issue() {
        let line = "alibaba:cloud_essd.PL1 --size 800GiB --instance ecs.g7.8xlarge --bs 16KiB";
        let text = run(line).unwrap();
        assert!(text.contains("min(1800 + 50 x 800, 50000) = 41,800"), "{text}");
        let json: serde_json::Value = serde_json::from_str(&run(&format!("{line} --json")).unwrap()).unwrap();
        assert_eq!(json["iops"], 22_400);
        assert_eq!(json["binding"], "volume");
        let july = run("alibaba:cloud_ssd --size 800GiB --at 2018-07").unwrap();
        assert!(july.contains("min(1200 + 30 x 800, 20000) = 20,000"), "{july}");
    }

    #[test]
    fn lists() {
        insta::assert_snapshot!(run("--search io2").unwrap(), @"
        type                                               GiB  as of      trust  sold
        aws:io2@2023                                   4-16384  2023-05-31 high   no
        aws:io2                                        4-65536  2025-09    high   yes
        ");
        assert!(run("--list").unwrap().lines().all(|l| l.chars().count() <= 80));
        assert!(run("--list aliyun").unwrap().lines().skip(1).all(|l| l.starts_with("alibaba:")));
        assert!(run("--list nowhere").unwrap_err().contains("there are alibaba, aws"));
        assert!(run("--search nothing-at-all").unwrap_err().contains("promise --list"));
        let all: serde_json::Value = serde_json::from_str(&run("--list --json").unwrap()).unwrap();
        assert_eq!(all.as_array().unwrap().len(), Catalogue::shipped().volumes.len());
    }

    #[test]
    fn the_smallest_that_will_do() {
        insta::assert_snapshot!(run("alibaba --need-iops 100000 --need-throughput 500MiB").unwrap(), @r"
        Smallest volume of each type that promises 100,000 IOPS and 500 MiB/s:

              GiB       IOPS   throughput  type, and what to buy
              667    100,050     667 MB/s  alibaba:elastic_ephemeral_disk_premium
              964    100,000   1,131 MB/s  alibaba:cloud_auto --iops 50000
            1,964    100,000     750 MB/s  alibaba:cloud_essd.PL2
            1,964    100,000   1,102 MB/s  alibaba:cloud_essd.PL3
            5,000    100,000   2,000 MB/s  alibaba:elastic_ephemeral_disk_standard
        ");
        let text = run("--need-iops 100000 --need-throughput 500MiB").unwrap();
        assert!(text.lines().all(|l| l.chars().count() <= 80), "{text}");
        assert!(run("--need-iops 900000000").unwrap().starts_with("No volume type"));
        let json: serde_json::Value =
            serde_json::from_str(&run("aws --need-iops 16000 --json").unwrap()).unwrap();
        assert!(
            json.as_array().unwrap().iter().any(|f| f["type"] == "aws:gp3" && f["buy"]["iops"] == 16_000)
        );
    }

    #[test]
    fn what_cannot_be_asked() {
        assert!(run("").unwrap_err().contains("which volume?"));
        assert!(run("gp3 --need-throughput 500").unwrap_err().contains("500MiB"));
        assert!(run("gp3 --iops many").unwrap_err().contains("max or min"));
        assert!(run("gp3 --size 10GiB --bs 0").unwrap_err().contains("block size"));
        assert!(run("gp3 --list --need-iops 1").unwrap_err().contains("cannot be used with"));
        assert!(run("gp3 --size 10GiB --with io2").unwrap_err().contains("TYPE:SIZE"));
        assert!(
            run("aws:gp3 --size 10GiB --with alibaba:cloud_ssd:20GiB")
                .unwrap_err()
                .contains("different providers")
        );
    }
}
