//! `volproof promise`: what a volume is promised, which volume promises what is needed, and what is known of this
//! machine's own.
//!
//! Arguments in, the text of the answer out. Every error is one of input (exit code 2). Nothing is measured or changed.
//! The only host that is asked is the provider's metadata service, only where the firmware names that provider, and the
//! answer says so.

mod promise_args;

use std::borrow::Cow;
use std::path::Path;

use anyhow::{Context, bail};

pub use promise_args::{CatalogueArgs, PromiseArgs, VolumeArgs};

use crate::saved_answers;
use volproof_base::unit::Bytes;
use volproof_device::device::cloud::{self, CloudMachine, CloudVolume};
use volproof_device::device::{self, Block, Root};
use volproof_promise::catalogue::Promise;
use volproof_promise::catalogue::catalogue_file::Catalogue;
use volproof_promise::catalogue::entry::Volume;
use volproof_promise::catalogue::promise_error::unit_forgotten;
use volproof_promise::catalogue::request::PromiseRequest;
use volproof_promise::catalogue::reverse::WantedRates;
use volproof_promise::fit::{AskedApplication, FitCatalogue, FitRequest};
use volproof_promise::provider_files::NamedFile;
use volproof_promise::suggested::instances;
use volproof_report::promise as report;

/// The answer to what was asked, to be printed as it is.
///
/// # Errors
/// Of input: a type, size, date or instance that the catalogue does not have, and options that do not go together.
pub fn answer(args: &PromiseArgs) -> anyhow::Result<String> {
    let root = Root::system();
    answer_on(args, &root, &|catalogue| cloud::machine(&root, catalogue, args.volume.offline))
}

/// The same on a given machine.
fn answer_on(
    args: &PromiseArgs,
    root: &Root,
    machine: &dyn Fn(&Catalogue) -> Option<CloudMachine>,
) -> anyhow::Result<String> {
    let asked = &args.catalogue;
    let catalogue = match &asked.catalog {
        Some(path) => Cow::Owned(Catalogue::with_file(path)?),
        None => Cow::Borrowed(Catalogue::shipped()),
    };
    if asked.list || asked.search.is_some() {
        return listed(args, &catalogue);
    }
    let (catalogue, instance) = saved_answers::with_instance(catalogue, args.volume.instance.as_deref())?;
    let volume = VolumeArgs { instance, ..args.volume.clone() };
    let args = &PromiseArgs { volume, ..args.clone() };
    if asked.need_iops.is_some() || asked.need_throughput.is_some() || asked.need_fit.is_some() {
        return fitting(args, &catalogue);
    }
    if asked.provider.is_some() {
        bail!("--provider narrows --list and --need-*: give one of these");
    }
    match args.kind.as_deref() {
        None => here(args, &catalogue, root, machine(&catalogue), None),
        Some(kind) if NamedFile::parse(kind).is_some() => told(args, &catalogue, kind, root, machine),
        Some(path) if path.starts_with('/') => {
            here(args, &catalogue, root, machine(&catalogue), Some(Path::new(path)))
        }
        Some(kind) => promised(args, &catalogue, args.volume.request(kind), root, machine, |_| Vec::new()),
    }
}

/// The promise of the volume that a provider's own command told of.
fn told(
    args: &PromiseArgs,
    catalogue: &Catalogue,
    kind: &str,
    root: &Root,
    machine: &dyn Fn(&Catalogue) -> Option<CloudMachine>,
) -> anyhow::Result<String> {
    let given = &args.volume;
    if given.size.is_some() || given.iops.is_some() || given.throughput.is_some() || !given.with.is_empty() {
        bail!("--size, --iops, --throughput and --with are what {kind} tells: leave them out");
    }
    let told = saved_answers::volumes(kind, catalogue, given.at.as_deref())?.unwrap_or_default();
    if !kind.contains(".json:") {
        saved_answers::refuse_others(kind, &told, &[])?;
    }
    let (volume, with) = saved_answers::asked(&told).context("the file tells of no volume")?;
    let request = PromiseRequest { volume, with, ..given.request(kind) };
    promised(args, catalogue, request, root, machine, |promise| saved_answers::notes(&told, promise))
}

/// The promise of a volume type, on this machine's instance where it is of the same provider.
fn promised(
    args: &PromiseArgs,
    catalogue: &Catalogue,
    mut request: PromiseRequest,
    root: &Root,
    machine: &dyn Fn(&Catalogue) -> Option<CloudMachine>,
    notes: impl Fn(&Promise) -> Vec<String>,
) -> anyhow::Result<String> {
    // Everything that is wrong with the input is said before anybody is asked.
    if catalogue.find(&request.volume.kind, None).is_err() && instances().contains(&request.volume.kind) {
        bail!(
            "{0} is an instance: name the volume too, as in `volproof promise gp3 --size 100GiB --instance {0}`",
            request.volume.kind
        );
    }
    let mut promise = Promise::requested(catalogue, &request)?;
    let volume = catalogue.find(&request.volume.kind, args.volume.at.as_deref())?.volume;
    let ours = cloud::provider(root, catalogue).is_some_and(|(p, _)| p.id == volume.provider);
    let mut said = None;
    if ours
        && !volume.local
        && args.volume.instance.is_none()
        && let Some(m) = machine(catalogue)
    {
        said = Some(match &m.instance {
            None => format!("this machine's instance: {}", m.instance_from),
            Some(name) => {
                request.instance = Some(name.clone());
                match Promise::requested(catalogue, &request) {
                    Ok(on_instance) => {
                        promise = on_instance;
                        format!("{name} is this machine ({}); --offline leaves it out", m.instance_from)
                    }
                    Err(e) => format!(
                        "{name} is this machine ({}), but its limits are not known: {e}",
                        m.instance_from
                    ),
                }
            }
        });
    }
    let notes = notes(&promise);
    promise.volumes[0].notes.splice(0..0, notes);
    if args.json {
        let mut value = report::json(&promise);
        value["detected"] = said.into();
        return json(&value);
    }
    Ok(report::text(&promise) + &said.map(|s| report::remark(&s)).unwrap_or_default())
}

/// The known facts about this machine's disks, or about one of them.
fn here(
    args: &PromiseArgs,
    catalogue: &Catalogue,
    root: &Root,
    machine: Option<CloudMachine>,
    path: Option<&Path>,
) -> anyhow::Result<String> {
    let disks: Vec<Block> = match path {
        Some(path) => {
            let facts = device::facts(root, path)?;
            let Some(disk) = facts.disk() else { bail!("{} lies on no block device", path.display()) };
            Block::read(root, &disk.name).into_iter().collect()
        }
        None => root.names("/sys/block").iter().filter_map(|name| Block::read(root, name)).collect(),
    };
    let Some(machine) = machine else {
        let size = match (path, disks.first()) {
            (Some(path), Some(disk)) => format!(" ({} has {})", path.display(), disk.size_bytes.exact()),
            _ => String::new(),
        };
        bail!(
            "which volume? The firmware of this machine names no provider of the catalogue: give a type such as \
             alibaba:cloud_essd.PL1 and --size{size}; 'promise --list' shows the types"
        );
    };
    let provider = catalogue.provider(&machine.provider).context("the provider is not in the catalogue")?;
    let found: Vec<(String, Bytes, CloudVolume)> = disks
        .iter()
        .filter_map(|d| Some((d.dev_path().display().to_string(), d.size_bytes, cloud::volume(provider, d)?)))
        .collect();
    if let Some(path) = path
        && found.is_empty()
    {
        bail!(
            "{} shows neither model nor serial of a volume of {}: give its type",
            path.display(),
            machine.name
        );
    }
    if args.json {
        return json(&report::machine_json(&machine, &found));
    }
    Ok(report::machine_text(&machine, &found))
}

fn listed(args: &PromiseArgs, catalogue: &Catalogue) -> anyhow::Result<String> {
    let provider = provider(args, catalogue)?;
    let volumes: Vec<&Volume> = match &args.catalogue.search {
        Some(text) => catalogue.search(text),
        None => catalogue.volumes.iter().filter(|v| provider.is_none_or(|p| v.provider == p)).collect(),
    };
    if volumes.is_empty() && !args.json {
        let text = args.catalogue.search.as_deref().unwrap_or_default();
        bail!("no volume type holds every word of '{text}': 'promise --list' shows them all");
    }
    if args.json {
        return json(&report::list_json(&volumes));
    }
    let newest =
        if args.catalogue.list { report::newest_sources_text(catalogue, provider) } else { String::new() };
    Ok(report::list_text(&volumes) + &newest)
}

/// The provider that a list is narrowed to.
fn provider<'a>(args: &PromiseArgs, catalogue: &'a Catalogue) -> anyhow::Result<Option<&'a str>> {
    let named = args.catalogue.provider.as_deref().or(args.kind.as_deref());
    Ok(named.map(|p| catalogue.provider_id(p.trim_end_matches(':'))).transpose()?)
}

fn fitting(args: &PromiseArgs, catalogue: &Catalogue) -> anyhow::Result<String> {
    let provider = provider(args, catalogue)?;
    let (volume, asked) = (&args.volume, &args.catalogue);
    if let Some(size) = volume.size.filter(|size| *size < Bytes::MIB) {
        bail!("--size is {}", unit_forgotten(size).unwrap_or_else(|| size.to_string()));
    }
    let mut need = WantedRates {
        iops: asked.need_iops.map(|n| n as f64),
        bytes: asked.need_throughput.map(|b| b.0 as f64),
        block: volume.bs,
        instance: volume.instance.clone(),
        at: volume.at.clone(),
        least_gib: volume.size.map(|size| size.0 as f64 / Bytes::gib(1).0 as f64),
        no_hard_disk: false,
    };
    let mut told = String::new();
    if let Some(applications) = &asked.need_fit {
        let needs = applications.parse::<FitRequest>()?.select(FitCatalogue::shipped())?.0;
        need.iops =
            Some(needs.applications.iter().filter_map(AskedApplication::iops).sum()).filter(|n| *n > 0.0);
        need.bytes = Some(needs.applications.iter().filter_map(AskedApplication::throughput).sum())
            .filter(|n| *n > 0.0);
        need.no_hard_disk = needs.applications.iter().any(|a| a.ssd.is_some());
        told = report::needs_text(&needs);
        if need.iops.is_none() && need.bytes.is_none() {
            bail!("no rate is known to look volumes up by:\n{}", told.trim_end());
        }
    }
    let fits = catalogue.smallest_volumes(&need, provider)?;
    if args.json {
        return json(&report::fits_json(&fits));
    }
    let gap = if told.is_empty() { "" } else { "\n" };
    Ok(report::fits_text(&fits, &need) + gap + &told)
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
        let nowhere = Root::tree("/nonexistent");
        answer_on(&command.args, &nowhere, &|_| None).map_err(|e| format!("{e:#}"))
    }

    /// The same on an Alibaba Cloud machine with one volume; the instance is what the metadata service would tell.
    fn run_on_alibaba(line: &str, instance: Option<&str>) -> Result<String, String> {
        let dir = tempfile::tempdir().unwrap();
        for (file, text) in [
            ("sys/class/dmi/id/sys_vendor", "Alibaba Cloud"),
            ("sys/devices/vdb/size", "1677721600"),
            ("sys/devices/vdb/dev", "253:16"),
            ("sys/devices/vdb/serial", "bp1abcdefghij"),
            ("sys/devices/vdb/queue/logical_block_size", "512"),
        ] {
            let path = dir.path().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        for class in ["sys/block", "sys/class/block"] {
            std::fs::create_dir_all(dir.path().join(class)).unwrap();
            let up = "../".repeat(class.split('/').count() - 1);
            std::os::unix::fs::symlink(format!("{up}devices/vdb"), dir.path().join(class).join("vdb"))
                .unwrap();
        }
        let words = std::iter::once("promise").chain(line.split_whitespace());
        let args = Command::try_parse_from(words).map_err(|e| e.to_string())?.args;
        let machine = |_: &Catalogue| {
            Some(CloudMachine {
                provider: "alibaba".into(),
                name: "Alibaba Cloud (Aliyun) ECS".into(),
                evidence: "sys_vendor is 'Alibaba Cloud'".into(),
                instance: instance.filter(|_| !args.volume.offline).map(str::to_string),
                instance_from: if args.volume.offline { "not asked: --offline" } else { "metadata service" }
                    .into(),
                data_disks: Vec::new(),
            })
        };
        answer_on(&args, &Root::tree(dir.path()), &machine).map_err(|e| format!("{e:#}"))
    }

    #[test]
    fn this_machine_says_what_it_knows_and_asks_for_the_rest() {
        insta::assert_snapshot!(run_on_alibaba("", Some("ecs.g7.8xlarge")).unwrap(), @r#"
        This machine: Alibaba Cloud (Aliyun) ECS
          recognised by     sys_vendor is 'Alibaba Cloud'
          instance          ecs.g7.8xlarge (metadata service)

        /dev/vdb  800 GiB, a volume
          recognised by     serial 'bp1abcdefghij'
          volume id         d-bp1abcdefghij
          not known here    Category, PerformanceLevel, ProvisionedIops,
                            BurstingEnabled, IOPSRead/IOPSWrite
                            (AdditionalAttributes.N=IOPS)
          ask with          aliyun ecs DescribeDisks --RegionId <region> --DiskIds
                            '["d-bp1abcdefghij"]' --AdditionalAttributes.1 IOPS
          then              volproof promise alibaba:TYPE --size 800GiB --instance
                            ecs.g7.8xlarge
          or                save the answer as disk.json: volproof promise disk.json
        "#);
        let json = run_on_alibaba("--json", Some("ecs.g7.8xlarge")).unwrap();
        let json: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!(json["disks"][0]["volume"]["id"], "d-bp1abcdefghij");
        assert!(run("/dev/null").unwrap_err().contains("/dev/null"));
    }

    #[test]
    fn the_instance_of_this_machine_caps_by_itself_and_that_is_said() {
        let line = "alibaba:cloud_essd.PL2 --size 1600GiB";
        let text = run_on_alibaba(line, Some("ecs.g6.8xlarge")).unwrap();
        assert!(text.contains("ecs.g6.8xlarge is this machine"), "{text}");
        let json = run_on_alibaba(&format!("{line} --json"), Some("ecs.g6.8xlarge")).unwrap();
        let json: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!(json["iops"], 60_000);
        assert!(json["detected"].as_str().unwrap().contains("ecs.g6.8xlarge"));
        let text = run_on_alibaba(&format!("{line} --offline"), Some("ecs.g6.8xlarge")).unwrap();
        assert!(!text.contains("the instance;") && text.contains("not asked: --offline"), "{text}");
        let text = run_on_alibaba(line, Some("ecs.new.large")).unwrap();
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains("its limits are not known") && text.lines().all(|l| l.len() <= 80), "{text}");
        let other = run_on_alibaba("aws:gp2 --size 100GiB", Some("ecs.g6.8xlarge")).unwrap();
        assert!(!other.contains("this machine"), "{other}");
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
        type              GiB       as of  trust  sold
        aws:io2@2023  4-16384  2023-05-31   high    no
        aws:io2       4-65536     2025-09   high   yes
        ");
        assert!(run("--list").unwrap().lines().all(|l| l.chars().count() <= 80));
        let aliyun = run("--list aliyun").unwrap();
        let (types, newest) = aliyun.split_once("\n\n").unwrap();
        assert!(types.lines().skip(1).all(|l| l.starts_with("alibaba:")), "{types}");
        assert!(newest.contains("alibaba") && !newest.contains("azure"), "{newest}");
        assert!(run("--list nowhere").unwrap_err().contains("the providers are alibaba, aws"));
        assert!(run("--search nothing-at-all").unwrap_err().contains("promise --list"));
        let all: serde_json::Value = serde_json::from_str(&run("--list --json").unwrap()).unwrap();
        assert_eq!(all.as_array().unwrap().len(), Catalogue::shipped().volumes.len());
    }

    #[test]
    fn the_smallest_that_will_do() {
        insta::assert_snapshot!(run("alibaba --need-iops 100000 --need-throughput 500MiB").unwrap(), @r"
        Smallest volume of each type that promises 100,000 IOPS and 500 MiB/s:

        type                                       GiB     IOPS  throughput
        alibaba:elastic_ephemeral_disk_premium     667  100,050    667 MB/s
        alibaba:cloud_auto                         964  100,000  1,131 MB/s
          buy --iops 50000
        alibaba:cloud_essd.PL2                   1,964  100,000    750 MB/s
        alibaba:cloud_essd.PL3                   1,964  100,000  1,102 MB/s
        alibaba:elastic_ephemeral_disk_standard  5,000  100,000  2,000 MB/s
        ");
        let large = run("aws --need-iops 1000 --size 500GiB").unwrap();
        assert!(large.contains("aws:gp2  500  1,500"), "{large}");
        let text = run("--need-iops 100000 --need-throughput 500MiB").unwrap();
        assert!(text.lines().all(|l| l.chars().count() <= 80), "{text}");
        assert!(run("--need-iops 900000000").unwrap().starts_with("No volume type"));
        let small = run("alibaba --need-iops 2k").unwrap();
        assert!(
            small.contains("cloud_auto") && !small.contains("--iops 0"),
            "what costs nothing is not to buy: {small}"
        );
        let json: serde_json::Value =
            serde_json::from_str(&run("aws --need-iops 16000 --json").unwrap()).unwrap();
        assert!(
            json.as_array().unwrap().iter().any(|f| f["type"] == "aws:gp3" && f["buy"]["iops"] == 16_000)
        );
    }

    #[test]
    fn a_users_catalogue_is_taken() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("ours.toml");
        let entry = "[[volume]]\nprovider = \"aws\"\ntype = \"gold\"\nname = \"Gold\"\nmedia = \"ssd\"\n\
                     status = \"current\"\ncapacity_gib = [1, 100]\niops = 77\nthroughput = 100\n\
                     throughput_unit = \"MiB/s\"\nunit_bytes = 1048576\nunit_certain = true\n\
                     source = \"our contract\"\nas_of = \"2026-11\"\nconfidence = \"high\"\n";
        std::fs::write(&file, entry).unwrap();
        let text = run(&format!("aws:gold --size 10GiB --catalog {}", file.display())).unwrap();
        assert!(text.contains("77") && text.contains("our contract"), "{text}");
        assert!(run("aws:gold --size 10GiB").unwrap_err().contains("no volume type 'aws:gold'"));
        assert!(
            run("aws:gp2 --size 10GiB --catalog /nonexistent/x.toml").unwrap_err().contains("cannot read")
        );
    }

    #[test]
    fn what_cannot_be_asked() {
        assert!(run("").unwrap_err().contains("which volume?"));
        assert!(run("gp3 --need-throughput 500").unwrap_err().contains("500MiB"));
        assert!(run("gp3 --iops many").unwrap_err().contains("max or min"));
        assert!(run("gp3 --size 10GiB --iops 0").unwrap_err().contains("0 IOPS are none"));
        assert!(run("--need-iops 0").unwrap_err().contains("0 IOPS are none"));
        assert!(run("--need-throughput 0MiB").unwrap_err().contains("0MiB is none"));
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
