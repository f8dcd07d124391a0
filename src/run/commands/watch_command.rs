//! `watch`: a volume under somebody else's load, as long as it lasts. It reads counters, and writes its own files alone.

use std::io::IsTerminal;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::Context;

use crate::cli::WatchArgs;
use crate::promise_options::judged_promise;
use crate::run::watch_file::{WatchFile, total_of};
use crate::run::watch_screen::WatchScreen;
use crate::run::watched_disk::{WatchedDisk, disk_below, is_disk, lasting_key};
use crate::run::{Failure, chain, code_after_outputs, end_signals, leftover, output, show_text};
use crate::ui;
use volproof_base::unit::{Bytes, Nanos, grouped, significant, throughput};
use volproof_device::device::{self, Block, Facts, Root};
use volproof_device::output::{FileIdentity, OutputFile, OutputKind, apart};
use volproof_judge::promised_time;
use volproof_promise::catalogue::promised_level::PromiseDirection;
use volproof_record::exit::Exit;
use volproof_record::{JudgedPromise, Metric};
use volproof_report::watch_metrics::{self, WatchNow};
use volproof_report::watch_text;
use volproof_watch::{
    ClockReading, WatchAnswer, WatchFrame, WatchHeader, WatchHistory, WatchLimits, WatchSpan, Watcher,
};

/// Between two readings of the counters.
const TICK: Duration = Duration::from_millis(100);
/// Between two files of metrics.
const METRICS_EVERY: Nanos = Nanos::seconds(15);
/// Between two looks for a disk that has gone away.
const LOOK_EVERY: Nanos = Nanos::seconds(1);
/// Between two looks whether the disk of this name is still the one that is watched.
const CHECK_EVERY: Nanos = Nanos::seconds(10);
/// Between two times that old minutes become hours.
const SHORTEN_EVERY: Nanos = Nanos::seconds(86_400);
/// A clock that differs by more from one that nobody sets was set.
const CLOCK_STEP_MS: i64 = 2000;
/// The requests that decide how many a promise allows, and those that decide how many bytes.
const SMALL: Bytes = Bytes::kib(4);
const LARGE: Bytes = Bytes::mib(1);

/// `watch`.
///
/// # Errors
/// Of input, and files that cannot be written.
pub fn watch(args: &WatchArgs) -> Result<Exit, Failure> {
    if let Some(option) = args.unheeded() {
        return Err(Failure::input(format!(
            "{option} is about a load of volproof's own, and a watch has none: leave it out"
        )));
    }
    let root = Root::system();
    let facts = device::facts(&root, &args.target)?;
    let disk = disk_below(&root, &facts, &args.target).map_err(|e| Failure::input(chain(&e)))?;
    let header = header(args, &root, &disk).map_err(|e| Failure::input(chain(&e)))?;
    let path = args.file.clone().unwrap_or_else(|| default_file(&header.key));
    leftover::tell_of_outputs([path.as_path()]);
    let (file, history) = WatchFile::open(&path, &header.key).map_err(|e| Failure::input(chain(&e)))?;
    let metrics = metrics_file(args, &file)?;
    for remark in remarks(&facts, &disk, &header, history.as_ref(), file.path()) {
        ui::tell(&remark);
    }
    let interrupts = end_signals::counted(end_signals::all(), true)?;
    let screen = WatchScreen::begin(!args.no_live && std::io::stdout().is_terminal());
    let mut watch = RunningWatch::begin(root, header, file, history, metrics, screen)?;
    let watched = watch.run(args.length, &interrupts);
    let printed = watch.end().and_then(|history| {
        let answer = WatchAnswer::of_history(&history);
        show_text(&watch_text::answer(&history, &answer, None))
    });
    let rescued = watch.file.rescue().map_or(Ok(Exit::Done), |lost| Err(Failure::new(Exit::RunFailed, lost)));
    code_after_outputs([watched.map(|()| Exit::Done), rescued, printed], Exit::Done)
}

/// `SERIAL.watch` in this folder.
fn default_file(key: &str) -> PathBuf {
    let safe = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' };
    let name: String = key.chars().map(safe).take(100).collect();
    PathBuf::from(format!("{}.watch", name.trim_start_matches(['-', '.'])))
}

fn metrics_file(args: &WatchArgs, file: &WatchFile) -> Result<Option<OutputFile>, Failure> {
    let Some(path) = &args.openmetrics else { return Ok(None) };
    let output = output("--openmetrics", path, OutputKind::OpenMetrics, args.force)?;
    apart(&[&output], &[("the file of the watch".into(), FileIdentity::from_path(file.path()))])?;
    if output.is_stream() {
        return Err(Failure::input("--openmetrics writes a file every 15 s: name one"));
    }
    Ok(Some(output))
}

/// What is watched, and against what.
fn header(args: &WatchArgs, root: &Root, disk: &Block) -> anyhow::Result<WatchHeader> {
    let promise = judged_promise(&args.promise, Some(root), &[Some(disk.size_bytes)])?;
    if promise.is_none() && args.promise.min_share.is_some() {
        anyhow::bail!(
            "--min-share is a share of the time for which a promise is kept: name the promise with --promise"
        );
    }
    let limits = promise.as_ref().map(promised_limits).transpose()?;
    let reader = WatchedDisk::attach(root, &disk.name).context("its counters cannot be read")?;
    let mut page = reader;
    let has_page = page.has_page();
    page.read_page();
    let no_page = match page.no_page {
        Some(fault) => Some(format!("AWS's counters cannot be read: {fault}")),
        None => (!has_page).then(|| "no counters of a provider for this disk".to_string()),
    };
    Ok(WatchHeader {
        version: env!("CARGO_PKG_VERSION").into(),
        key: lasting_key(disk),
        disk: disk.name.clone(),
        size_bytes: disk.size_bytes,
        promise: promise
            .as_ref()
            .zip(limits.as_ref())
            .map(|(promise, limits)| promise_words(promise, limits)),
        options: promise.as_ref().map_or_else(Vec::new, |promise| promise.options.clone()),
        limits,
        share_of_time: promise
            .as_ref()
            .and_then(|promise| promise.min_share.or_else(|| share_of_kept_minutes(promise))),
        no_page,
    })
}

/// The promised share of minutes that are kept. A minute is kept from nine tenths of a rate on: words that grant no less say nothing of those.
fn share_of_kept_minutes(judged: &JudgedPromise) -> Option<f64> {
    let promised =
        [Metric::Iops, Metric::Throughput].into_iter().find_map(|rate| promised_time(judged, rate))?;
    (promised.level < 1.0).then_some(promised.share)
}

/// The rates of a promise, instance included.
fn promised_limits(judged: &JudgedPromise) -> anyhow::Result<WatchLimits> {
    let ios = |direction| judged.promise.least(SMALL, direction).map(|at| at.iops);
    let bytes = |direction| judged.promise.least(LARGE, direction).map(|at| at.bytes);
    let limits = WatchLimits {
        read_ios: ios(PromiseDirection::Read).unwrap_or_default(),
        write_ios: ios(PromiseDirection::Write).unwrap_or_default(),
        read_bytes: bytes(PromiseDirection::Read).unwrap_or_default(),
        write_bytes: bytes(PromiseDirection::Write).unwrap_or_default(),
    };
    anyhow::ensure!(
        limits.is_complete(),
        "this promise names no rate of reads and writes: a watch has nothing to hold it against"
    );
    Ok(limits)
}

fn promise_words(judged: &JudgedPromise, limits: &WatchLimits) -> String {
    let volume = judged.promise.volumes.first();
    let name =
        volume.map_or(String::new(), |volume| format!("{} {} GiB, ", volume.id, significant(volume.gib)));
    let instance = judged.promise.instance.as_ref().map_or(String::new(), |cap| format!(" on {}", cap.name));
    let ios = grouped(limits.read_ios.min(limits.write_ios) as u64);
    format!("{name}{ios} IOPS, {}{instance}", throughput(limits.read_bytes.min(limits.write_bytes)))
}

/// What the user has to know of this watch before it begins.
fn remarks(
    facts: &Facts,
    disk: &Block,
    header: &WatchHeader,
    history: Option<&WatchHistory>,
    path: &std::path::Path,
) -> Vec<String> {
    let mut told = Vec::new();
    if facts.device().is_some_and(|device| device.partition.is_some()) {
        told.push(format!(
            "the whole disk {} is watched: its partitions share what it is promised",
            disk.name
        ));
    }
    if !matches!(facts, Facts::Block(_)) {
        told.push(format!("the whole disk {} is watched: all that lies on it counts", disk.name));
    }
    if disk.serial.is_none() && disk.wwid.is_none() {
        told.push(format!("this disk has no serial number: its watch knows it as {}", header.key));
    }
    if header.no_page.as_deref().is_some_and(|why| why.contains("root")) {
        told.push("run as root to let the provider testify".into());
    }
    told.push(match history {
        Some(history) => {
            format!("goes on with {}, {} minutes and hours so far", path.display(), history.spans.len())
        }
        None => format!("begins {}", path.display()),
    });
    if let Some(torn) = history.map(|history| history.torn_bytes).filter(|torn| *torn > 0) {
        told.push(format!(
            "{torn} bytes at the end of {} were cut: a minute that was being written",
            path.display()
        ));
    }
    told
}

/// A watch that goes on.
struct RunningWatch {
    root: Root,
    began: Instant,
    header: WatchHeader,
    file: WatchFile,
    metrics: Option<OutputFile>,
    screen: WatchScreen,
    watcher: Watcher,
    disk: Option<WatchedDisk>,
    /// Since when the disk is away.
    away_since: Nanos,
    /// Sums since the file began.
    total: WatchSpan,
    next_check: Nanos,
    next_metrics: Nanos,
    next_shortening: Nanos,
    /// The clock of the machine less the one that nobody sets.
    clock_offset_ms: i64,
    /// A failure to write metrics was told.
    has_told_of_metrics: bool,
}

impl RunningWatch {
    fn begin(
        root: Root,
        header: WatchHeader,
        mut file: WatchFile,
        history: Option<WatchHistory>,
        metrics: Option<OutputFile>,
        screen: WatchScreen,
    ) -> Result<RunningWatch, Failure> {
        let began = Instant::now();
        let now = reading(began);
        let earlier = history.iter().flat_map(|history| &history.spans);
        let watcher = Watcher::begin(now, header.limits, earlier);
        tell(file.add(&[WatchFrame::Header(Box::new(header.clone()))]));
        Ok(RunningWatch {
            disk: WatchedDisk::attach(&root, &header.disk),
            root,
            began,
            header,
            file,
            metrics,
            screen,
            watcher,
            away_since: Nanos(0),
            total: total_of(history.as_ref()),
            next_check: CHECK_EVERY,
            next_metrics: Nanos::seconds(1),
            next_shortening: Nanos(0),
            clock_offset_ms: now.unix_ms - millis(now.elapsed),
            has_told_of_metrics: false,
        })
    }

    /// Reads the counters ten times a second, until the time is over or a signal came.
    fn run(&mut self, length: Option<Nanos>, interrupts: &AtomicUsize) -> Result<(), Failure> {
        let mut next = self.began;
        while interrupts.load(Ordering::Relaxed) == 0 {
            let now = reading(self.began);
            self.tick(now);
            self.keep(now)?;
            if length.is_some_and(|length| now.elapsed >= length) {
                return Ok(());
            }
            next += TICK;
            let pause = next.saturating_duration_since(Instant::now());
            // A machine that was held up takes up its pace again, and makes up for nothing.
            if pause.is_zero() {
                next = Instant::now();
            }
            std::thread::sleep(pause);
        }
        Ok(())
    }

    /// Takes one reading.
    fn tick(&mut self, now: ClockReading) {
        let offset = now.unix_ms - millis(now.elapsed);
        if (offset - self.clock_offset_ms).abs() > CLOCK_STEP_MS {
            self.watcher.clock_was_set(now, offset - self.clock_offset_ms);
            self.clock_offset_ms = offset;
        }
        let is_due = now.elapsed >= self.next_check;
        if is_due {
            self.next_check = Nanos(now.elapsed.0 + CHECK_EVERY.0);
        }
        let Some(disk) = &mut self.disk else { return self.look(now) };
        let is_another = is_due && !is_disk(&self.root, &disk.name, &self.header.key);
        let Some(counters) = disk.read().filter(|_| !is_another) else {
            self.disk = None;
            self.away_since = now.elapsed;
            return self.watcher.device(now, None);
        };
        self.watcher.sample(now, counters);
        let page = disk.read_page();
        if let Some(fault) = disk.no_page.take() {
            ui::tell(&format!("AWS's counters are not read any more: {fault}"));
        }
        if page.is_some() || !disk.has_page() {
            self.watcher.page(now, page);
        }
    }

    /// Looks for the disk that has gone away, under any name.
    fn look(&mut self, now: ClockReading) {
        let away = Nanos(now.elapsed.0 - self.away_since.0);
        // One look a second.
        if away.0 % LOOK_EVERY.0 >= TICK.as_nanos() as u64 {
            return;
        }
        if let Some(disk) = WatchedDisk::find(&self.root, &self.header.key) {
            self.header.disk.clone_from(&disk.name);
            self.disk = Some(disk);
            self.watcher.device(now, Some(away));
        }
    }

    /// Keeps what is finished, and shows it.
    fn keep(&mut self, now: ClockReading) -> Result<(), Failure> {
        let frames = self.watcher.take_frames();
        if !frames.is_empty() {
            tell(self.file.add(&frames));
            if self.file.is_overdue() {
                return Err(Failure::new(
                    Exit::RunFailed,
                    "the watch ends: no more may wait for room on the disk",
                ));
            }
            self.count(&frames);
            self.screen.added(&frames);
        }
        if now.elapsed >= self.next_shortening {
            self.next_shortening = Nanos(now.elapsed.0 + SHORTEN_EVERY.0);
            tell(self.file.shorten(now.unix_ms).err().map(|e| chain(&e)));
        }
        if now.elapsed >= self.next_metrics {
            self.next_metrics = Nanos(now.elapsed.0 + METRICS_EVERY.0);
            self.save_metrics();
        }
        self.screen.draw(now.elapsed, &self.file, &self.watcher.live());
        Ok(())
    }

    fn count(&mut self, frames: &[WatchFrame]) {
        for frame in frames {
            if let WatchFrame::Span(span) = frame {
                self.total.merge(span);
            }
        }
    }

    /// The screen names a file that cannot be written once, and the watch goes on.
    fn save_metrics(&mut self) {
        let now = WatchNow {
            header: &self.header,
            live: self.watcher.live(),
            total: &self.total,
            is_attached: self.disk.is_some(),
        };
        let Some(file) = &mut self.metrics else { return };
        let text = watch_metrics::openmetrics(&now);
        // The figures of a moment need no second place: the next ones come soon.
        let saved = file.save(&|out| out.write_all(text.as_bytes()));
        let had_told = std::mem::replace(&mut self.has_told_of_metrics, saved.is_err());
        if let Err(e) = saved
            && !had_told
        {
            let name = file.path().display();
            ui::tell(&format!("{name} could not be saved: {e}; the watch tries again every 15 s"));
        }
    }

    /// Ends it, and gives what its file holds.
    fn end(&mut self) -> Result<WatchHistory, Failure> {
        let now = reading(self.began);
        self.watcher.finish(now);
        let frames = self.watcher.take_frames();
        self.screen.end();
        self.count(&frames);
        self.save_metrics();
        tell(self.file.add(&frames));
        Ok(self.file.history()?)
    }
}

/// Tells the user what there is to tell.
fn tell(remark: Option<String>) {
    if let Some(remark) = remark {
        ui::tell(&remark);
    }
}

fn millis(time: Nanos) -> i64 {
    (time.0 / 1_000_000) as i64
}

fn reading(began: Instant) -> ClockReading {
    let unix = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    ClockReading { elapsed: Nanos(began.elapsed().as_nanos() as u64), unix_ms: unix.as_millis() as i64 }
}
