//! Arguments of `promise`: a volume, what is needed of one, and which part of the catalogue.

use std::path::PathBuf;

use volproof_base::unit::{Bytes, whole_iops};
use volproof_promise::catalogue::promised_level::Choice;
use volproof_promise::catalogue::request::{AskedVolume, BoughtThroughput, PromiseRequest, parse_iops};
use volproof_promise::suggested::{Suggested, applications, instances, providers, volume_types};

/// Arguments of `promise`.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct PromiseArgs {
    /// Volume type, such as alibaba:cloud_essd.PL1 or gp3; a FILE.json or FILE.json:NAME with the answer of the provider's own command about the
    /// volume; with --list and --need-*, a provider; or a device of this machine, such as /dev/vdb; without it, all disks of this machine
    #[arg(value_name = "TYPE", value_parser = Suggested(volume_types), hide_possible_values = true)]
    pub kind: Option<String>,
    /// What is known of the volume
    #[command(flatten)]
    pub volume: VolumeArgs,
    /// What is looked up in the catalogue
    #[command(flatten)]
    pub catalogue: CatalogueArgs,
    /// Print JSON instead of text
    #[arg(long, help_heading = "Output")]
    pub json: bool,
}

/// A volume as it was bought, and where it is used.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Volume")]
pub struct VolumeArgs {
    /// Capacity of the volume
    #[arg(long, alias = "volume-size", value_name = "SIZE")]
    pub size: Option<Bytes>,
    /// IOPS that were bought: a number such as 3000 or 20k, max or min
    #[arg(long, value_name = "N", value_parser = parse_iops)]
    pub iops: Option<Choice>,
    /// Throughput that was bought: in the type's own unit, or with one (500MiB), max or min
    #[arg(long, value_name = "N")]
    pub throughput: Option<BoughtThroughput>,
    /// Instance the volume is attached to, such as ecs.g7.8xlarge, or a FILE.json or FILE.json:NAME with the answer of the provider's own command about it
    #[arg(long, value_name = "SIZE", value_parser = Suggested(instances), hide_possible_values = true)]
    pub instance: Option<String>,
    /// A volume attached beside it and loaded at the same time; may be given several times
    #[arg(long, value_name = "TYPE:SIZE[,iops=N][,throughput=N]")]
    pub with: Vec<AskedVolume>,
    /// Block size of interest
    #[arg(long, value_name = "SIZE")]
    pub bs: Option<Bytes>,
    /// Date of the promise: 2018, 2018-07 or 2018-07-12
    #[arg(long, value_name = "DATE")]
    pub at: Option<String>,
    /// Do not ask the metadata service which instance this machine is
    #[arg(long)]
    pub offline: bool,
}

/// The catalogue, and what is looked up in it.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Catalogue")]
pub struct CatalogueArgs {
    /// List the volume types of all providers, or of one
    #[arg(long, conflicts_with_all = ["search", "need_iops", "need_throughput"])]
    pub list: bool,
    /// List the volume types in which every word of TEXT occurs
    #[arg(long, value_name = "TEXT", conflicts_with_all = ["kind", "need_iops", "need_throughput"])]
    pub search: Option<String>,
    /// List the smallest volume of each type that promises these IOPS; throughput that is bought apart carries them at --bs, else at 4 KiB; --size is the least capacity
    #[arg(long, value_name = "N", value_parser = parse_need_iops,
          conflicts_with_all = ["iops", "throughput", "with"])]
    pub need_iops: Option<u64>,
    /// List the smallest volume of each type that promises this throughput per second, such as 500MiB
    #[arg(long, value_name = "SIZE", value_parser = parse_need_throughput,
          conflicts_with_all = ["iops", "throughput", "with"])]
    pub need_throughput: Option<Bytes>,
    /// List the smallest volume of each type that promises the rates which these applications need together; --size is the least capacity
    #[arg(long, value_name = "APP[:GRADE][:KEY=N],...", value_parser = Suggested(applications),
          hide_possible_values = true, conflicts_with_all = ["iops", "throughput", "with", "need_iops", "need_throughput", "list", "search"])]
    pub need_fit: Option<String>,
    /// A provider, for --list and --need-*; the same as naming it in place of TYPE
    #[arg(long, value_name = "NAME", conflicts_with = "kind", value_parser = Suggested(providers),
          hide_possible_values = true)]
    pub provider: Option<String>,
    /// A file whose entries replace or add to the catalogue
    #[arg(long, value_name = "FILE")]
    pub catalog: Option<PathBuf>,
}

impl VolumeArgs {
    /// The request for the promise of a volume of that type.
    pub(super) fn request(&self, kind: &str) -> PromiseRequest {
        let word = AskedVolume::in_one_word(kind);
        let word = word.unwrap_or_else(|| AskedVolume { kind: kind.into(), ..AskedVolume::default() });
        PromiseRequest {
            volume: AskedVolume {
                size: self.size.or(word.size),
                iops: self.iops.or(word.iops),
                throughput: self.throughput.or(word.throughput),
                kind: word.kind,
            },
            with: self.with.clone(),
            instance: self.instance.clone(),
            block: self.bs,
            at: self.at.clone(),
        }
    }
}

fn parse_need_iops(text: &str) -> Result<u64, String> {
    whole_iops(text, "100000 or 100k")
}

fn parse_need_throughput(text: &str) -> Result<Bytes, String> {
    match text.parse::<BoughtThroughput>() {
        Ok(BoughtThroughput::Bytes(Bytes(0))) => {
            Err(format!("{text} is none: leave it out, or write 500MiB"))
        }
        Ok(BoughtThroughput::Bytes(bytes)) => Ok(bytes),
        Ok(_) => Err(format!("'{text}' has no unit: write {text}MiB or {text}MB")),
        Err(e) => Err(e.to_string()),
    }
}
