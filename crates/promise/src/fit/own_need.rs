//! Needs that a user types himself, such as `wal-flush.p99<=5ms`: the limit of a figure of a load that an application runs.

use volproof_base::misspelling::{nearest_few, question};
use volproof_base::sample::Direction;
use volproof_plan::Step;

use super::application::{LimitWord, OWN_NEED};
use super::{AskedApplication, AskedFits, FigureKind, FitFigure, FitNeed, NeedBound, SelectionError};
use crate::catalogue::SourceQuality;

/// The form of a need.
const FORM: &str = "write LOAD.FIGURE<=LIMIT or LOAD.FIGURE>=LIMIT, such as";

impl FitNeed {
    /// The need as a user types it.
    pub fn typed(&self) -> String {
        let limit = match self.figure.kind {
            FigureKind::Iops | FigureKind::Throughput => self.bound.value().to_string(),
            FigureKind::Latency(_) => format!("{}ns", self.bound.value()),
            FigureKind::Over(_) => format!("{}%", self.bound.value() * 100.0),
        };
        let sign = if matches!(self.bound, NeedBound::AtLeast(_)) { ">=" } else { "<=" };
        format!("{}.{}{sign}{limit}", self.step, self.figure)
    }
}

impl AskedFits {
    /// Adds needs that a user typed, each to the first application that runs its load. `steps` are the loads.
    ///
    /// # Errors
    /// A text that is no need, a load or a figure that there is not, or a limit that cannot be.
    pub fn add_own_needs(&mut self, texts: &[String], steps: &[Step]) -> Result<(), SelectionError> {
        for text in texts {
            let need = self.own_need(text, steps)?;
            let runs = |a: &&mut AskedApplication| a.steps.contains(&need.step);
            let Some(application) = self.applications.iter_mut().find(runs) else { continue };
            let is_same =
                |other: &FitNeed| other.is_own() && other.step == need.step && other.figure == need.figure;
            if application.needs.iter().any(is_same) {
                return Err(SelectionError(format!(
                    "--need '{text}': {}.{} is given twice",
                    need.step, need.figure
                )));
            }
            application.needs.push(FitNeed { grade: application.grade, ..need });
        }
        Ok(())
    }

    fn own_need(&self, text: &str, steps: &[Step]) -> Result<FitNeed, SelectionError> {
        let wrong = |why: String| SelectionError(format!("--need '{text}': {why}"));
        let signs = ["<=", ">="].into_iter().find_map(|sign| Some((sign, text.split_once(sign)?)));
        let Some((sign, (what, limit))) = signs else {
            return Err(wrong(format!("{FORM} {}", self.example(steps))));
        };
        let (load, figure) = what.trim().split_once('.').unwrap_or((what.trim(), ""));
        let Some((step, direction)) = self.load(load, steps) else {
            let names = self.load_names(steps);
            let near = question(&nearest_few(load, names.iter().map(|name| (name, name)), 2));
            return Err(wrong(format!(
                "there is no load '{load}':{near} there are {}; write `--need {}.p99<=5ms`",
                names.join(", "),
                names.first().map_or("LOAD", |name| name)
            )));
        };
        let mut figure: FitFigure = figure.parse().map_err(|e: volproof_plan::WordError| wrong(e.0))?;
        figure.direction = figure.direction.or(direction).or(what_a_client_waits_for(step, figure.kind));
        let has = directions(step);
        if let Some(missing) = figure.direction.filter(|d| !has.contains(d)) {
            let names: Vec<&str> = has.iter().map(|d| d.name()).collect();
            return Err(wrong(format!(
                "{} has no {}: it has {}",
                step.name,
                missing.name(),
                names.join(", ")
            )));
        }
        let is_rate = matches!(figure.kind, FigureKind::Iops | FigureKind::Throughput);
        let value = LimitWord::Text(limit.trim().into()).value(figure.kind).map_err(wrong)?;
        let bound = match sign {
            ">=" if is_rate => NeedBound::AtLeast(value),
            "<=" if !is_rate => NeedBound::AtMost(value),
            _ => return Err(wrong("a rate is needed with >=, a latency or a share with <=".into())),
        };
        Ok(FitNeed {
            step: step.name.clone(),
            figure,
            bound,
            grade: Default::default(),
            hourly: false,
            least_runtime: None,
            source: OWN_NEED.into(),
            as_of: "typed with --need".into(),
            confidence: SourceQuality::High,
        })
    }

    /// A load by its name, or the flushes of one client by theirs.
    fn load<'a>(&self, name: &str, steps: &'a [Step]) -> Option<(&'a Step, Option<Direction>)> {
        if let Some(step) = steps.iter().find(|step| step.name == name && self.publishes(name)) {
            return Some((step, None));
        }
        let commits = self.applications.iter().filter_map(|a| a.commits.as_ref());
        let named = commits
            .filter(|commits| commits.need_name() == name)
            .find_map(|commits| steps.iter().find(|step| step.name == commits.one_client));
        named.map(|step| (step, Some(Direction::Sync)))
    }

    /// The names that a need may begin with.
    fn load_names(&self, steps: &[Step]) -> Vec<String> {
        let commits = self.applications.iter().filter_map(|a| a.commits.as_ref());
        let published = steps.iter().filter(|step| self.publishes(&step.name)).map(|step| step.name.clone());
        commits.map(|commits| commits.need_name()).chain(published).collect()
    }

    fn example(&self, steps: &[Step]) -> String {
        let name = self.load_names(steps).into_iter().next().unwrap_or_default();
        format!("'{name}.p99<=5ms'")
    }
}

/// The latency of a load that flushes is that of its flushes, unless a direction is named: a write is in the page cache before.
fn what_a_client_waits_for(step: &Step, kind: FigureKind) -> Option<Direction> {
    let is_latency = matches!(kind, FigureKind::Latency(_) | FigureKind::Over(_));
    (is_latency && step.fsync > 0).then_some(Direction::Sync)
}

/// The directions that a step has figures for.
fn directions(step: &Step) -> Vec<Direction> {
    let flushes = (step.fsync > 0).then_some(Direction::Sync);
    step.rw.directions().iter().copied().chain(flushes).collect()
}
