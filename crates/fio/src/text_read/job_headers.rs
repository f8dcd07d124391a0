//! The header lines of jobs, which fio prints before a run, as the headers of rows.

use std::collections::{HashMap, HashSet};

use crate::output::{Header, OutputRow};

/// Gives each row the header of its own job, known by name and group. A row without one stays without: the workload of another
/// job says nothing of it. Clones share one header; of several jobs of one name each row takes its own, where all are there.
pub(super) fn own_headers(headers: &[(String, u32, Header)], jobs: &mut [OutputRow]) {
    let mut by_job: HashMap<(&str, u32), Vec<&Header>> = HashMap::new();
    for (name, group, header) in headers {
        by_job.entry((name, *group)).or_default().push(header);
    }
    let mut rows: HashMap<(String, u32), usize> = HashMap::new();
    for job in jobs.iter() {
        *rows.entry((job.name.clone(), job.group)).or_default() += 1;
    }
    let alike: HashSet<(&str, u32)> =
        by_job.iter().filter(|(_, own)| are_alike(own)).map(|(job, _)| *job).collect();
    let all: Vec<&Header> = headers.iter().map(|(.., h)| h).collect();
    let all_alike = are_alike(&all);
    let mut told: HashMap<(String, u32), usize> = HashMap::new();
    for job in jobs {
        let key = (job.name.clone(), job.group);
        let sum = [ALL_CLIENTS, "all jobs"].contains(&job.name.as_str());
        let own = match by_job.get(&(job.name.as_str(), job.group)) {
            Some(own) if alike.contains(&(job.name.as_str(), job.group)) => own.first(),
            Some(own) if rows.get(&key) == Some(&own.len()) => {
                let nth = told.entry(key).or_default();
                *nth += 1;
                own.get(*nth - 1)
            }
            // A sum over all is of one workload where all had the same.
            None if sum && all_alike => all.first(),
            _ => None,
        };
        job.header = own.map(|h| (*h).clone());
    }
}

fn are_alike(headers: &[&Header]) -> bool {
    headers.iter().all(|h| *h == headers[0])
}

/// A group with one row and several jobs (`group_reporting`): the row sums them up, and has of their headers what they share. Returns what
/// is said of jobs that differ.
pub(super) fn sums_of_unlike_jobs(headers: &[(String, u32, Header)], jobs: &mut [OutputRow]) -> Vec<String> {
    let mut of_group: HashMap<u32, Vec<&(String, u32, Header)>> = HashMap::new();
    headers.iter().for_each(|header| of_group.entry(header.1).or_default().push(header));
    let mut rows: HashMap<u32, usize> = HashMap::new();
    jobs.iter().for_each(|job| *rows.entry(job.group).or_default() += 1);
    let mut said = Vec::new();
    for job in jobs.iter_mut().filter(|job| rows[&job.group] == 1 && job.members != 1) {
        let Some([first, rest @ ..]) = of_group.get(&job.group).map(Vec::as_slice) else { continue };
        if job.header.as_ref() != Some(&first.2) || rest.iter().all(|other| other.2 == first.2) {
            continue;
        }
        job.header = Some(rest.iter().fold(first.2.clone(), |all, other| all.with(&other.2)));
        said.push(format!(
            "the row of {} sums up {} jobs that differ (group_reporting)",
            job.name,
            rest.len() + 1
        ));
    }
    said
}

/// The row in which fio sums up its clients.
pub(super) const ALL_CLIENTS: &str = "All clients";
