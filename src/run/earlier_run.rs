//! Going on with an interrupted run: the finished steps of its Record are kept, and the rest is measured now.
//!
//! Only a run of the same plan on the same targets and machine, with the kernel's settings tuned or left alone as they were, goes on; else
//! the answer says what differs. A reboot in between makes no difference, except for a disk without serial and world-wide name.

use std::path::Path;

use super::Failure;
use super::surveyed::Surveyed;
use volproof_base::doubt::Doubt;
use volproof_base::file_lock::is_locked;
use volproof_course::finished::is_whole;
use volproof_device::device::{self, Block, Facts, FileFacts, Root};
use volproof_host::environment::Environment;
use volproof_host::observe::QueueSettings;
use volproof_host::tune::ab::Effect;
use volproof_judge::doubts;
use volproof_plan::Plan;
use volproof_record::{Record, StepRecord, TargetRecord, Together};

/// The finished steps of an earlier run.
#[derive(Clone, Debug)]
pub struct EarlierRun {
    /// Its plan. That of a sweep or search has only the steps that have finished.
    pub plan: Plan,
    /// The steps.
    pub steps: Vec<StepRecord>,
    queues: Vec<QueueSettings>,
    together: Vec<Together>,
    doubts: Vec<Doubt>,
    tuned: bool,
    /// The effect of each setting, which is measured before the first step.
    effects: Vec<Effect>,
    targets: Vec<TargetRecord>,
    environment: Environment,
    runs: Vec<String>,
}

impl EarlierRun {
    /// The finished steps of a Record.
    ///
    /// # Errors
    /// The Record cannot be read, or it is one of a report or of another plan.
    pub fn load(path: &Path, asked: &Plan) -> Result<EarlierRun, Failure> {
        EarlierRun::of_record(Record::load(path).map_err(Failure::input)?, path, asked)
    }

    /// The finished steps of a Record that was read from this path.
    ///
    /// # Errors
    /// It is the Record of a report or of another plan.
    pub fn of_record(record: Record, path: &Path, asked: &Plan) -> Result<EarlierRun, Failure> {
        let differs = |what: &str| {
            Failure::input(format!(
                "{} cannot be resumed: {what}; run without --resume to begin anew",
                path.display()
            ))
        };
        if record.report.is_some() {
            return Err(differs("it is the report of another tool"));
        }
        if std::fs::File::open(path).is_ok_and(|file| is_locked(&file)) {
            return Err(differs("its run still goes on"));
        }
        if let Some(what) = other_plan(&record.plan, asked) {
            return Err(differs(&format!("the plan differs: {what}")));
        }
        if let Some(edit) = doubts::edits(&record).first() {
            return Err(differs(&edit.message));
        }
        Ok(EarlierRun::from_interrupted(record))
    }

    fn from_interrupted(record: Record) -> EarlierRun {
        let whole = |done: &StepRecord| {
            record.plan_step(&done.name).is_some_and(|planned| is_whole(planned, done))
                && done.stuck_workers == 0
                && (done.errors.count == 0 || record.plan.continue_on_error)
        };
        // Stages run one after another: the first step that was cut off, or is missing from its stage, ends what is kept.
        let mut kept = 0;
        let course = record.plan.question.is_some();
        for stage in record.plan.stages() {
            let done = record.steps.get(stage.clone());
            let complete = done.is_some_and(|steps| {
                steps.iter().zip(&record.plan.steps[stage.clone()]).all(|(d, p)| d.name == p.name && whole(d))
            });
            if !complete {
                break;
            }
            kept = stage.end;
        }
        let mut plan = record.plan.clone();
        if course {
            plan.steps.truncate(kept);
        }
        let queues = record.steps[..kept].last().map(|step| record.evidence(step).queues.clone());
        let began = record.started.as_ref().cloned();
        let mut steps: Vec<StepRecord> = record.steps.into_iter().take(kept).collect();
        for step in &mut steps {
            step.earlier_run = step.earlier_run.take().or(began.clone());
        }
        let tuning = record.tuning.unwrap_or_default();
        let has = |name: &str| steps.iter().any(|s| s.name == name);
        EarlierRun {
            together: record.together.into_iter().filter(|t| t.steps.iter().all(|name| has(name))).collect(),
            doubts: record.doubts.into_iter().filter(|d| d.step.as_deref().is_some_and(has)).collect(),
            queues: queues.unwrap_or_default(),
            tuned: !tuning.applied.is_empty(),
            effects: tuning.effects,
            targets: record.targets,
            environment: record.environment,
            runs: record.resumed_after.into_iter().chain(began).collect(),
            plan,
            steps,
        }
    }

    /// The kernel's settings were tuned for its steps.
    pub fn is_tuned(&self) -> bool {
        self.tuned
    }

    /// When the run began that was resumed last.
    pub fn began(&self) -> Option<&str> {
        self.runs.last().map(String::as_str)
    }

    /// The difference between the machine and targets of then and now, in words; none where both are the same.
    pub fn other_place(&self, environment: &Environment, targets: &[Surveyed]) -> Option<String> {
        let then = &self.environment;
        let machine = [
            ("host name", &then.hostname, &environment.hostname),
            ("CPU", &then.cpu_model, &environment.cpu_model),
            ("kernel", &then.kernel, &environment.kernel),
        ];
        for (what, then, now) in machine {
            if then != now {
                return Some(format!("the {what} was {then} and is {now}"));
            }
        }
        if then.cpus_online != environment.cpus_online {
            return Some(format!(
                "{} CPUs were online and {} are",
                then.cpus_online, environment.cpus_online
            ));
        }
        targets.iter().find_map(|target| {
            let (name, now) = (target.named.display(), &target.facts);
            let Some(then) = self.targets.iter().find(|t| t.named == target.named) else {
                return Some(format!("{name} was no target"));
            };
            if matches!(then.facts, Facts::Block(_)) != matches!(now, Facts::Block(_)) {
                return Some(format!("{name} was another kind of target"));
            }
            if let Some(what) = other_target(&then.facts, now) {
                return Some(format!("{name} is not what it was: {what}"));
            }
            let (had, has) = (then.size_bytes, target.size);
            (had != has).then(|| match target.make {
                Some(_) => {
                    format!("the test file had {had} and would have {has}: give --file-size {}", had.exact())
                }
                None => format!("{name} had {had} and has {has}"),
            })
        })
    }

    /// The difference between the kernel's settings of then and now, in words; `tuned` says whether this run wrote any, `disks` are those of
    /// the targets.
    pub fn other_settings(&self, root: &Root, disks: &[String], tuned: bool) -> Option<String> {
        match (self.tuned, tuned) {
            (true, false) => Some(
                "its steps ran with tuned settings of the kernel, these would not: give --tune on".into(),
            ),
            (false, true) => Some(
                "its steps ran without tuned settings of the kernel, these would not: give --tune off".into(),
            ),
            _ => {
                let now = disks.iter().map(|disk| QueueSettings::read(root, disk));
                let change = self.queues.iter().zip(now).find_map(|(then, now)| then.change(&now))?;
                Some(format!("a setting of the kernel is another one, {change}: set it as it was"))
            }
        }
    }

    /// Puts the finished steps into the Record of the run that goes on.
    pub fn into_record(self, record: &mut Record) {
        record.steps = self.steps;
        record.together = self.together;
        record.doubts.extend(self.doubts);
        record.resumed_after = self.runs;
        if !self.effects.is_empty() {
            record.tuning.get_or_insert_default().effects = self.effects;
        }
    }
}

/// The first difference that tells two targets apart although they have one name and one size, in words.
pub fn other_target(then: &Facts, now: &Facts) -> Option<String> {
    // Each run makes a new test file in a folder.
    if let (Facts::File(then), Facts::File(now)) = (then, now) {
        let inode = |file: &FileFacts| Some(file.inode.to_string());
        let change = device::change("inode number", inode(then), inode(now));
        // Records of before, and some filesystems, do not have the time.
        let both = then.born.is_some() && now.born.is_some();
        let born = || device::change("time of birth", then.born.clone(), now.born.clone()).filter(|_| both);
        if let Some(change) = change.or_else(born) {
            return Some(change);
        }
    }
    let filesystem = |facts: &Facts| facts.place().and_then(|p| p.filesystem.clone());
    device::change("filesystem", filesystem(then), filesystem(now)).or_else(|| {
        match (then.device(), now.device()) {
            (Some(then), Some(now)) => other_disk(then, now),
            (None, None) => None,
            _ => Some("it lay on another kind of device".into()),
        }
    })
}

/// The first difference between two disks that a reboot does not explain.
fn other_disk(then: &Block, now: &Block) -> Option<String> {
    device::lasting_change(then, now).or_else(|| {
        let nameless = then.serial.is_none() && then.wwid.is_none();
        (nameless && then.diskseq != now.diskseq).then(|| {
            "it was attached anew and has neither serial nor world-wide name, so nothing shows that it is the same".into()
        })
    })
}

/// The first difference between two plans, in words.
fn other_plan(then: &Plan, now: &Plan) -> Option<String> {
    let plain = |plan: &Plan| {
        let given = plan.as_given().into_owned();
        Plan {
            steps: if plan.question.is_some() { Vec::new() } else { given.steps },
            follow_up: None,
            // The size of the target is compared instead.
            file_size: None,
            keep: false,
            overwrite: false,
            ..given
        }
    };
    let (then, now) = (plain(then), plain(now));
    let (a, b) = (serde_json::to_value(&then).ok()?, serde_json::to_value(&now).ok()?);
    let mut place = String::new();
    difference(&a, &b, &mut place).map(|(was, is)| format!("{place} was {was} and is {is}"))
}

/// The first place in which two values differ, and both values there.
fn difference(a: &serde_json::Value, b: &serde_json::Value, place: &mut String) -> Option<(String, String)> {
    use serde_json::Value::{Array, Object};
    let length = place.len();
    let mut deeper = |name: &str, a: &serde_json::Value, b: &serde_json::Value| {
        place.truncate(length);
        if length > 0 {
            place.push('.');
        }
        place.push_str(name);
        difference(a, b, place)
    };
    let nothing = serde_json::Value::Null;
    match (a, b) {
        (Object(a), Object(b)) => a
            .keys()
            .chain(b.keys().filter(|key| !a.contains_key(*key)))
            .find_map(|key| deeper(key, a.get(key).unwrap_or(&nothing), b.get(key).unwrap_or(&nothing))),
        (Array(a), Array(b)) if a.len() == b.len() => {
            a.iter().zip(b).enumerate().find_map(|(i, (a, b))| deeper(&(i + 1).to_string(), a, b))
        }
        _ => (a != b).then(|| (short(a), short(b))),
    }
}

/// A value for a message.
fn short(value: &serde_json::Value) -> String {
    let text = match value {
        serde_json::Value::Null => "not given".into(),
        serde_json::Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    if text.chars().count() > 60 { text.chars().take(57).chain("...".chars()).collect() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn disk(files: &[(&str, &str)]) -> Block {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in [("dev", "253:16"), ("size", "2048"), ("diskseq", "7")].iter().chain(files) {
            let path = folder.path().join("sys/devices/vdb").join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, format!("{text}\n")).unwrap();
        }
        for (class, up) in [("sys/block", "../devices/vdb"), ("sys/class/block", "../../devices/vdb")] {
            std::fs::create_dir_all(folder.path().join(class)).unwrap();
            std::os::unix::fs::symlink(up, folder.path().join(class).join("vdb")).unwrap();
        }
        Block::read(&Root::tree(folder.path()), "vdb").unwrap()
    }

    #[test]
    fn the_test_file_of_a_folder_is_another_one_each_time() {
        let folder = tempfile::tempdir().unwrap();
        let facts = |name: &str| device::facts(&Root::system(), &folder.path().join(name)).unwrap();
        for name in ["a", "b"] {
            std::fs::write(folder.path().join(name), "data").unwrap();
        }
        assert_eq!(other_target(&facts("a"), &facts("")), None);
        let other = other_target(&facts("a"), &facts("b")).unwrap();
        assert!(other.starts_with("its inode number was"), "{other}");
        let Facts::File(mut later) = facts("a") else { panic!("a file") };
        later.born = Some("1.000000000".into());
        let other = other_target(&facts("a"), &Facts::File(later)).unwrap();
        assert!(other.starts_with("its time of birth was"), "{other}");
    }

    #[test]
    fn a_disk_is_told_by_what_outlives_a_reboot() {
        let plain = disk(&[]);
        assert_eq!(other_disk(&plain, &plain), None);
        let anew = other_disk(&plain, &disk(&[("diskseq", "8")])).unwrap();
        assert!(anew.contains("attached anew"), "{anew}");
        let named = disk(&[("serial", "A")]);
        assert_eq!(other_disk(&named, &disk(&[("serial", "A"), ("diskseq", "8")])), None);
        assert_eq!(other_disk(&named, &disk(&[("serial", "B")])).unwrap(), "its serial was A and is B");
        assert_eq!(other_disk(&named, &plain).unwrap(), "its serial was A and is none");
        let volume = |uuid| disk(&[("dm/uuid", uuid)]);
        let moved = other_disk(&volume("LVM-one"), &volume("LVM-two")).unwrap();
        assert!(moved.contains("LVM-one") && moved.contains("LVM-two"), "{moved}");
        let loops = |file| disk(&[("loop/backing_file", file)]);
        assert_eq!(other_disk(&loops("/b"), &loops("/c")).unwrap(), "its backing file was /b and is /c");
    }
}
