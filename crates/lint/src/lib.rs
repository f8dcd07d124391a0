//! `volproof lint`: the volumes that Terraform plans and Kubernetes objects declare, held against what providers promise.
//!
//! Files in, findings out: what each volume promises, what is paid for and cannot be had, what a driver refuses or ignores. Nothing is measured
//! and nobody is asked. Plans hold secrets: only fields that are known by name are read, and of them only figures, known types and addresses are
//! told.

mod annotations;
mod declared_volume;
mod field_names;
mod kubernetes;
mod lint_answer;
mod lint_finding;
mod lint_json;
mod lint_text;
mod quantity;
mod storage_class;
mod terraform_plan;
mod terraform_references;
mod terraform_volumes;
mod volume_group;
mod volume_rules;
mod yaml_node;

pub use self::lint_answer::LintAnswer;
use self::lint_answer::file_name;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

pub use annotations::github;
pub use field_names::FieldNames;
pub use lint_finding::{LintFinding, LintGrade};
pub use lint_json::json;
pub use lint_text::text;

use kubernetes::KubernetesObjects;
use terraform_plan::{MOST_RESOURCES, PlanDocument};
use volproof_base::input;
use volproof_base::unit::Bytes;
use volproof_promise::catalogue::Catalogue;
use volume_rules::LintedVolume;
use yaml_node::YamlNode;

/// The longest YAML that is read: all of it becomes a tree.
const LONGEST_YAML: Bytes = Bytes::mib(16);

/// Arguments of `lint`.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct LintArgs {
    /// Plans or states as `terraform show -json` prints them, and Kubernetes YAML or JSON; - is standard input
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    /// Applications, which `promise` takes now
    #[arg(long, hide = true)]
    pub fit: Option<String>,
    /// Volumes for --fit
    #[arg(long, hide = true)]
    pub volume: Vec<String>,
    /// A file whose entries replace or add to the catalogue of volumes
    #[arg(long, value_name = "FILE", help_heading = "Catalogue")]
    pub catalog: Option<PathBuf>,
    /// Print JSON instead of text
    #[arg(long, conflicts_with = "github", help_heading = "Output")]
    pub json: bool,
    /// Print annotations for GitHub Actions behind the text
    #[arg(long, help_heading = "Output")]
    pub github: bool,
}

/// Reads the files and finds what is to be found.
///
/// # Errors
/// Of input: a file that cannot be read or is neither a plan nor an object of Kubernetes.
pub fn answer(args: &LintArgs) -> anyhow::Result<LintAnswer> {
    let catalogue = match &args.catalog {
        Some(path) => Cow::Owned(Catalogue::with_file(path)?),
        None => Cow::Borrowed(Catalogue::shipped()),
    };
    if args.fit.is_some() || !args.volume.is_empty() {
        bail!(
            "lint has no --fit: `volproof promise --need-fit APP` lists the smallest volume of each type that is enough"
        );
    }
    of_contents(args, args.files.iter().map(|path| read(path)), &catalogue)
}

/// A file's name for people and its bytes.
fn read(path: &Path) -> anyhow::Result<(String, Vec<u8>)> {
    let shown = file_name(path);
    let bytes = input::read(path).with_context(|| format!("cannot read {shown}"))?;
    Ok((shown, bytes))
}

/// The findings about one file with these bytes.
///
/// # Errors
/// The bytes are neither a plan nor objects of Kubernetes.
pub fn of_bytes(bytes: &[u8]) -> anyhow::Result<LintAnswer> {
    let args = LintArgs { files: vec!["file".into()], ..LintArgs::default() };
    of_contents(&args, std::iter::once(Ok(("file".into(), bytes.to_vec()))), Catalogue::shipped())
}

/// The findings about files, each with its name for people and its bytes.
fn of_contents(
    args: &LintArgs,
    contents: impl Iterator<Item = anyhow::Result<(String, Vec<u8>)>>,
    catalogue: &Catalogue,
) -> anyhow::Result<LintAnswer> {
    let mut declared = Vec::new();
    let mut skipped: BTreeMap<String, u64> = BTreeMap::new();
    let mut objects = KubernetesObjects::default();
    for (number, content) in contents.enumerate() {
        let (shown, bytes) = content?;
        let first = bytes.iter().find(|b| !b.is_ascii_whitespace());
        if first == Some(&b'{')
            && let Some((volumes, others)) = terraform(&bytes, number, &shown)?
        {
            declared.extend(volumes);
            others
                .into_iter()
                .for_each(|(kind, n)| *skipped.entry(declared_volume::printable(&kind)).or_default() += n);
            continue;
        }
        kubernetes(&bytes, number, &shown, &mut objects)?;
    }
    declared.extend(objects.volumes());
    declared.sort_by_key(|v| v.file);
    let mut volumes: Vec<LintedVolume> =
        declared.into_iter().map(|volume| LintedVolume::judged(catalogue, volume)).collect();
    volume_group::sums_on_instances(catalogue, &mut volumes);
    objects.skipped.into_iter().for_each(|(kind, n)| *skipped.entry(kind).or_default() += n);
    let classes = objects.classes.into_iter().flat_map(|class| {
        let (name, file) = (class.name, class.file);
        class.findings.into_iter().map(move |finding| (declared_volume::printable(&name), file, finding))
    });
    Ok(LintAnswer { files: args.files.clone(), volumes, classes: classes.collect(), skipped })
}

/// Volumes and skipped types of a plan; `None` for JSON that is no plan.
type TerraformContent = Option<(Vec<declared_volume::DeclaredVolume>, BTreeMap<String, u64>)>;

fn terraform(bytes: &[u8], number: usize, shown: &str) -> anyhow::Result<TerraformContent> {
    // The messages of the parser quote the file, which may hold secrets.
    let document: PlanDocument = match serde_json::from_slice(bytes) {
        Ok(document) => document,
        Err(e) => bail!(
            "{shown}: line {}, column {}: not the JSON that `terraform show -json` prints, nor an object of Kubernetes",
            e.line(),
            e.column()
        ),
    };
    if !document.is_terraform() {
        if document.api_version.is_empty() {
            bail!(
                "{shown} is neither a plan nor a state of Terraform: `terraform show -json PLAN > plan.json` prints one"
            );
        }
        return Ok(None);
    }
    let major = document.format_version.split('.').next().unwrap_or_default();
    if !matches!(major, "0" | "1") {
        bail!(
            "{shown} has another format version of Terraform's JSON than 0 and 1, which this program reads"
        );
    }
    let Some((volumes, plan)) = terraform_volumes::read(&document, number) else {
        bail!("{shown} has more than {MOST_RESOURCES} volumes, instances and attachments: give it in parts");
    };
    Ok(Some((volumes, plan.skipped)))
}

fn kubernetes(
    bytes: &[u8],
    number: usize,
    shown: &str,
    objects: &mut KubernetesObjects,
) -> anyhow::Result<()> {
    if bytes.len() as u64 > LONGEST_YAML.0 {
        bail!("{shown} is longer than {LONGEST_YAML}, the most that is read of YAML: give it in parts");
    }
    let Ok(text) = std::str::from_utf8(bytes) else { bail!("{shown}: it is no text in UTF-8") };
    let documents = YamlNode::documents(text).map_err(|e| anyhow::anyhow!("{shown}: {e}"))?;
    if objects.add(&documents, number) == 0 {
        bail!(
            "{shown} holds no object of Kubernetes (apiVersion and kind), and is no plan of Terraform: \
             `terraform show -json PLAN > plan.json` prints one for `volproof lint plan.json`"
        );
    }
    Ok(())
}
