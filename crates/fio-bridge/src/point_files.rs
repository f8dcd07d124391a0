//! The points of a sweep as fio's JSON, a file for each, in the form that fio-plot reads: it finds the JSON files of one folder by the
//! options `rw`, `iodepth` and `numjobs` of their first job, and draws one block size and one mix at a time (fio-plot 1.1,
//! `fiolib/jsonimport.py` and `jsonparsing_support.py`).

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::of_record::of_record;
use fio_formats::output::Output;
use volproof_plan::{AxisOption, Question};
use volproof_record::{Record, StepRecord};

/// The file of each point, below the folder of the sweep, with its report. A block size and a mix have a folder where they change. Of several
/// runs of a point the report has the one in the middle, by its rate.
///
/// # Errors
/// The Record is of no sweep; in words.
pub fn point_files(record: &Record) -> Result<Vec<(PathBuf, Output)>, String> {
    let Some(Question::Sweep(sweep)) = &record.plan.question else {
        return Err("only a sweep has points for charts: see volproof sweep --help".into());
    };
    let folders = [AxisOption::Bs, AxisOption::Rwmix];
    let folders = folders.into_iter().filter(|option| sweep.axes.iter().any(|axis| axis.option == *option));
    let folders: Vec<AxisOption> = folders.collect();
    let mut points: BTreeMap<PathBuf, Vec<&StepRecord>> = BTreeMap::new();
    let measured = record.plan.steps.iter().skip(record.plan.precondition_steps());
    for step in measured {
        let Some(done) = record.steps.iter().find(|done| done.name == step.name) else { continue };
        let words = folders.iter().map(|option| option.show(option.value_in(step)).replace('%', "r"));
        let file = format!("{}-{}-{}.json", step.rw, step.iodepth, step.numjobs);
        points.entry(words.chain([file]).collect()).or_default().push(done);
    }
    let mut alone = record.clone();
    let mut reports = Vec::new();
    for (path, mut runs) in points {
        runs.sort_by(|a, b| a.iops().total_cmp(&b.iops()));
        alone.steps = vec![runs[runs.len() / 2].clone()];
        reports.push((path, of_record(&alone)));
    }
    Ok(reports)
}
