//! The applications that a user names (`etcd,cockroachdb:vcpus=8:heavy`), as steps to run and needs to judge.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{CommitLoads, FigureKind, FitCatalogue, FitNeed, Grade, OWN_NEED, SsdDemand};
use volproof_base::doubt::DoubtCode;
use volproof_base::misspelling::{nearest_few, question};
use volproof_base::unit::{Bytes, byte_rate};
use volproof_plan::{self as plan, BlockSizes, Pattern, Start, Step};

/// Applications as a user names them.
#[derive(Clone, Debug, PartialEq)]
pub struct FitRequest(Vec<RequestedApplication>);

/// One of them.
#[derive(Clone, Debug, PartialEq)]
struct RequestedApplication {
    id: String,
    /// The lowest that was published where none is named.
    grade: Option<Grade>,
    scale: BTreeMap<String, f64>,
}

/// A request that cannot be met.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{0}")]
pub struct SelectionError(pub String);

/// All applications that a Record is judged for. Complete: it needs no data file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AskedFits {
    /// The applications.
    pub applications: Vec<AskedApplication>,
    /// Another load ran beside theirs, on purpose.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub disturbed: bool,
}

/// An application with its needs at the user's scale.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AskedApplication {
    /// The name for `--for`.
    pub id: String,
    /// The name for people.
    pub name: String,
    /// The grade that decides; needs of higher grades are shown beside it.
    pub grade: Grade,
    /// The parameters that were given.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub scale: BTreeMap<String, f64>,
    /// Names of the steps of its load.
    pub steps: Vec<String>,
    /// Its needs; those of a profile are the user's own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<FitNeed>,
    /// The loads that show commits a second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commits: Option<CommitLoads>,
    /// The demand of the source for solid state drives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ssd: Option<SsdDemand>,
    /// Remarks for the reader.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

impl AskedApplication {
    /// The most I/Os a second of a need up to the grade; a flush is one at least.
    pub fn iops(&self) -> Option<f64> {
        self.most(|kind| kind == FigureKind::Iops)
    }

    /// The most bytes a second of a need up to the grade.
    pub fn throughput(&self) -> Option<f64> {
        self.most(|kind| kind == FigureKind::Throughput)
    }

    fn most(&self, of: impl Fn(FigureKind) -> bool) -> Option<f64> {
        let asked = self.needs.iter().filter(|n| n.grade <= self.grade && of(n.figure.kind));
        asked.map(|n| n.bound.value()).reduce(f64::max)
    }

    /// Nothing was published: all needs are the user's own.
    pub fn is_profile(&self) -> bool {
        self.needs.iter().all(FitNeed::is_own)
    }

    /// The application with its parameters: `CockroachDB, vcpus=8`.
    pub fn scaled(&self) -> String {
        let scale = self.scale.iter().map(|(name, value)| format!(", {name}={value}"));
        self.name.clone() + &scale.collect::<String>()
    }

    /// The application as a user names it.
    pub fn request(&self) -> String {
        requested(&self.id, &self.scale, Some(self.grade).filter(|_| !self.is_profile()))
    }

    /// The application with its parameters and its grade: `CockroachDB, vcpus=8 (minimum)`.
    pub fn title(&self) -> String {
        if self.needs.is_empty() {
            return self.scaled();
        }
        if self.is_profile() {
            return format!("{} ({OWN_NEED})", self.scaled());
        }
        format!("{} ({})", self.scaled(), self.grade.name())
    }
}

/// Another load beside those of the applications: reads one after another, as a backup or a compaction does them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Disturbance(pub Bytes);

impl FromStr for Disturbance {
    type Err = String;

    fn from_str(text: &str) -> Result<Disturbance, String> {
        let rate = byte_rate(text).map_err(|e| format!("'{text}' is no rate such as 50MB/s: {e}"))?;
        if rate.0 < 1024 {
            Err(format!("{text} disturbs nothing: give 1MB/s or more"))
        } else {
            Ok(Disturbance(rate))
        }
    }
}

impl Disturbance {
    /// The load beside a step.
    fn beside(self, step: &Step) -> Step {
        Step {
            name: format!("beside-{}", step.name),
            rw: Pattern::Read,
            bs: BlockSizes::one(Bytes::kib(128)),
            iodepth: 4,
            rate_bw: Some(self.0),
            start: Start::WithPrevious,
            runtime: step.runtime,
            ramp: step.ramp,
            engine: if step.simulate.is_some() { step.engine } else { Step::default().engine },
            simulate: step.simulate.clone(),
            ..Step::default()
        }
    }
}

impl FromStr for FitRequest {
    type Err = SelectionError;

    fn from_str(text: &str) -> Result<FitRequest, SelectionError> {
        let mut all: Vec<RequestedApplication> = Vec::new();
        if text.split(',').all(|part| part.trim().is_empty()) {
            return Err(SelectionError(
                "name an application, such as etcd; `volproof fit --list` lists them".into(),
            ));
        }
        for part in text.split(',').map(str::trim) {
            if part.is_empty() {
                return Err(SelectionError(format!(
                    "'{text}': an application is missing beside a comma; write no blank behind it, as in etcd,cockroachdb:vcpus=8"
                )));
            }
            let mut words = part.split(':').map(str::trim);
            let mut one = RequestedApplication {
                id: words.next().unwrap_or_default().into(),
                grade: None,
                scale: BTreeMap::new(),
            };
            for word in words {
                if let Some(grade) = Grade::ALL.into_iter().find(|grade| grade.name() == word) {
                    if let Some(other) = one.grade.replace(grade) {
                        return Err(SelectionError(format!(
                            "{}: two grades, {} and {}: name one",
                            one.id,
                            other.name(),
                            grade.name()
                        )));
                    }
                } else if let Some((name, value)) = word.split_once('=') {
                    let value: f64 = value.trim().parse().map_err(|_| {
                        SelectionError(format!("{}: '{value}' is no number for {name}", one.id))
                    })?;
                    if !(value > 0.0 && value <= 1e6) {
                        return Err(SelectionError(format!(
                            "{}: {name}={value} is outside what can be: above 0, at most 1,000,000",
                            one.id
                        )));
                    }
                    if one.scale.insert(name.trim().into(), value).is_some() {
                        return Err(SelectionError(format!("{}: {} is given twice", one.id, name.trim())));
                    }
                } else {
                    return Err(SelectionError(format!(
                        "{}: '{word}' is neither a grade (minimum, recommended, heavy) nor a parameter such as vcpus=8",
                        one.id
                    )));
                }
            }
            if all.iter().any(|other| other.id == one.id) {
                return Err(SelectionError(format!("{} is named twice", one.id)));
            }
            all.push(one);
        }
        Ok(FitRequest(all))
    }
}

impl fmt::Display for FitRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let each = self.0.iter().map(|a| requested(&a.id, &a.scale, a.grade));
        f.pad(&each.collect::<Vec<_>>().join(","))
    }
}

/// An application as a user names it: `cockroachdb:vcpus=8:heavy`.
fn requested(id: &str, scale: &BTreeMap<String, f64>, grade: Option<Grade>) -> String {
    let scale = scale.iter().map(|(name, value)| format!(":{name}={value}"));
    let grade = grade.map(|grade| format!(":{}", grade.name()));
    id.to_string() + &scale.chain(grade).collect::<String>()
}

/// The message about an application that is not known.
pub(super) fn unknown(catalogue: &FitCatalogue, id: &str) -> SelectionError {
    let names = catalogue.applications.iter().map(|a| (&a.id, &a.id));
    let hint = question(&nearest_few(id, names, 3));
    SelectionError(format!("there is no application '{id}':{hint} `volproof fit --list` lists them"))
}

impl FitRequest {
    /// The needs of the applications, and the steps that show them. Steps that several applications share are there once.
    ///
    /// # Errors
    /// An unknown application or grade, a parameter that is missing or that the application does not have, two applications that want one load at
    /// different rates.
    pub fn select(&self, catalogue: &FitCatalogue) -> Result<(AskedFits, Vec<Step>), SelectionError> {
        let mut steps: Vec<Step> = Vec::new();
        let mut applications = Vec::new();
        for one in &self.0 {
            let found = catalogue.application(&one.id)?;
            if let Some(missing) = found.scale.iter().find(|name| !one.scale.contains_key(*name)) {
                return Err(SelectionError(format!(
                    "{0} depends on {missing}: write {0}:{missing}=8",
                    one.id
                )));
            }
            if let Some(extra) = one.scale.keys().find(|name| !found.scale.contains(name)) {
                let has = match found.scale.as_slice() {
                    [] => "leave it out".to_string(),
                    names => format!("it has {}", names.join(", ")),
                };
                return Err(SelectionError(format!("{} has no parameter '{extra}': {has}", one.id)));
            }
            let needs = found.needs(&one.scale).map_err(SelectionError)?;
            // A grade asks for all that lower grades ask for: without a need of its own it asks for nothing more.
            let grades: Vec<Grade> = needs.iter().map(|n| n.grade).collect();
            let lowest = grades.iter().copied().min();
            if let Some(asked) = one.grade.filter(|grade| !grades.contains(grade)) {
                return Err(SelectionError(format!(
                    "nothing was published for the grade {} of {}: {}",
                    asked.name(),
                    one.id,
                    match lowest {
                        Some(lowest) => format!("leave it out for {}", lowest.name()),
                        None => "it is a profile, which is measured and not judged".into(),
                    }
                )));
            }
            let grade = one.grade.or(lowest).unwrap_or(Grade::Minimum);
            for step in catalogue.steps_of(found, &one.scale).map_err(SelectionError)? {
                match steps.iter().find(|s| s.name == step.name) {
                    Some(same) if *same != step => {
                        return Err(SelectionError(format!(
                            "the applications want '{}' at different rates: ask for one after the other",
                            step.name
                        )));
                    }
                    Some(_) => {}
                    None => steps.push(step),
                }
            }
            if applications.iter().any(|other: &AskedApplication| other.id == found.id) {
                return Err(SelectionError(format!("{} is named twice", found.id)));
            }
            applications.push(AskedApplication {
                id: found.id.clone(),
                name: found.name.clone(),
                grade,
                scale: one.scale.clone(),
                needs,
                commits: found.commits.clone(),
                steps: found.steps.clone(),
                ssd: found.ssd.clone().filter(|demand| grade >= demand.grade),
                notes: found.notes.clone(),
            });
        }
        Ok((AskedFits { applications, disturbed: false }, steps))
    }
}

/// Doubts whose advice is to change the load.
const ABOUT_THE_LOAD: [DoubtCode; 5] = [
    DoubtCode::BufferedWrites,
    DoubtCode::DepthNotReached,
    DoubtCode::GeneratorLimited,
    DoubtCode::Headroom,
    DoubtCode::ReadsFromMemory,
];

/// Whether an advice names an option of a step. An application's load has no such options but its length.
fn changes_the_load(advice: &str) -> bool {
    let words = advice.split(|c: char| !c.is_ascii_alphanumeric() && c != '-');
    let mut options = words.filter_map(|word| word.strip_prefix("--")).filter(|name| *name != "runtime");
    options.any(|name| plan::keys().any(|key| key.name() == name))
}

impl AskedFits {
    /// A step has the load that one of the applications publishes.
    pub fn publishes(&self, step: &str) -> bool {
        self.applications.iter().any(|a| a.steps.iter().any(|name| name == step))
    }

    /// Some application has a need; else all of them are profiles, and there is nothing to judge.
    pub fn has_needs(&self) -> bool {
        self.applications.iter().any(|a| !a.needs.is_empty())
    }

    /// Why nobody can be judged by these needs where several machines drive one volume.
    ///
    /// # Errors
    /// An application has a need.
    pub fn on_shared_volume(&self) -> Result<(), SelectionError> {
        if !self.has_needs() {
            return Ok(());
        }
        Err(SelectionError(
            "the needs of an application are judged on each machine by itself, and on one volume the machines hold each other back: \
             leave --shared, --overlap or --fit out"
                .into(),
        ))
    }

    /// What stands in place of the advice of a doubt or a finding, where that would change the load of an application: that load is as
    /// published, and what else would show more of the volume is another run.
    pub fn advice(&self, step: &str, code: &str, advice: &str) -> Option<&'static str> {
        let is_its_load = self.applications.iter().any(|a| a.steps.iter().any(|s| s == step));
        (is_its_load && (ABOUT_THE_LOAD.contains(&code.into()) || changes_the_load(advice))).then_some(
            "the load is the application's own and stays as it is; `volproof run` shows what else the volume can do",
        )
    }

    /// Puts a load beside each of the steps that begin a stage.
    pub fn disturb(&mut self, steps: Vec<Step>, disturbance: Disturbance) -> Vec<Step> {
        self.disturbed = true;
        let mut out: Vec<Step> = Vec::new();
        let mut beside: Option<Step> = None;
        for step in steps {
            if step.start.is_after_all() {
                out.extend(beside.take());
                beside = Some(disturbance.beside(&step));
            }
            out.push(step);
        }
        out.extend(beside);
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fit::NeedBound;

    fn select(text: &str) -> Result<(AskedFits, Vec<Step>), SelectionError> {
        text.parse::<FitRequest>()?.select(FitCatalogue::shipped())
    }

    fn told(text: &str) -> String {
        select(text).unwrap_err().to_string()
    }

    #[test]
    fn applications_share_steps_and_scale_their_needs() {
        let (asked, steps) = select("etcd,milvus,cockroachdb:vcpus=8,vault:heavy").unwrap();
        let names: Vec<&str> = steps.iter().map(|s| s.name.as_str()).collect();
        assert_eq!(names, ["etcd-wal", "random-4k", "sequential-1m"]);
        assert_eq!(asked.applications[2].needs[0].bound, NeedBound::AtLeast(4000.0));
        assert_eq!(asked.applications[3].title(), "Vault and Consul with integrated storage (heavy)");
        let (_, act) = select("aerospike:x=30").unwrap();
        assert_eq!(act[0].rate_iops, Some(60_000.0));
        assert!((act[2].rate_iops.unwrap() - 705.9).abs() < 1e-6);
        assert_eq!(
            select("zeebe").unwrap().0.applications[0].grade,
            Grade::Recommended,
            "the lowest that was published"
        );
    }

    #[test]
    fn mistakes_say_the_way_out() {
        assert!(told("ectd").contains("did you mean etcd"), "{}", told("ectd"));
        assert!(told("cockroach:vcpus=8").contains("did you mean cockroachdb"));
        assert_eq!(told("cockroachdb"), "cockroachdb depends on vcpus: write cockroachdb:vcpus=8");
        assert!(told("etcd:vcpus=8").contains("no parameter 'vcpus'"));
        assert!(told("etcd:great").contains("neither a grade"));
        assert!(told("etcd:heavy:minimum").contains("two grades"));
        assert!(told("cockroachdb:vcpus=8:vcpus=9").contains("vcpus is given twice"));
        assert!(told("cockroachdb:vcpus=none").contains("no number"));
        assert!(told("cockroachdb:vcpus=-1").contains("outside"));
        assert!(told("etcd,etcd").contains("twice"));
        assert!(told("proxmox:heavy").contains("nothing was published"));
        assert!(told(" , ").contains("name an application"));
        assert!(told("etcd,").contains("no blank"));
        assert!(told("postgresql:heavy").contains("it is a profile"));
    }

    #[test]
    fn nobody_is_told_to_raise_the_load_of_an_application() {
        let (asked, _) = select("etcd").unwrap();
        for code in ["depth-not-reached", "generator-limited", "headroom"] {
            assert!(
                asked.advice("etcd-wal", code, "").is_some_and(|text| text.contains("the application's own"))
            );
        }
        assert_eq!(asked.advice("etcd-wal", "short-run", "measure for longer (--runtime 5m)"), None);
        assert!(
            asked.advice("etcd-wal", "generator-lag", "run it at a lower rate (--rate-iops 9)").is_some()
        );
        assert_eq!(
            asked.advice("beside-etcd-wal", "depth-not-reached", ""),
            None,
            "the load beside it is the user's"
        );
    }

    #[test]
    fn a_load_runs_beside_each_stage() {
        let (mut asked, steps) = select("etcd,harvester").unwrap();
        let steps = asked.disturb(steps, "50MB/s".parse().unwrap());
        let names: Vec<&str> = steps.iter().map(|s| s.name.as_str()).collect();
        assert_eq!(names, ["etcd-wal", "beside-etcd-wal", "random-4k", "beside-random-4k"]);
        assert_eq!(steps[1].rate_bw, Some(Bytes(50_000_000)));
        assert!(asked.disturbed && "0".parse::<Disturbance>().is_err());
    }
}
