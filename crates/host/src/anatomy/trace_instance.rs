//! An instance of the kernel's tracing of our own (`instances/volproof-PID-START` of tracefs): made, read, switched on and off, and removed
//! whatever happens.
//!
//! The folder is locked (`flock`) while its run lives. The kernel lets go of the lock with the process, so that the next start removes what a killed
//! run left. A lock on `instances` itself makes "create and lock" one step: nobody takes an instance for a leftover between the two.
//! Kernel: Documentation/trace/ftrace.rst ("Instances").

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::trace_page::{EventFormat, TraceEvent, TraceEventKind, read_page};
use crate::tune::{Owner, started};
use volproof_base::file_lock::locked_until;
use volproof_device::device::{DevNumber, Root};

/// Where systems mount tracefs.
const PLACES: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];
/// Begins the names of our instances.
const FRONT: &str = "volproof-";
/// Memory of the buffer of each CPU. A window of many CPUs holds fewer events of each.
const BUFFER_KIB: u32 = 1024;
const BUFFER_KIB_OF_MANY: u32 = 256;
const MANY_CPUS: usize = 32;

/// Making or looking through instances takes less.
const INSTANCES_WITHIN: Duration = Duration::from_secs(5);
/// The kernel lets go of the lock of a killed process a moment after its end.
const UNLOCKED_WITHIN: Duration = Duration::from_millis(500);

/// The folder of tracefs, where it is mounted.
pub fn tracefs(root: &Root) -> Option<PathBuf> {
    PLACES.into_iter().map(|place| root.path(place)).find(|place| place.join("instances").is_dir())
}

/// The raw buffer of a CPU.
struct CpuBuffer {
    cpu: u32,
    file: File,
}

/// An instance that this process has made.
pub struct TraceInstance {
    folder: PathBuf,
    buffers: Vec<CpuBuffer>,
    formats: Vec<EventFormat>,
    /// Holds the lock.
    _lock: File,
}

impl TraceInstance {
    /// Makes an instance that would record the requests of these disks, and is off.
    ///
    /// # Errors
    /// Which file of tracefs refuses what.
    pub fn make(tracefs: &Path, disks: &[DevNumber]) -> io::Result<TraceInstance> {
        if cfg!(not(all(target_endian = "little", target_pointer_width = "64"))) {
            return Err(ErrorKind::Unsupported.into());
        }
        let Owner { pid, start, .. } = Owner::me();
        let instances = tracefs.join("instances");
        let folder = instances.join(format!("{FRONT}{pid}-{start}"));
        let lock = {
            let _all = lock_instances(&instances)?;
            fs::create_dir(&folder).map_err(|e| named(&folder, &e))?;
            let lock = File::open(&folder).inspect_err(|_| drop(fs::remove_dir(&folder)))?;
            // Without locks an instance is never taken for a leftover.
            let _ = locked_until(&lock, Instant::now());
            lock
        };
        let prepared = prepare(&folder, disks, lock);
        prepared.inspect_err(|_| drop(fs::remove_dir(&folder)))
    }

    /// Begins or ends recording. The kernel changes its own code for that, so that requests cost nothing while it is off.
    ///
    /// # Errors
    /// Which file refuses it.
    pub fn record(&self, on: bool) -> io::Result<()> {
        let value = if on { "1" } else { "0" };
        TraceEventKind::ALL.into_iter().try_for_each(|kind| set(&self.event(kind).join("enable"), value))
    }

    /// Takes the events that were recorded since the last call, CPU by CPU; whether all of them are there.
    ///
    /// # Errors
    /// A buffer cannot be read, or holds what is no page.
    pub fn take(&mut self, events: &mut Vec<TraceEvent>) -> io::Result<bool> {
        let mut page = vec![0; 1 << 16];
        let mut is_whole = true;
        for CpuBuffer { cpu, file } in &mut self.buffers {
            loop {
                let length = match file.read(&mut page) {
                    Ok(0) => break,
                    Ok(length) => length,
                    Err(e) if e.kind() == ErrorKind::WouldBlock => break,
                    Err(e) if e.kind() == ErrorKind::Interrupted => continue,
                    Err(e) => return Err(e),
                };
                let missed = read_page(&page[..length], *cpu, &self.formats, events);
                is_whole &= !missed.map_err(io::Error::other)?;
            }
        }
        Ok(is_whole)
    }

    fn event(&self, kind: TraceEventKind) -> PathBuf {
        event_folder(&self.folder, kind)
    }
}

impl Drop for TraceInstance {
    fn drop(&mut self) {
        let _ = self.record(false);
        // The kernel keeps an instance whose files are open.
        self.buffers.clear();
        let _ = fs::remove_dir(&self.folder);
    }
}

fn event_folder(instance: &Path, kind: TraceEventKind) -> PathBuf {
    instance.join("events/block").join(kind.name())
}

/// Holds the lock on the folder of all instances until it is dropped.
fn lock_instances(instances: &Path) -> io::Result<File> {
    let all = File::open(instances).map_err(|e| named(instances, &e))?;
    let _ = locked_until(&all, Instant::now() + INSTANCES_WITHIN);
    Ok(all)
}

fn prepare(folder: &Path, disks: &[DevNumber], lock: File) -> io::Result<TraceInstance> {
    // The clock of our own stamps.
    set(&folder.join("trace_clock"), "mono")?;
    // Names of processes would cost time at each change of process.
    let _ = set(&folder.join("trace_options"), "norecord-cmd");
    let cpus = cpus(folder)?;
    let kib = if cpus.len() > MANY_CPUS { BUFFER_KIB_OF_MANY } else { BUFFER_KIB };
    set(&folder.join("buffer_size_kb"), &kib.to_string())?;
    let of_disk = |disk: &DevNumber| format!("dev == {}", kernel_number(*disk));
    let filter = disks.iter().map(of_disk).collect::<Vec<_>>().join(" || ");
    let mut formats = Vec::new();
    for kind in TraceEventKind::ALL {
        let event = event_folder(folder, kind);
        set(&event.join("filter"), &filter)?;
        let path = event.join("format");
        let text = fs::read_to_string(&path).map_err(|e| named(&path, &e))?;
        let format = EventFormat::parse(kind, &text);
        formats.push(format.ok_or_else(|| named(&path, &ErrorKind::InvalidData.into()))?);
    }
    let mut buffers = Vec::new();
    for cpu in cpus {
        let path = folder.join(format!("per_cpu/cpu{cpu}/trace_pipe_raw"));
        let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(&path);
        buffers.push(CpuBuffer { cpu, file: file.map_err(|e| named(&path, &e))? });
    }
    Ok(TraceInstance { folder: folder.into(), buffers, formats, _lock: lock })
}

/// The CPUs that have a buffer.
fn cpus(folder: &Path) -> io::Result<Vec<u32>> {
    let path = folder.join("per_cpu");
    let entries = fs::read_dir(&path).map_err(|e| named(&path, &e))?;
    let names = entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    Ok(names.filter_map(|name| name.strip_prefix("cpu")?.parse().ok()).collect())
}

/// The number of a disk within the kernel.
pub fn kernel_number(disk: DevNumber) -> u32 {
    disk.major << 20 | disk.minor
}

fn set(path: &Path, value: &str) -> io::Result<()> {
    fs::write(path, value).map_err(|e| named(path, &e))
}

fn named(path: &Path, e: &io::Error) -> io::Error {
    io::Error::new(e.kind(), format!("{}: {e}", path.display()))
}

/// Removes the instances that killed runs left; the names of those that went, and of those that stay with the reason.
pub fn remove_left(root: &Root) -> Vec<(PathBuf, io::Result<()>)> {
    let Some(instances) = tracefs(root).map(|tracefs| tracefs.join("instances")) else { return Vec::new() };
    // Who may not open the folder may not remove from it.
    let Ok(_all) = lock_instances(&instances) else { return Vec::new() };
    let entries = fs::read_dir(&instances).into_iter().flatten().flatten();
    let ours = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(FRONT));
    ours.filter_map(|entry| Some((entry.path(), remove_one(&entry.path())?))).collect()
}

/// Removes an instance; none where its run lives.
fn remove_one(folder: &Path) -> Option<io::Result<()>> {
    let lock = match File::open(folder) {
        Ok(lock) => lock,
        // Its run has removed it.
        Err(e) if e.kind() == ErrorKind::NotFound => return None,
        Err(e) => return Some(Err(e)),
    };
    let wait = if runs(folder) { Duration::ZERO } else { UNLOCKED_WITHIN };
    match locked_until(&lock, Instant::now() + wait) {
        Ok(true) => {}
        Ok(false) => return None,
        Err(e) => return Some(Err(e.into())),
    }
    let _ = fs::write(folder.join("events/enable"), "0");
    Some(fs::remove_dir(folder))
}

/// The process that an instance is named after is seen to run.
fn runs(folder: &Path) -> bool {
    let name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let maker = name.strip_prefix(FRONT).and_then(|rest| rest.split_once('-'));
    let Some((Ok(pid), Ok(start))) = maker.map(|(pid, start)| (pid.parse(), start.parse())) else {
        return false;
    };
    started(pid) == Some(start)
}
