//! Arguments of `size`.

use std::path::PathBuf;

use volproof_base::unit::{Bytes, Nanos};
use volproof_promise::catalogue::request::AskedVolume;
use volproof_promise::suggested::{Suggested, instances, providers};

use crate::promise_options::parse_tolerance;

/// The demand, what carries it now, and what is looked for.
#[derive(clap::Args, Debug)]
pub struct SizeArgs {
    /// Records, logs of `iostat -x`, metrics of a provider (JSON or CSV), reports of other tools
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    /// The disk or volume that is meant, where a file tells of several
    #[arg(long, value_name = "NAME")]
    pub disk: Option<String>,
    /// The interval of an iostat log without times [default: 1s]
    #[arg(long, value_name = "TIME")]
    pub interval: Option<Nanos>,
    /// The volume that carries the demand now, such as aws:gp3:400GiB,iops=16000,throughput=500 [default: that of the Record]
    #[arg(long, value_name = "TYPE:SIZE[,...]", help_heading = "What is looked for")]
    pub now: Option<AskedVolume>,
    /// The instance that it is attached to, or a FILE.json with the answer of the provider's own command about it
    #[arg(long, value_name = "NAME", value_parser = Suggested(instances), hide_possible_values = true,
          help_heading = "What is looked for")]
    pub instance: Option<String>,
    /// Look at the types of one provider [default: that of --now, else all]
    #[arg(long, value_name = "NAME", value_parser = Suggested(providers), hide_possible_values = true,
          help_heading = "What is looked for")]
    pub provider: Option<String>,
    /// The capacity that is needed [default: that of --now]
    #[arg(long, value_name = "SIZE", help_heading = "What is looked for")]
    pub size: Option<Bytes>,
    /// Percent of the I/Os that a limit may delay by more than 10 ms
    #[arg(long, value_name = "PCT", default_value = "0.1", value_parser = parse_tolerance,
          help_heading = "What is looked for")]
    pub late: f64,
    /// A file with what you pay (docs/size.md): the cheapest comes first
    #[arg(long, value_name = "FILE", help_heading = "What is looked for")]
    pub price: Option<PathBuf>,
    /// A file whose entries replace or add to the catalogue of volumes
    #[arg(long, value_name = "FILE", help_heading = "What is looked for")]
    pub catalog: Option<PathBuf>,
    /// Print JSON instead of text
    #[arg(long, help_heading = "Output")]
    pub json: bool,
    /// Print a table of commas instead of text
    #[arg(long, help_heading = "Output", conflicts_with = "json")]
    pub csv: bool,
}
