//! Paths by which the guard cannot look at a file, and those that lead elsewhere once fio has made a folder, removed a link or opened a
//! file: no door lets a write through, and no byte changes.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use crate::guard::rig::{Rig, consent, done, started, volproof};

/// The options of fio with which it writes to an existing file of 16 MiB: by our own engine, by the installed fio, and where it only reads.
const OWN: [&str; 2] = ["--rw=randwrite --io_size=64k", "--rw=randread --size=40m --io_size=64k"];
const INSTALLED: [&str; 2] =
    ["--rw=write --io_size=64k --verify=crc32c", "--rw=randread --size=40m --io_size=64k --iodepth_low=1"];

fn installed() -> &'static [&'static str] {
    if Command::new("fio").arg("--version").output().is_ok() {
        return &INSTALLED;
    }
    eprintln!("skipped: fio is not installed");
    &[]
}

fn fio(rig: &Rig, within: &[&str], target: &str, options: &str) -> (Option<i32>, String) {
    let line = format!("fio --name=a --filename={target} {options}");
    volproof(rig, within, &line.split(' ').map(OsStr::new).collect::<Vec<_>>())
}

/// `fio` refuses this file with these options, and its bytes stay.
fn refused(rig: &Rig, within: &[&str], target: &str, bytes: &Path, options: &[&str], why: &str) {
    let before = fs::read(bytes).unwrap();
    for options in options {
        let (code, said) = fio(rig, within, target, options);
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(code == Some(3) && said.contains(why), "{target} {options}: {code:?} {said}");
        assert!(fs::read(bytes).unwrap() == before, "{target} {options}: it was written to");
    }
}

/// `run` refuses this file.
fn run_refused(rig: &Rig, target: &str, why: &str) {
    let line = format!("run {target} --overwrite=shared --rw randwrite --bs 4k --runtime 50ms --json r.json");
    let (code, said) = volproof(rig, &[], &line.split(' ').map(OsStr::new).collect::<Vec<_>>());
    assert!(code == Some(3) && said.contains(why), "{target}: {code:?} {said}");
}

#[test]
fn a_deleted_image_is_written_by_no_descriptor() {
    let Some(mut rig) = Rig::new() else { return };
    let image = rig.image("deleted.img", 16);
    let file = File::options().read(true).write(true).open(&image).unwrap();
    let device = rig.loop_over(&image, &[]);
    rig.filesystem(&device);
    rig.mount(&device);
    fs::remove_file(&image).unwrap();
    let bytes = format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd());
    let inherit = format!("exec 6<>{bytes}; exec \"$@\"");
    let within = ["sh", "-c", &inherit, "sh"];
    let by_us = "leads to a file or folder that no path here leads to";
    // A file that has the name which the link shows is another one.
    for decoy in [false, true] {
        if decoy {
            rig.image("deleted.img (deleted)", 16);
        }
        run_refused(&rig, &bytes, by_us);
        for (within, target) in [(&[][..], &*bytes), (&within, "/dev/fd/6"), (&within, "/proc/self/fd/6")] {
            refused(&rig, within, target, Path::new(&bytes), &OWN, by_us);
            refused(&rig, within, target, Path::new(&bytes), installed(), by_us);
        }
        refused(
            &rig,
            &["sh", "-c", &format!("exec \"$@\" <>{bytes}"), "sh"],
            "/dev/stdin",
            Path::new(&bytes),
            installed(),
            by_us,
        );
    }
}

#[test]
fn an_image_of_another_mount_namespace_is_not_written() {
    let Some(mut rig) = Rig::new() else { return };
    let place = rig.path("hidden");
    fs::create_dir(&place).unwrap();
    // The same name is another file here.
    File::create(place.join("z.img")).unwrap().set_len(16 << 20).unwrap();
    let script = "mount -t tmpfs t \"$0\" && truncate -s 16M \"$0/z.img\" && echo made && exec cat";
    let mut command = Command::new("unshare");
    let child = started(
        command.args(["--mount", "--propagation", "private", "sh", "-c", script]).arg(&place),
        "made",
    );
    let target = format!("/proc/{}/root{}/z.img", child.id(), place.display());
    rig.keep(child);
    let by_us = "leads to a file or folder that no path here leads to";
    run_refused(&rig, &target, by_us);
    refused(&rig, &[], &target, Path::new(&target), &OWN, by_us);
    refused(&rig, &[], &target, Path::new(&target), installed(), by_us);
}

#[test]
fn a_path_back_over_what_is_no_folder_is_not_written() {
    let Some(mut rig) = Rig::new() else { return };
    let image = rig.image("a.img", 16);
    rig.loop_over(&image, &[]);
    fs::create_dir(rig.path("folder")).unwrap();
    fs::write(rig.path("file"), "data").unwrap();
    symlink("folder", rig.path("link")).unwrap();
    symlink("later/../a.img", rig.path("dangling")).unwrap();
    for target in ["new/../a.img", "new/deep/../../a.img", "folder/new/../../a.img"] {
        for options in OWN.iter().chain(installed()) {
            let sized = format!("{options} --size=1m");
            refused(&rig, &[], target, &image, &[&sized], "without `..`");
        }
    }
    let before = fs::read(&image).unwrap();
    for target in ["file/../a.img", "dangling"] {
        for options in OWN.iter().chain(installed()) {
            let ran = fio(&rig, &[], target, &format!("{options} --size=1m"));
            assert!(!done(&ran) && fs::read(&image).unwrap() == before, "{target} {options}: {ran:?}");
        }
    }
    let file = rig.path("new/../a.img");
    let own = [&*format!("--rw=randwrite --size=1m --filename={}", file.display())];
    refused(&rig, &[], "folder/b.img", &image, &own, "without `..`");
    assert!(!rig.path("new").exists() && !rig.path("later").exists(), "a folder was made");
    // The same image by ways that are decided is refused for what it is, and a free file is written.
    refused(&rig, &[], "folder/../a.img", &image, installed(), "loop-file");
    refused(&rig, &[], "link/../a.img", &image, &OWN[..1], "loop-file");
    refused(&rig, &[], "link/../a.img", &image, installed(), "loop-file");
    for options in OWN[..1].iter().chain(installed().first()) {
        let (code, said) = fio(&rig, &[], "folder/../free.img", &format!("{options} --size=1m"));
        assert!(done(&(code, said.clone())), "{code:?} {said}");
    }
}

/// fio takes a link that has the name of a job as its file.
#[test]
fn a_link_with_the_name_of_a_job_is_the_file_of_the_job() {
    let Some(mut rig) = Rig::new() else { return };
    let image = rig.image("a.img", 16);
    rig.loop_over(&image, &[]);
    symlink("a.img", rig.path("job")).unwrap();
    let before = fs::read(&image).unwrap();
    for options in OWN.iter().chain(installed()) {
        let line = format!("fio --name=job {options} --size=40m");
        let (code, said) = volproof(&rig, &[], &line.split(' ').map(OsStr::new).collect::<Vec<_>>());
        assert!(code == Some(3) && said.contains("loop-file"), "{line}: {code:?} {said}");
        assert!(fs::read(&image).unwrap() == before, "{line}: it was written to");
    }
}

#[test]
fn a_device_that_sysfs_does_not_show_is_not_written() {
    let Some(mut rig) = Rig::new() else { return };
    let image = rig.image("a.img", 16);
    let device = rig.loop_over(&image, &[]);
    let agreed = format!("--destroy={} --rw=randwrite --io_size=64k", consent(&rig, &device));
    let cover = "mount -t tmpfs none /sys && exec \"$@\"";
    let within = ["unshare", "--mount", "--propagation", "private", "sh", "-c", cover, "sh"];
    let target = device.to_str().unwrap().to_string();
    let handed = format!("{agreed} --verify=crc32c");
    let options: Vec<&str> = if installed().is_empty() { vec![&agreed] } else { vec![&agreed, &handed] };
    refused(&rig, &within, &target, &image, &options, "sysfs");
}
