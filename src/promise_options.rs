//! The options that name a promise, and the promise that they make: of one volume, or of all targets together.
//!
//! Every error here is one of input, found before anything is measured. Nothing is measured; a stored Record gets the promise that
//! the options name.

use std::borrow::Cow;
use std::path::PathBuf;

use anyhow::{Context, bail};

use volproof_base::shell_word::shell;
use volproof_base::stats::limit_answer::TOLERANCE;
use volproof_base::unit::{Bytes, grouped, significant};
use volproof_course::seal::seal;
use volproof_device::device::{Facts, Root, cloud};
use volproof_fleet as fleet;
use volproof_judge as judge;
use volproof_promise::catalogue::Promise;
use volproof_promise::catalogue::catalogue_file::Catalogue;
use volproof_promise::catalogue::promised_level::{Bought, Choice, Level, PromiseDirection};
use volproof_promise::catalogue::request::{AskedVolume, BoughtThroughput, PromiseRequest, parse_iops};
use volproof_promise::catalogue::reverse::WantedRates;
use volproof_promise::fit::{FitCatalogue, FitRequest};
use volproof_promise::provider_files::ToldVolume;
use volproof_promise::suggested::{Suggested, applications, instances, volume_types};
use volproof_record::{JudgedPromise, Record, Report, ReportedStep, TargetRecord};

use crate::saved_answers;

/// The option that names the needs of applications.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct NeedsOption {
    /// The applications whose needs of flushes the result is held against; of a Record of `fit` all its needs
    #[arg(long, value_name = "APP[:GRADE][:KEY=N],...", help_heading = "Verdict", value_parser = Suggested(applications),
          hide_possible_values = true)]
    pub fit: Option<String>,
}

/// The options that name a promise.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct PromiseOptions {
    /// Volume type that the targets are, such as alibaba:cloud_essd.PL1, or a FILE.json[:NAME,...] with the answer of the provider's own
    /// command about them: the result is held against their promise, which stands beside that of `sweep` and `slo`
    #[arg(long = "promise", value_name = "TYPE", help_heading = "Verdict",
          value_parser = Suggested(volume_types), hide_possible_values = true)]
    pub kind: Option<String>,
    /// Capacity of each volume [default: that of the device]
    #[arg(long, value_name = "SIZE", requires = "kind", help_heading = "Verdict")]
    pub volume_size: Option<Bytes>,
    /// IOPS that were bought: a number such as 3000 or 20k, max or min
    #[arg(long, value_name = "N", value_parser = parse_iops, requires = "kind", help_heading = "Verdict")]
    pub iops: Option<Choice>,
    /// Throughput that was bought: in the type's own unit, or with one (500MiB), max or min
    #[arg(long, value_name = "N", requires = "kind", help_heading = "Verdict")]
    pub throughput: Option<BoughtThroughput>,
    /// Instance the volumes are attached to, or a FILE.json or FILE.json:NAME with the answer of the provider's own command about it [default: this
    /// machine, where its provider is the volume's]
    #[arg(long, value_name = "SIZE", requires = "kind", help_heading = "Verdict",
          value_parser = Suggested(instances), hide_possible_values = true)]
    pub instance: Option<String>,
    /// Another volume that is loaded at the same time, where the targets differ; may be given several times
    #[arg(
        long,
        value_name = "TYPE:SIZE[,iops=N][,throughput=N]",
        requires = "kind",
        help_heading = "Verdict"
    )]
    pub with: Vec<AskedVolume>,
    /// Date of the promise: 2018, 2018-07 or 2018-07-12
    #[arg(long, value_name = "DATE", requires = "kind", help_heading = "Verdict")]
    pub at: Option<String>,
    /// A file whose entries replace or add to the catalogue of volumes
    #[arg(long, value_name = "FILE", help_heading = "Verdict")]
    pub catalog: Option<PathBuf>,
    /// Do not ask the metadata service which instance this machine is
    #[arg(long, requires = "kind", help_heading = "Verdict")]
    pub offline: bool,
    /// Judge the burst of the type, instead of the baseline that it falls back to
    #[arg(long, requires = "kind", help_heading = "Verdict")]
    pub promise_burst: bool,
    /// Of the version before, without effect: a simulated device is judged as a volume, and the answer says SIMULATED
    #[arg(long, hide = true)]
    pub judge_simulated: bool,
    /// Percent by which a promise may be missed [default: 2]
    #[arg(long, value_name = "PCT", value_parser = parse_tolerance, help_heading = "Verdict")]
    pub tolerance: Option<f64>,
    /// Percent of the seconds that must deliver 90 % of the promise [default: what the provider promises]
    #[arg(long, value_name = "PCT", value_parser = parse_share, help_heading = "Verdict")]
    pub min_share: Option<f64>,
}

impl PromiseOptions {
    /// The catalogue of volumes, with the entries of the user's file.
    ///
    /// # Errors
    /// The file cannot be read, or is no catalogue.
    pub fn catalogue(&self) -> anyhow::Result<Cow<'static, Catalogue>> {
        Ok(match &self.catalog {
            Some(path) => Cow::Owned(Catalogue::with_file(path)?),
            None => Cow::Borrowed(Catalogue::shipped()),
        })
    }
}

/// A percentage from 0 to below 100, as a share.
pub(crate) fn parse_tolerance(text: &str) -> Result<f64, String> {
    let share = share(text).filter(|share| *share >= 0.0 && *share < 1.0);
    share.ok_or_else(|| format!("'{text}' is not a percentage from 0 to below 100, such as 2"))
}

fn parse_share(text: &str) -> Result<f64, String> {
    let share = share(text).filter(|share| *share > 0.0 && *share < 1.0);
    share.ok_or_else(|| format!("'{text}' is not a percentage between 0 and 100, such as 99 or 99.9"))
}

/// A percentage as a share.
fn share(text: &str) -> Option<f64> {
    Some(text.trim().trim_end_matches('%').trim().parse::<f64>().ok()? / 100.0)
}

/// The volumes beneath targets, by their sizes: two folders, files or partitions on the same disks are one volume. Each simulated target is a
/// volume of its own, wherever it seems to lie.
pub fn volumes<'a>(
    targets: impl Iterator<Item = (&'a Facts, Option<Bytes>)>,
    simulated: bool,
) -> Vec<Option<Bytes>> {
    let mut known: Vec<Vec<&str>> = Vec::new();
    let mut sizes = Vec::new();
    for (facts, size) in targets {
        let mut disks: Vec<&str> = facts.disks().into_iter().map(|disk| disk.name.as_str()).collect();
        disks.sort_unstable();
        if simulated || disks.is_empty() || !known.contains(&disks) {
            known.push(disks);
            sizes.push(size);
        }
    }
    sizes
}

/// The promise to volumes of these sizes; `None` where nobody said what they are. Without a target (the
/// null engine) there is one volume of unknown size. `here` is the machine that runs the load, whose instance caps the volumes;
/// absent for a stored Record, which may come from anywhere.
///
/// # Errors
/// Of input: an unknown type, a size that the type does not come in, targets that do not match.
pub fn judged_promise(
    args: &PromiseOptions,
    here: Option<&Root>,
    disks: &[Option<Bytes>],
) -> anyhow::Result<Option<JudgedPromise>> {
    let Some(kind) = &args.kind else {
        if args.catalog.is_some() {
            bail!("--catalog has no effect without --promise TYPE: name the type, or leave it out");
        }
        return Ok(None);
    };
    let args = &with_size_of_type(args)?;
    let kind = args.kind.as_ref().unwrap_or(kind);
    let (catalogue, instance) = saved_answers::with_instance(args.catalogue()?, args.instance.as_deref())?;
    let told = saved_answers::volumes(kind, &catalogue, args.at.as_deref())?;
    let args = &match &told {
        Some(told) => as_told(args, kind, told, disks)?,
        None => args.clone(),
    };
    let kind = args.kind.as_ref().unwrap_or(kind);
    let count = disks.len().max(1);
    let size = |i: usize| args.volume_size.or_else(|| disks.get(i).copied().flatten());
    let asked = |i: usize| AskedVolume {
        kind: kind.clone(),
        size: size(i),
        iops: args.iops,
        throughput: args.throughput,
    };
    let with = if args.with.is_empty() {
        (1..count).map(asked).collect()
    } else if !disks.is_empty() && args.with.len() + 1 != count {
        let on = if count == 1 { "one volume" } else { &format!("{count} volumes") };
        bail!(
            "the targets lie on {on}, but --promise and --with name {}: name each once",
            args.with.len() + 1
        );
    } else {
        args.with.clone()
    };
    let mut request = PromiseRequest { volume: asked(0), with, instance, block: None, at: args.at.clone() };
    let mut promise = Promise::requested(&catalogue, &request).map_err(|e| match (&e, size(0)) {
        (volproof_promise::catalogue::PromiseError::NoSize { .. }, None) => {
            anyhow::anyhow!("{}", e.to_string().replace("--size", "--volume-size"))
        }
        _ => e.into(),
    })?;
    let mut notes = Vec::new();
    let found = catalogue.find(kind, args.at.as_deref())?;
    let volume = found.volume;
    notes.extend(found.note);
    if args.instance.is_none()
        && !volume.local
        && let Some(root) = here
        && cloud::provider(root, &catalogue).is_some_and(|(p, _)| p.id == volume.provider)
        && let Some(name) = cloud::machine(root, &catalogue, args.offline).and_then(|m| m.instance)
    {
        request.instance = Some(name.clone());
        match Promise::requested(&catalogue, &request) {
            Ok(on_instance) => {
                promise = on_instance;
                notes.push(format!("the instance {name} is what the metadata service says"));
            }
            Err(e) => notes.push(format!("the limits of this instance, {name}, are not known: {e}")),
        }
    }
    if args.promise_burst && !promise.has_burst() {
        let size = promise.volumes[0].size();
        bail!("{} of {size} has no burst that --promise-burst could judge: leave it out", volume.id());
    }
    notes.extend(larger(&catalogue, volume, &promise));
    notes.extend(told.iter().flat_map(|told| saved_answers::notes(told, &promise)));
    let mut judged = JudgedPromise {
        options: options(args, &promise),
        tolerance: TOLERANCE,
        promise,
        notes,
        min_share: None,
        judge_burst: args.promise_burst,
    };
    if let Some(share) = args.min_share {
        judged.ask_for_share(share);
    }
    if let Some(share) = args.tolerance {
        judged.tolerate(share);
    }
    Ok(Some(judged))
}

/// The same options, where `--promise TYPE:SIZE[,iops=N][,throughput=N]` has the capacity and what was bought in one word, as `--with` does.
fn with_size_of_type(args: &PromiseOptions) -> anyhow::Result<PromiseOptions> {
    let words = args.kind.as_deref().unwrap_or_default();
    let Some(asked) = AskedVolume::in_one_word(words) else { return Ok(args.clone()) };
    let has_both = args.volume_size.is_some()
        || (args.iops.is_some() && asked.iops.is_some())
        || (args.throughput.is_some() && asked.throughput.is_some());
    if has_both {
        bail!("--promise {words} says the same as another option: write `--promise {}` alone", asked.kind);
    }
    Ok(PromiseOptions {
        kind: Some(asked.kind),
        volume_size: asked.size,
        iops: args.iops.or(asked.iops),
        throughput: args.throughput.or(asked.throughput),
        ..args.clone()
    })
}

/// The options that ask for the promise of the volumes that a provider's own command told of.
fn as_told(
    args: &PromiseOptions,
    file: &str,
    told: &[ToldVolume],
    disks: &[Option<Bytes>],
) -> anyhow::Result<PromiseOptions> {
    if args.volume_size.is_some() || args.iops.is_some() || args.throughput.is_some() || !args.with.is_empty()
    {
        bail!("--volume-size, --iops, --throughput and --with are what {file} tells: leave them out");
    }
    saved_answers::refuse_others(file, told, disks)?;
    let (volume, with) = saved_answers::asked(told).context("the file tells of no volume")?;
    Ok(PromiseOptions {
        kind: Some(volume.kind),
        volume_size: volume.size,
        iops: volume.iops,
        throughput: volume.throughput,
        with,
        ..args.clone()
    })
}

/// A note for a volume below the size that earns the most IOPS of its type: it must not be called slow for its size.
fn larger(
    catalogue: &Catalogue,
    volume: &volproof_promise::catalogue::entry::Volume,
    promise: &Promise,
) -> Option<String> {
    let ours = promise.volumes.first()?.level.iops.in_direction(PromiseDirection::Read)?;
    let most = Level::at_capacity(volume, volume.capacity_gib[1], Bought::default())
        .ok()?
        .iops
        .in_direction(PromiseDirection::Read)?;
    if ours >= most * 0.999 || promise.volumes.len() > 1 {
        return None;
    }
    let need = WantedRates { iops: Some(most), ..WantedRates::default() };
    let fits = catalogue.smallest_volumes(&need, Some(&volume.provider)).ok()?;
    let gib = fits.iter().find(|f| f.promise.volumes[0].id == volume.id())?.promise.volumes[0].gib;
    Some(format!(
        "this size is promised {} IOPS; the {} of the type need {} GiB",
        grouped(ours as u64),
        grouped(most as u64),
        significant(gib.ceil())
    ))
}

/// The options that ask for the same promise again. [`JudgedPromise::tolerate`] and [`JudgedPromise::ask_for_share`] add those that change how it is
/// judged.
fn options(args: &PromiseOptions, promise: &Promise) -> Vec<String> {
    let mut words = Vec::new();
    let mut add = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            words.extend([name.to_string(), value]);
        }
    };
    add("--promise", promise.volumes.first().map(|v| v.id.clone()));
    add("--volume-size", args.volume_size.map(Bytes::exact));
    add("--iops", args.iops.map(|iops| iops.to_string()));
    add("--throughput", args.throughput.map(|throughput| throughput.to_string()));
    args.with.iter().for_each(|volume| add("--with", Some(volume.to_string())));
    // The limits of a file are not in the catalogue.
    add("--instance", args.instance.clone().or_else(|| promise.instance.as_ref().map(|i| i.name.clone())));
    // An identity may name its edition.
    let dated = promise.volumes.first().is_some_and(|v| v.id.contains('@'));
    add("--at", args.at.clone().filter(|_| !dated));
    add("--catalog", args.catalog.as_ref().map(|p| p.display().to_string()));
    words.extend(args.promise_burst.then(|| "--promise-burst".to_string()));
    words
}

/// Holds a stored Record against the promise that the options name, or against its own under their tolerance; judges it again where that
/// is another promise. `here` is the machine of a run that goes on, whose instance caps the volumes.
///
/// # Errors
/// An unknown type, a size that it does not come in, or targets that do not match.
pub fn hold_against(args: &PromiseOptions, here: Option<&Root>, record: &mut Record) -> anyhow::Result<()> {
    if let Some(fleet) = record.fleet.as_deref_mut().filter(|f| !f.volumes.is_shared()) {
        // Each machine is held against its own promise, and what they come to follows from that.
        fleet.machines.iter_mut().try_for_each(|m| hold_against(args, here, &mut m.record))?;
        record.judged_promise = fleet::judged_promise(fleet);
        seal(record);
        return Ok(());
    }
    let named = promise_of_stored(args, here, record)?.or_else(|| {
        let mut own = record.judged_promise.clone()?;
        if let Some(share) = args.tolerance {
            own.tolerate(share);
        }
        if let Some(share) = args.min_share {
            own.ask_for_share(share);
        }
        Some(own)
    });
    let named = named.map(|mut named| {
        if record.fleet.is_some() {
            // The limits of one instance say nothing of the sum of several.
            named.promise.instance = None;
        }
        named
    });
    if named != record.judged_promise {
        record.judged_promise = named;
        seal(record);
        name_promise_to_resume(record);
    }
    Ok(())
}

/// The run of the Record goes on under its own promise, unless the command names the other one.
fn name_promise_to_resume(record: &mut Record) {
    let (Some(promise), Some(verdict)) = (&record.judged_promise, &mut record.verdict) else { return };
    let options: Vec<String> = promise.options.iter().map(|word| shell(word).to_string()).collect();
    for command in verdict.claims.iter_mut().filter_map(|claim| claim.command.as_mut()) {
        if command == judge::RESUME {
            *command = format!("{command} {}", options.join(" "));
        }
    }
}

/// Holds a stored Record or a report against the needs of applications, as `--fit` names them.
///
/// # Errors
/// Of input: an unknown application.
pub fn ask(applications: Option<&str>, record: &mut Record) -> anyhow::Result<()> {
    if let Some(words) = applications {
        let (asked, _) = words.parse::<FitRequest>()?.select(FitCatalogue::shipped())?;
        if record.fleet.as_ref().is_some_and(|fleet| fleet.volumes.is_shared()) {
            asked.on_shared_volume()?;
        }
        record.asked = Some(asked);
        seal(record);
    }
    Ok(())
}

/// The promise to the targets of a stored Record; for a report, in the edition of its day.
///
/// # Errors
/// An unknown type, a size that it does not come in, or targets that do not match.
fn promise_of_stored(
    args: &PromiseOptions,
    here: Option<&Root>,
    record: &Record,
) -> anyhow::Result<Option<JudgedPromise>> {
    if record.report.is_none() {
        let size =
            |t: &TargetRecord| t.facts.device().filter(|d| d.partition.is_none()).map(|d| d.size_bytes);
        let targets = record.targets.iter().map(|t| (&t.facts, size(t)));
        return judged_promise(args, here, &volumes(targets, record.is_simulated()));
    }
    let mut args = args.clone();
    let dated = args.kind.as_ref().is_some_and(|k| k.contains('@'));
    if args.at.is_none() && !dated {
        args.at = record.report.as_ref().and_then(Report::day);
    }
    // Hosts may drive one volume or one each, under one name; several targets may lie on one volume.
    let open = |r: &ReportedStep| r.hosts.len() > 1 || r.conditions.places().len() > 1;
    let several = record.steps.iter().filter_map(|s| s.reported.as_deref()).any(open);
    judged_promise(&args, None, if several { &[] } else { &[None] })
}
