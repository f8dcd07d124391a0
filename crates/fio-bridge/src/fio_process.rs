//! The installed fio as an engine: a step goes in as a job file, intervals come out as from our own workers.
//!
//! fio reports every 100 ms as `json+`. The reports come through a pipe of their own and become [`volproof_base::sample::Interval`]s at once
//! (see [`super::increments`]). It opens the descriptors that were cleared, through `/proc/PID/fd`, so that what was checked is what it writes.
//! It runs in a process group of its own, is asked to stop by SIGINT, and does not outlive us.

use std::io::{BufRead, BufReader, PipeReader, PipeWriter, Read, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open, pidfd_send_signal};

use super::increments::{Increments, window};
use super::installed;
use super::write_jobs::{self, Inexpressible, JobTarget};
use fio_formats::json_read;
use fio_formats::output::{Output, OutputRow};
use volproof_base::own_process::number_in_proc;
use volproof_base::sample::{CpuTime, Series};
use volproof_base::unit::Nanos;
use volproof_device::device::Root;
use volproof_engine::{DRAIN, FailedIos, Load, StepOutcome, Watch, WorkerEnd};
use volproof_record::FioRun;

/// The oldest version whose reports have all that is needed: sample counts and percentiles of total latency.
const OLDEST: (u32, u32) = (3, 18);
/// Time between interim reports.
const EVERY: Duration = Duration::from_millis(100);

/// An fio that can be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fio {
    /// The program.
    pub path: PathBuf,
    /// The answer to `--version`, such as `fio-3.33`.
    pub version: String,
}

/// Why fio could not run a step.
#[derive(Debug, thiserror::Error)]
pub enum FioError {
    /// There is none.
    #[error(
        "no fio is installed (looked in PATH): install it (`apt install fio`), or use volproof's own engines"
    )]
    Missing,
    /// It is too old.
    #[error("{} is {version}: 3.18 is the oldest whose reports can be used; install a newer one", path.display())]
    Old {
        /// The program.
        path: PathBuf,
        /// The program's answer.
        version: String,
    },
    /// The step has no counterpart.
    #[error(transparent)]
    Inexpressible(#[from] Inexpressible),
    /// It could not be started, or said why it gave up.
    #[error("fio {0}")]
    Failed(String),
}

impl Fio {
    /// The first fio in PATH that is not this program under another name.
    ///
    /// # Errors
    /// When there is none, or only one that is too old.
    pub fn find() -> Result<Fio, FioError> {
        let found = installed::find(&std::env::var_os("PATH").unwrap_or_default());
        let path = found.ok_or(FioError::Missing)?;
        // In a group of its own, a Ctrl-C in the terminal does not end it before it has answered.
        let said = Command::new(&path).arg("--version").process_group(0).stdin(Stdio::null()).output();
        let said =
            said.map_err(|e| FioError::Failed(format!("at {} does not start: {e}", path.display())))?;
        if !said.status.success() {
            let (path, status) = (path.display(), said.status);
            return Err(FioError::Failed(format!("at {path} does not answer --version ({status})")));
        }
        let version = String::from_utf8_lossy(&said.stdout).trim().to_string();
        match number(&version) {
            Some(v) if v >= OLDEST => Ok(Fio { path, version }),
            _ => Err(FioError::Old { path, version }),
        }
    }

    /// Runs a step. `watch` is called about every 100 ms from this thread; it ends the load by returning false.
    ///
    /// # Errors
    /// When the step cannot be expressed, or fio ends without a report.
    pub fn run(
        &self,
        load: &Load<'_>,
        watch: &mut dyn FnMut(Watch<'_>) -> bool,
    ) -> Result<StepOutcome, FioError> {
        // Another program cannot wait with ours for a common start.
        load.gate.inspect(|gate| gate.withdraw());
        let began = Instant::now();
        let (reports_in, reports_out) =
            std::io::pipe().map_err(|e| FioError::Failed(format!("cannot be listened to: {e}")))?;
        let (shown, opened) = (places(load, false), places(load, true));
        let job_file = job_file(load, &shown)?;
        let arguments = arguments(&descriptor(&reports_out));
        let mut child = self.start(&arguments, &self::job_file(load, &opened)?)?;
        let said = gather(child.stderr.take(), child.stdout.take());
        let inbox = listen(reports_in);
        let mut outcome = StepOutcome {
            series: vec![Series::default(); load.targets.len()],
            set_up: Nanos(began.elapsed().as_nanos() as u64),
            ..StepOutcome::default()
        };
        let attended = attend(load, &mut child, reports_out, &inbox, &mut outcome, watch);
        let status = child.wait().map_err(|e| FioError::Failed(e.to_string()))?;
        // A job that cannot be ended holds the streams of messages open.
        let said = if attended.hung { String::new() } else { said.join().unwrap_or_default() };
        let Some(last) = attended.last else {
            if outcome.interrupted {
                // The signal came before fio had measured anything.
                return Ok(outcome);
            }
            let said = if said.trim().is_empty() {
                format!("gave no report ({status})")
            } else {
                said.trim().into()
            };
            return Err(FioError::Failed(said));
        };
        close(load, &last, &mut outcome);
        let mut command = vec![self.path.display().to_string()];
        command.extend(self::arguments("FILE"));
        outcome.fio = Some(FioRun { version: self.version.clone(), command, job_file });
        Ok(outcome)
    }

    fn start(&self, arguments: &[String], job_file: &str) -> Result<Child, FioError> {
        let mut command = installed::command(&self.path);
        command
            .args(arguments)
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command
            .spawn()
            .map_err(|e| FioError::Failed(format!("at {} does not start: {e}", self.path.display())))?;
        let mut input = child.stdin.take().expect("it was piped");
        input
            .write_all(job_file.as_bytes())
            .map_err(|e| FioError::Failed(format!("did not take its job file: {e}")))?;
        Ok(child)
    }
}

/// `fio-3.33` and `fio-3.33-5-gabc` are (3, 33).
fn number(version: &str) -> Option<(u32, u32)> {
    let mut parts = version.strip_prefix("fio-")?.split(['.', '-']);
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

/// A descriptor of ours as another process opens it.
fn descriptor(fd: &impl AsRawFd) -> String {
    format!("/proc/{}/fd/{}", number_in_proc().unwrap_or_default(), fd.as_raw_fd())
}

fn places(load: &Load<'_>, open: bool) -> Vec<JobTarget> {
    let mut places = Vec::new();
    for target in load.targets {
        let Some(clearance) = &target.clearance else { continue };
        let path = if open { descriptor(&clearance.as_fd()) } else { clearance.path().display().to_string() };
        places.push(JobTarget { path, size: Some(target.size) });
    }
    places
}

/// One section for each target; each is a reporting group, so that each has a row.
fn job_file(load: &Load<'_>, places: &[JobTarget]) -> Result<String, Inexpressible> {
    let mut step = load.step.clone();
    step.engine = load.engine;
    // What the pipeline has done already.
    step.delay = Nanos(0);
    if !load.cpus.is_empty() {
        step.cpus = Some(volproof_plan::CpuList(load.cpus.to_vec()));
    }
    let mut text = String::new();
    for (n, mut options) in write_jobs::sections(&step, places, load.seed)?.into_iter().enumerate() {
        for (name, value) in [
            ("new_group", "1"),
            ("lat_percentiles", "1"),
            ("clat_percentiles", "0"),
            ("allow_file_create", "0"),
        ] {
            options.push((name, value.into()));
        }
        if load.continue_on_error {
            options.push(("continue_on_error", "io".into()));
        }
        let name = if n == 0 { step.name.clone() } else { format!("{}-{}", step.name, n + 1) };
        write_jobs::write_job(&mut text, &step, &name, &options)?;
    }
    Ok(text)
}

fn arguments(reports: &str) -> Vec<String> {
    let every = format!("--status-interval={}ms", EVERY.as_millis());
    let output = format!("--output={reports}");
    ["--eta=never", "--output-format=json+", &every, &output, "-"].map(String::from).to_vec()
}

/// fio's messages beside its reports.
fn gather(
    errors: Option<std::process::ChildStderr>,
    text: Option<std::process::ChildStdout>,
) -> std::thread::JoinHandle<String> {
    std::thread::spawn(move || {
        let mut said = String::new();
        for source in
            [errors.map(|e| Box::new(e) as Box<dyn Read>), text.map(|t| Box::new(t) as Box<dyn Read>)]
        {
            // What cannot be read was not said.
            let _ = source.map(|s| s.take(1 << 16).read_to_string(&mut said));
        }
        said
    })
}

/// Cuts the stream into reports: each ends with a brace at the beginning of a line.
fn listen(stream: PipeReader) -> Receiver<Output> {
    let (reports, inbox) = channel();
    std::thread::spawn(move || {
        let mut stream = BufReader::new(stream);
        let (mut report, mut line) = (Vec::new(), Vec::new());
        loop {
            line.clear();
            if !matches!(stream.read_until(b'\n', &mut line), Ok(n) if n > 0) {
                return;
            }
            report.extend_from_slice(&line);
            if line == b"}\n" {
                // A report that cannot be read is passed over: the next one holds all that it held.
                let mut outputs = json_read::read(&report).unwrap_or_default().into_iter();
                if outputs.any(|output| reports.send(output).is_err()) {
                    return;
                }
                report.clear();
            }
        }
    });
    inbox
}

/// The processes that fio forked, one for each job. Each leads a session of its own, where no signal to fio's group reaches it: it would go on
/// with its I/O, and hold the stream of reports open, after fio is gone.
#[derive(Default)]
struct ForkedJobs {
    known: Vec<(i32, OwnedFd)>,
}

impl ForkedJobs {
    /// Looks for jobs that fio has forked meanwhile.
    fn look(&mut self, fio: u32) {
        // The main thread forks all of them. Linux without CONFIG_PROC_CHILDREN has no such file.
        let list = Root::system().path(format!("/proc/{fio}/task/{fio}/children"));
        let children = std::fs::read_to_string(list).unwrap_or_default();
        for child in children.split_whitespace().filter_map(|pid| pid.parse::<i32>().ok()) {
            let new = self.known.iter().all(|(pid, _)| *pid != child);
            if let Some(pid) = Pid::from_raw(child).filter(|_| new)
                && let Ok(open) = pidfd_open(pid, PidfdFlags::empty())
            {
                self.known.push((child, open));
            }
        }
    }

    /// Ends those that still run.
    fn kill(&self) {
        for (_, job) in &self.known {
            // It may have ended, which is what is wanted.
            let _ = pidfd_send_signal(job, Signal::KILL);
        }
    }
}

/// The end of a fio that was watched.
struct Attended {
    last: Option<Output>,
    /// A job of fio did not end, not even when it was killed: the kernel holds it.
    hung: bool,
}

/// A fio that has ended leaves its stream of reports to be read for so long, before its jobs are killed: it gives up jobs that do not end.
const LEFT_TO_READ: Duration = Duration::from_secs(2);

/// Watches fio to its end, and to that of the jobs that it forked.
fn attend(
    load: &Load<'_>,
    child: &mut Child,
    reports_out: PipeWriter,
    inbox: &Receiver<Output>,
    outcome: &mut StepOutcome,
    watch: &mut dyn FnMut(Watch<'_>) -> bool,
) -> Attended {
    let began = Instant::now();
    let mut reports_out = Some(reports_out);
    let mut increments = Increments::new(load.targets.len(), load.step.numjobs);
    let (mut last, mut told, mut ticked): (Option<Output>, Option<Instant>, _) = (None, None, began);
    let mut fresh = Vec::new();
    let (mut jobs, mut gone, mut hung): (_, Option<Instant>, _) = (ForkedJobs::default(), None, false);
    loop {
        match inbox.recv_timeout(EVERY / 2) {
            Ok(report) => {
                fresh.extend(increments.add(&report));
                last = Some(report);
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        if reports_out.is_some() && !matches!(child.try_wait(), Ok(None)) {
            // The stream ends when nobody can write to it any more.
            reports_out = None;
            gone = Some(Instant::now());
        }
        if let Some(since) = gone.map(|at| at.elapsed()).filter(|since| *since > LEFT_TO_READ) {
            jobs.kill();
            if since > LEFT_TO_READ + Duration::from(DRAIN) {
                hung = true;
                break;
            }
        }
        if ticked.elapsed() >= EVERY {
            ticked = Instant::now();
            jobs.look(child.id());
            let elapsed = Nanos(began.elapsed().as_nanos() as u64);
            let go_on = watch(Watch { elapsed: Some(elapsed), fresh: &fresh });
            keep(&mut fresh, load.step.numjobs, outcome);
            if !go_on && told.is_none() {
                outcome.interrupted = true;
                told = Some(Instant::now());
                signal(child, Signal::INT);
            } else if told.is_some_and(|t| t.elapsed() > Duration::from(DRAIN)) {
                signal(child, Signal::KILL);
                jobs.kill();
            }
        }
    }
    if let Some(last) = &last {
        fresh.extend(increments.finish(last));
    }
    keep(&mut fresh, load.step.numjobs, outcome);
    Attended { last, hung }
}

fn keep(fresh: &mut Vec<volproof_base::sample::Interval>, jobs: u32, outcome: &mut StepOutcome) {
    for interval in fresh.drain(..) {
        outcome.series[(interval.worker / jobs) as usize].add(&interval);
    }
}

/// To fio, which tells its jobs. It may be gone already, which is what was wanted.
fn signal(child: &Child, signal: Signal) {
    if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        let _ = kill_process_group(group, signal);
    }
}

/// The last report's rows of each target.
fn close(load: &Load<'_>, last: &Output, outcome: &mut StepOutcome) {
    for (t, (series, job)) in outcome.series.iter_mut().zip(&last.jobs).enumerate() {
        series.close(window(job));
        for j in 0..load.step.numjobs {
            outcome.ends.push(end(job, t as u32 * load.step.numjobs + j, load.step.numjobs, j == 0));
        }
    }
}

/// The end of one of the jobs of a row: fio reports the row's CPU time as one, errors too.
fn end(job: &OutputRow, worker: u32, jobs: u32, first: bool) -> WorkerEnd {
    let runtime = job.runtime.unwrap_or(window(job)).0 as f64 / f64::from(jobs.max(1));
    let cpu = job.cpu.unwrap_or_default();
    let errors = job.errors.unwrap_or(0).max(u64::from(job.error != 0));
    let failed = (first && job.error != 0).then(|| {
        format!("fio's job ended with error {}: {}", job.error, std::io::Error::from_raw_os_error(job.error))
    });
    WorkerEnd {
        worker,
        window: window(job),
        errors: FailedIos { count: if first { errors } else { 0 }, first: Vec::new() },
        cpu: CpuTime {
            user: Nanos((cpu.user * runtime) as u64),
            system: Nanos((cpu.system * runtime) as u64),
            switches: if first { cpu.switches } else { 0 },
            major_faults: if first { cpu.major_faults } else { 0 },
            minor_faults: if first { cpu.minor_faults } else { 0 },
        },
        features: vec!["the installed fio".into()],
        failed,
        ..WorkerEnd::default()
    }
}

#[cfg(test)]
mod tests {
    use super::number;

    #[test]
    fn versions_are_read() {
        assert_eq!(number("fio-3.33"), Some((3, 33)));
        assert_eq!(number("fio-3.36-59-gdeadbeef"), Some((3, 36)));
        assert_eq!(number("fio-2.2.8"), Some((2, 2)));
        assert_eq!(number("volproof 0.1"), None);
    }
}
