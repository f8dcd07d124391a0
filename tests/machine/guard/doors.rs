//! Every door to a target has one rule: each way to start a write, tried on each kind of target in use, is refused and changes no byte; on
//! targets that are free it writes. Outputs are doors too: none overwrites a device, or a file that the kernel uses as a disk.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::guard::alone::mounted_images::{erofs_image, mounted_directly};
use crate::guard::rig::{Rig, consent, done, overlay, volproof};

/// Ways to start a write, with the name of the target in place of `TARGET`. The word before a colon says where a door is tried: with the
/// installed fio, on devices, on files, or only where it is refused, because it takes long where it is not.
const DOORS: [&str; 24] = [
    "run TARGET --rw randwrite --bs 4k --runtime 50ms --tune off --json r.json --quiet --engine io_uring",
    "run TARGET --rw randrw --bs 4k --runtime 50ms --tune off --json r.json --quiet --engine libaio",
    "run TARGET --rw write --bs 4k --runtime 50ms --tune off --json r.json --quiet --engine psync",
    "run TARGET --rw randwrite --bs 4k --runtime 50ms --tune off --json r.json --quiet --direct=0",
    "run TARGET --rw randwrite --bs 4k --runtime 50ms --tune on --json r.json --quiet",
    "run TARGET --rw randtrim --bs 4k --runtime 50ms --tune off --json r.json --quiet --engine psync",
    "run TARGET --preset quick --runtime 50ms --ramp 0s --tune off --json r.json --quiet",
    "sweep TARGET --rw randwrite --bs 4k --iodepth 1,2 --numjobs 1 --rwmix 0 --runtime 50ms --ramp 0s --tune off --json r.json --quiet",
    "refused: slo TARGET --rw randwrite --bs 4k --p99 1s --iodepth 2 --runtime 10s --tune off --json r.json --quiet",
    "run --plan plan.toml TARGET --tune off --json r.json --quiet",
    "run TARGET --plan writes-later.toml --tune off --json r.json --quiet",
    "million TARGET 1 1 4k randwrite --runtime 50ms --tune off --json r.json --quiet",
    "fio --name=a --filename=TARGET --rw=randwrite --io_size=64k",
    "fio --name=a --filename=TARGET --rw=randread --io_size=64k --name=b --stonewall --filename=TARGET --rw=write --io_size=64k",
    "fio --name=a --filename=TARGET --rw=randwrite --ioengine=psync --io_size=64k --record=r.json",
    "device: fio --name=a --filename=TARGET --rw=randtrim --ioengine=psync --io_size=64k",
    "device: fio --name=a --filename=TARGET --rw=randread --io_size=64k --name=b --filename=TARGET --rw=trim --ioengine=psync --io_size=64k",
    "refused file: fio --name=a --filename=TARGET --rw=randread --size=40m --io_size=64k",
    "refused file: fio --name=a --filename=TARGET --rw=randread --size=1m --io_size=64k --unlink=1",
    "fio job.fio",
    "fio: run TARGET --rw randwrite --bs 4k --runtime 100ms --tune off --json r.json --quiet --engine fio",
    "fio: run TARGET --rw randwrite --bs 4k --runtime 100ms --cross-check 1 --tune off --json r.json --quiet",
    "fio: fio --name=a --filename=TARGET --rw=randwrite --io_size=64k --verify=crc32c",
    "fio refused file: fio --name=a --filename=TARGET --rw=randread --size=40m --io_size=64k --iodepth_low=1",
];

/// A target, and the bytes that must stay.
struct Target {
    name: &'static str,
    path: PathBuf,
    bytes: PathBuf,
    /// Words of the refusal; none for a target that may be written.
    refused: Option<&'static str>,
    device: bool,
    /// Others may have the file open.
    shared: bool,
    /// Stands before the program, such as `unshare`.
    within: Vec<String>,
}

impl Target {
    fn file(name: &'static str, path: PathBuf, bytes: &Path, refused: Option<&'static str>) -> Target {
        Target { name, path, bytes: bytes.into(), refused, device: false, shared: true, within: Vec::new() }
    }

    fn device(name: &'static str, path: &Path, bytes: &Path, refused: Option<&'static str>) -> Target {
        Target {
            name,
            path: path.into(),
            bytes: bytes.into(),
            refused,
            device: true,
            shared: true,
            within: Vec::new(),
        }
    }
}

/// A loop device with a mounted filesystem.
fn mounted(rig: &mut Rig, image: &Path) -> PathBuf {
    let device = rig.loop_over(image, &[]);
    rig.filesystem(&device);
    rig.mount(&device);
    device
}

/// Programs after these words have this device as their system disk: it carries `/`, and the machine's folders are seen in it.
fn on_system_disk(rig: &mut Rig, device: &Path) -> Vec<String> {
    let top = rig.mount(device);
    let program = Path::new(env!("CARGO_BIN_EXE_volproof")).parent().unwrap();
    // All that is written to it is written now: later a change of its bytes is a hole in the guard.
    for folder in
        ["/dev", "/proc", "/sys", "/usr", "/etc"].map(Path::new).into_iter().chain([program, rig.dir.path()])
    {
        fs::create_dir_all(top.join(folder.strip_prefix("/").unwrap())).unwrap();
    }
    for name in ["bin", "sbin", "lib", "lib64"] {
        symlink(Path::new("usr").join(name), top.join(name)).unwrap();
    }
    let script = "top=$0; cd /
        for folder in dev proc sys usr etc \"$1\" \"$2\"; do
            mount --rbind \"/$folder\" \"$top/$folder\" || exit 99
        done
        folder=$2; shift 2; exec chroot \"$top\" sh -c 'cd \"$0\" && exec \"$@\"' \"$folder\" \"$@\"";
    let words = ["unshare", "--mount", "--propagation", "private", "sh", "-c", script];
    let folders = [&top, program, rig.dir.path()].map(|folder| folder.to_str().unwrap().to_string());
    words.map(String::from).into_iter().chain(folders).collect()
}

fn targets(rig: &mut Rig) -> Vec<Target> {
    let mut all = Vec::new();
    let image = rig.path("erofs.img");
    erofs_image(&image);
    if let Some(place) = mounted_directly(&image) {
        rig.undo("umount", &[place.as_os_str()]);
        all.push(Target::file(
            "an image mounted without a loop device",
            image.clone(),
            &image,
            Some("mounted"),
        ));
        let over = rig.loop_over(&image, &[]);
        all.push(Target::device("a loop device over it", &over, &image, Some("mounted")));
    }
    let image = rig.image("mounted.img", 16);
    let link = rig.path("link.img");
    fs::hard_link(&image, &link).unwrap();
    let device = mounted(rig, &image);
    let second = rig.loop_over(&link, &[]);
    all.push(Target::file("the image of a mounted filesystem", image.clone(), &image, Some("loop-file")));
    all.push(Target::device("the mounted device", &device, &image, Some("mounted")));
    all.push(Target::device("a second loop device over it", &second, &image, Some("mounted")));

    let image = rig.image("parts.img", 32);
    let disk = rig.loop_over(&image, &[]);
    let add = ["addpart", disk.to_str().unwrap(), "1", "2048", "16384"].map(OsStr::new);
    rig.make(&add, Some(("delpart", &[disk.as_os_str(), OsStr::new("1")])));
    let part = PathBuf::from(format!("{}p1", disk.display()));
    rig.filesystem(&part);
    rig.mount(&part);
    all.push(Target::device("the disk of a mounted partition", &disk, &image, Some("mounted")));

    let image = rig.image("system.img", 16);
    let device = rig.loop_over(&image, &[]);
    rig.filesystem(&device);
    let within = on_system_disk(rig, &device);
    all.push(Target {
        within,
        ..Target::device("the system disk of a program", &device, &image, Some("system-disk"))
    });

    let image = rig.image("open.img", 16);
    let device = rig.loop_over(&image, &[]);
    rig.open(&device);
    all.push(Target::device("a device that is open", &device, &image, Some("open-for-writing")));
    let image = rig.image("open-file.img", 16);
    rig.open(&image);
    let open = Target::file("an open file", image.clone(), &image, Some("open-elsewhere"));
    all.push(Target { shared: false, ..open });

    let swap = rig.path("swap");
    fs::write(&swap, vec![0; 4 << 20]).unwrap();
    rig.make(&[OsStr::new("chmod"), OsStr::new("600"), swap.as_os_str()], None);
    rig.make(&[OsStr::new("mkswap"), swap.as_os_str()], None);
    if Command::new("swapon").arg(&swap).output().is_ok_and(|out| out.status.success()) {
        rig.undo("swapoff", &[swap.as_os_str()]);
        all.push(Target::file("a swap file", swap.clone(), &swap, Some("swap-file")));
    } else {
        eprintln!("skipped: this machine does not swap to a file");
    }
    let folder = rig.path("");
    if let Some([_, upper, seen]) = overlay(rig, "doors", &folder) {
        let image = upper.join("image");
        File::create(&image).unwrap().set_len(16 << 20).unwrap();
        mounted(rig, &image);
        let through = seen.join("image");
        all.push(Target::file("a mounted image through an overlay", through, &image, Some("loop-file")));
    }
    let (free, image) = (rig.image("free-file.img", 16), rig.image("free.img", 16));
    let device = rig.loop_over(&image, &[]);
    all.push(Target::file("a free file", free.clone(), &free, None));
    all.push(Target::device("a free device", &device, &image, None));
    Command::new("sync").status().unwrap();
    all
}

/// The words of a door that leads to this target, the n-th, with the owner's consent.
fn door(rig: &Rig, n: usize, line: &str, target: &Target, agreed: &str) -> Vec<OsString> {
    let path = target.path.to_str().unwrap();
    let job = format!("[a]\nfilename={path}\nrw=randwrite\nio_size=64k\n");
    fs::write(rig.path(format!("job{n}.fio")), job).unwrap();
    let own =
        [("TARGET", path.to_string()), ("r.json", format!("r{n}.json")), ("job.fio", format!("job{n}.fio"))];
    let word = |word: &str| own.iter().fold(word.to_string(), |word, (of, by)| word.replace(of, by)).into();
    let mut words: Vec<OsString> = line.split(' ').map(word).collect();
    let fio = words[0] == "fio";
    match (target.device, fio) {
        (true, true) => words.insert(1, format!("--destroy={agreed}").into()),
        (true, false) => words.extend(["--destroy".into(), agreed.into()]),
        (false, false) => words.push(if target.shared { "--overwrite=shared" } else { "--overwrite" }.into()),
        (false, true) => {}
    }
    words
}

#[test]
fn every_door_refuses_what_is_in_use_and_opens_what_is_free() {
    let Some(mut rig) = Rig::new() else { return };
    let step = |rw: &str| format!("[[step]]\nname = '{rw}'\nrw = '{rw}'\nbs = '4k'\nruntime = '50ms'\n");
    fs::write(rig.path("plan.toml"), step("randwrite")).unwrap();
    fs::write(rig.path("writes-later.toml"), step("randread") + &step("write")).unwrap();
    let fio = Command::new("fio").arg("--version").output().is_ok();
    let all = targets(&mut rig);
    // At once, because much of it is waiting: whoever has a target open is looked for again.
    let tried: Vec<Tried> = std::thread::scope(|scope| {
        let rig = &rig;
        let one = |(n, target)| scope.spawn(move || Tried::every_door(rig, n, target, fio));
        let threads: Vec<_> = all.iter().enumerate().map(one).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let sum = |count: fn(&Tried) -> usize| tried.iter().map(count).sum::<usize>();
    println!("{} writes refused, {} done", sum(|t| t.refused), sum(|t| t.written));
    let holes: Vec<String> = tried.into_iter().flat_map(|t| t.holes).collect();
    assert!(holes.is_empty(), "{}", holes.join("\n"));
}

/// fio opens a device without claiming it, so that volproof does until fio has ended.
#[test]
fn a_device_stays_claimed_while_the_installed_fio_writes() {
    let Some(mut rig) = Rig::new() else { return };
    if Command::new("fio").arg("--version").output().is_err() {
        return eprintln!("skipped: fio is not installed");
    }
    let image = rig.image("claimed.img", 16);
    let device = rig.loop_over(&image, &[]);
    let words = [
        "fio",
        "--name=a",
        "--rw=randwrite",
        "--time_based",
        "--runtime=600",
        "--rate_iops=50",
        "--iodepth_low=1",
    ];
    let mut command = Command::new(env!("CARGO_BIN_EXE_volproof"));
    command.args(words).arg(format!("--filename={}", device.display()));
    command.arg(format!("--destroy={}", consent(&rig, &device))).current_dir(rig.dir.path());
    let mut child = command.stdout(std::process::Stdio::null()).spawn().unwrap();
    // Once bytes have changed, fio writes.
    while fs::read(&image).unwrap().iter().all(|byte| *byte == 0) {
        assert!(child.try_wait().unwrap().is_none(), "it ended by itself");
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    let claim = || {
        let claim = libc::O_EXCL;
        std::os::unix::fs::OpenOptionsExt::custom_flags(File::options().write(true), claim).open(&device)
    };
    let meanwhile = claim().map_err(|e| e.raw_os_error());
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    child.wait().unwrap();
    assert_eq!(meanwhile.map(drop), Err(Some(libc::EBUSY)));
    claim().unwrap();
}

/// The results of all doors to one target.
#[derive(Default)]
struct Tried {
    refused: usize,
    written: usize,
    holes: Vec<String>,
}

impl Tried {
    fn every_door(rig: &Rig, n: usize, target: &Target, fio: bool) -> Tried {
        let mut tried = Tried::default();
        let agreed = if target.device { consent(rig, &target.path) } else { String::new() };
        let untouched = fs::read(&target.bytes).unwrap();
        for line in DOORS {
            let (needs, line) = line.split_once(": ").unwrap_or(("", line));
            let fits = needs.split_whitespace().all(|need| match need {
                "fio" => fio,
                "device" => target.device,
                "file" => !target.device,
                _ => target.refused.is_some(),
            });
            if !fits {
                continue;
            }
            let within: Vec<&str> = target.within.iter().map(String::as_str).collect();
            let (code, said) = volproof(rig, &within, &slices(&door(rig, n, line, target, &agreed)));
            let right = match target.refused {
                Some(why) => {
                    tried.refused += 1;
                    code == Some(3) && said.contains(why) && fs::read(&target.bytes).unwrap() == untouched
                }
                None => {
                    tried.written += 1;
                    done(&(code, said.clone()))
                }
            };
            if !right {
                tried.holes.push(format!("{} by {line}: {code:?}: {said}", target.name));
            }
        }
        if target.refused.is_none() && fs::read(&target.bytes).unwrap() == untouched {
            tried.holes.push(format!("{} was written and has not changed", target.name));
        }
        tried
    }
}

fn slices(words: &[OsString]) -> Vec<&OsStr> {
    words.iter().map(OsString::as_os_str).collect()
}

/// Outputs of each subcommand, with the name of the file in place of `OUTPUT`.
const OUTPUTS: [&str; 9] = [
    "run free-file.img --overwrite --rw randread --bs 4k --runtime 50ms --tune off --quiet --json OUTPUT",
    "run free-file.img --overwrite --rw randread --bs 4k --runtime 50ms --tune off --quiet --json r.json --csv OUTPUT",
    "run free-file.img --overwrite --rw randread --bs 4k --runtime 50ms --tune off --quiet --json r.json --html OUTPUT",
    "million free-file.img 1 1 4k randread --runtime 50ms --tune off --quiet --json OUTPUT",
    "fio --name=a --filename=free-file.img --rw=randread --io_size=64k --output=OUTPUT",
    "fio --name=a --filename=free-file.img --rw=randread --io_size=64k --record=OUTPUT",
    "report record.json -o OUTPUT",
    "convert record.json --to csv -o OUTPUT",
    "convert record.json --to jobfile -o OUTPUT",
];

#[test]
fn no_output_overwrites_a_device_or_a_disk_in_a_file() {
    let Some(mut rig) = Rig::new() else { return };
    let all = targets(&mut rig);
    let free = rig.path("free-file.img");
    fs::write(&free, vec![7; 1 << 20]).unwrap();
    let make = "run free-file.img --overwrite --rw randread --bs 4k --runtime 50ms --tune off --quiet --json record.json";
    let run = |rig: &Rig, line: &str, output: &Path| {
        let word = |word: &str| word.replace("OUTPUT", output.to_str().unwrap()).into();
        volproof(rig, &[], &slices(&line.split(' ').map(word).collect::<Vec<OsString>>()))
    };
    let (code, said) = run(&rig, make, Path::new(""));
    assert!(done(&(code, said.clone())), "{said}");
    let bound = rig.image("bound.img", 1);
    let image = rig.path("mounted.img");
    rig.make(
        &[OsStr::new("mount"), OsStr::new("--bind"), image.as_os_str(), bound.as_os_str()],
        Some(("umount", &[bound.as_os_str()])),
    );
    let through = Target::file("a bind mount of a mounted image", bound, &image, Some("loop-file"));
    // A device is refused whoever uses it; of files those that are disks or swap areas.
    let disk = |t: &&Target| t.device || matches!(t.refused, Some("loop-file" | "swap-file"));
    let mut holes = Vec::new();
    let now = |t: &Target| (fs::read(&t.bytes).unwrap(), fs::symlink_metadata(&t.path).unwrap().file_type());
    for target in all.iter().chain([&through]).filter(disk) {
        let before = now(target);
        for line in OUTPUTS {
            let (code, said) = run(&rig, line, &target.path);
            let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
            let why = [
                "device",
                "the file is the disk behind",
                "the file is swapped to",
                "it is mounted by itself",
            ]
            .iter()
            .any(|why| said.contains(why));
            if before != now(target) || !matches!(code, Some(1..=3)) || !why {
                holes.push(format!("{} by {line}: {code:?}: {said}", target.name));
            }
        }
    }
    for line in OUTPUTS {
        let output = rig.path("output");
        let (code, said) = run(&rig, line, &output);
        if !done(&(code, said.clone())) || !output.exists() {
            holes.push(format!("a new file by {line}: {code:?}: {said}"));
        }
        let _ = fs::remove_file(output);
        // The target of the run is no place for its results, by whatever name.
        if line.contains("free-file.img") {
            let link = rig.path("same");
            fs::hard_link(&free, &link).unwrap();
            let (code, said) = run(&rig, line, &link);
            if !matches!(code, Some(1 | 2))
                || !said.contains("same file")
                || fs::read(&free).unwrap() != vec![7; 1 << 20]
            {
                holes.push(format!("the target itself by {line}: {code:?}: {said}"));
            }
            fs::remove_file(link).unwrap();
        }
    }
    assert!(holes.is_empty(), "{}", holes.join("\n"));
}

#[test]
fn the_target_seen_through_an_overlay_is_no_place_for_results() {
    let Some(mut rig) = Rig::new() else { return };
    let folder = rig.path("");
    let Some([_, upper, seen]) = overlay(&mut rig, "results", &folder) else { return };
    let bytes = vec![7; 1 << 20];
    fs::write(upper.join("a.img"), &bytes).unwrap();
    let run = |target: &Path, output: &Path| {
        let words =
            ["run", "TARGET", "--rw", "randread", "--bs", "4k", "--runtime", "50ms", "--quiet", "--json"];
        let mut words: Vec<OsString> = words.map(OsString::from).to_vec();
        words[1] = target.into();
        words.push(output.into());
        volproof(&rig, &[], &slices(&words))
    };
    for (target, output) in [(&upper, &seen), (&seen, &upper)] {
        let (code, said) = run(&target.join("a.img"), &output.join("a.img"));
        assert!(code == Some(2) && said.contains("is the same file as the target"), "{code:?} {said}");
        assert!(fs::read(upper.join("a.img")).unwrap() == bytes);
    }
    let (code, said) = run(&upper.join("a.img"), &seen.join("r.json"));
    assert!(done(&(code, said.clone())) && upper.join("r.json").exists(), "{code:?} {said}");
}
