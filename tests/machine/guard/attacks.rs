//! Ways to make a run write over something in use, tried for real with loop devices of the test's own, through every door: `run` with our
//! engines and with the installed fio, `million`, and `fio`, whose jobs run natively or are handed over. Each must be refused, and no byte
//! of the image may change. Beside them stand the same targets with nothing in use, which may be written.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::guard::rig::{
    RUN, Rig, consent, device_refused, done, overlay, refused, refused_within, volproof, words, written,
};

#[test]
fn a_mounted_image_is_known_by_every_name() {
    let Some(mut rig) = Rig::new() else { return };
    let image = rig.image("a.img", 16);
    let link = rig.path("b.img");
    fs::hard_link(&image, &link).unwrap();
    let bound = rig.image("bound.img", 1);
    rig.make(
        &[OsStr::new("mount"), OsStr::new("--bind"), image.as_os_str(), bound.as_os_str()],
        Some(("umount", &[bound.as_os_str()])),
    );
    written(&rig, &link, false);
    let device = rig.loop_over(&image, &[]);
    rig.filesystem(&device);
    rig.mount(&device);
    Command::new("sync").status().unwrap();
    for name in [&image, &link, &bound] {
        refused(&rig, name, &link, "loop-file");
    }
    // The name that the loop device was attached with is gone.
    fs::remove_file(&image).unwrap();
    refused(&rig, &link, &link, "loop-file");
    // A new file of that name is another file.
    let other = rig.image("a.img", 16);
    written(&rig, &other, false);
}

#[test]
fn a_file_of_an_overlay_is_the_file_of_its_layer() {
    let Some(mut rig) = Rig::new() else { return };
    let folder = rig.path("");
    let Some([lower, upper, seen]) = overlay(&mut rig, "full", &folder) else { return };
    let made = |path: PathBuf| {
        File::create(&path).unwrap().set_len(16 << 20).unwrap();
        path
    };
    let [one, other] = ["one.img", "other.img"].map(|name| made(upper.join(name)));
    made(lower.join("copied.img"));
    // An open for writing copies a file up; its inode number stays that of the lower one.
    File::options().write(true).open(seen.join("copied.img")).unwrap();
    let copied = upper.join("copied.img");
    let free = made(seen.join("free.img"));
    for (below, name) in [(&one, "one.img"), (&copied, "copied.img")] {
        let device = rig.loop_over(below, &[]);
        rig.filesystem(&device);
        rig.mount(&device);
        Command::new("sync").status().unwrap();
        refused(&rig, &seen.join(name), below, "loop-file");
    }
    let device = rig.loop_over(&seen.join("other.img"), &[]);
    rig.filesystem(&device);
    rig.mount(&device);
    Command::new("sync").status().unwrap();
    refused(&rig, &other, &other, "loop-file");
    let above = rig.loop_over(&other, &[]);
    device_refused(&rig, &above, &other, "mounted");
    written(&rig, &free, false);
}

#[test]
fn layers_that_are_not_visible_refuse_a_file_that_may_be_in_use() {
    let Some(mut rig) = Rig::new() else { return };
    let Some([_, upper, seen]) = overlay(&mut rig, "near", Path::new("")) else { return };
    let image = upper.join("a.img");
    File::create(&image).unwrap().set_len(16 << 20).unwrap();
    let free = seen.join("free.img");
    File::create(&free).unwrap().set_len(16 << 20).unwrap();
    let device = rig.loop_over(&image, &[]);
    rig.filesystem(&device);
    rig.mount(&device);
    Command::new("sync").status().unwrap();
    refused(&rig, &seen.join("a.img"), &image, "overlay");
    let opened = upper.join("opened.img");
    File::create(&opened).unwrap().set_len(1 << 20).unwrap();
    rig.open(&opened);
    needs_shared(&rig, &seen.join("opened.img"), &opened);
    written(&rig, &free, false);
}

/// A file of bindfs has another device number than the file that it shows, and no lease on it sees who has that one open.
#[test]
fn a_file_that_a_program_passes_on_needs_the_consent_to_share() {
    let Some(mut rig) = Rig::new() else { return };
    let Some([below, seen]) = passed_on_folder(&mut rig) else { return };
    let opened = below.join("opened.img");
    File::create(&opened).unwrap().set_len(1 << 20).unwrap();
    rig.open(&opened);
    needs_shared(&rig, &seen.join("opened.img"), &opened);
    let new = "run TARGET --rw write --size 1m --bs 4k --runtime 50ms --tune off --quiet --json new.json";
    let ended = volproof(&rig, &[], &words(new, seen.as_os_str()));
    assert!(done(&ended), "a new file has no other user: {ended:?}");
    written(&rig, &seen.join("opened.img"), false);
}

/// A folder, and another that shows its files through bindfs.
fn passed_on_folder(rig: &mut Rig) -> Option<[PathBuf; 2]> {
    if Command::new("bindfs").arg("--version").output().is_err() || !Path::new("/dev/fuse").exists() {
        eprintln!("skipped: this machine has no bindfs, or no FUSE");
        return None;
    }
    let [below, seen] = ["below", "seen"].map(|name| rig.path(name));
    fs::create_dir(&below).unwrap();
    fs::create_dir(&seen).unwrap();
    let mount = ["bindfs".as_ref(), below.as_os_str(), seen.as_os_str()];
    rig.make(&mount, Some(("umount", &[seen.as_os_str()])));
    Some([below, seen])
}

/// Whose bytes such a device shows, the kernel does not know.
#[test]
fn a_loop_device_over_a_file_that_a_program_passes_on_is_refused() {
    let Some(mut rig) = Rig::new() else { return };
    let Some([below, seen]) = passed_on_folder(&mut rig) else { return };
    let image = below.join("a.img");
    File::create(&image).unwrap().set_len((19 << 20) + 512).unwrap();
    let through = rig.loop_over(&seen.join("a.img"), &[]);
    device_refused(&rig, &through, &image, "shows files from elsewhere");
    let device = rig.loop_over(&image, &[]);
    device_refused(&rig, &device, &image, "passes on files of others");
}

/// The consent for a file that nobody else uses is not enough for this one.
fn needs_shared(rig: &Rig, target: &Path, image: &Path) {
    let before = fs::read(image).unwrap();
    let alone = RUN.replace("=shared", "");
    for door in [alone.as_str(), "fio --name=a --filename=TARGET --rw=randwrite --io_size=64k"] {
        let door = door.replace("TARGET", target.to_str().unwrap());
        let (code, said) = volproof(rig, &[], &words(&door, target.as_os_str()));
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(code == Some(3) && said.contains("shows files from elsewhere"), "{door}: {code:?} {said}");
        assert!(fs::read(image).unwrap() == before, "{door}: the image was written to");
    }
}

#[test]
fn a_setting_of_the_kernel_is_no_target() {
    let Some(mut rig) = Rig::new() else { return };
    let image = rig.image("a.img", 1);
    let device = rig.loop_over(&image, &[]);
    let name = device.file_name().unwrap().to_str().unwrap();
    let setting = PathBuf::from(format!("/sys/block/{name}/queue/read_ahead_kb"));
    refused(&rig, &setting, &setting, "a setting of the kernel");
    let (code, said) = volproof(&rig, &[], &words("check TARGET", setting.as_os_str()));
    assert!(code == Some(3) && said.contains("not-that-kind"), "{code:?} {said}");
    // Nor is one made, by whatever name.
    let link = rig.path("link");
    std::os::unix::fs::symlink("/sys/kernel/volproof-new", &link).unwrap();
    for new in [Path::new("/sys/kernel/volproof-new"), Path::new("/proc/volproof-new"), &link] {
        refused_new(&rig, new);
    }
    for line in [
        "run TARGET --rw write --size 1m --bs 4k --runtime 50ms --tune off --quiet --json r.json",
        "check TARGET",
    ] {
        let (code, said) = volproof(&rig, &[], &words(line, OsStr::new("/sys/kernel")));
        assert!(code == Some(3) && said.contains("settings"), "{line}: {code:?} {said}");
    }
}

/// No door makes a file under this name, which leads to the settings of the kernel.
fn refused_new(rig: &Rig, new: &Path) {
    let fio = format!("fio --name=a --size=64k --rw=randwrite --filename={}", new.display());
    let verified = fio.clone() + " --verify=crc32c";
    for door in [RUN, "check TARGET", &fio, &verified] {
        let (code, said) = volproof(rig, &[], &words(door, new.as_os_str()));
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        let told = said.contains("setting of the kernel");
        assert!(code == Some(3) && told, "{door}: {code:?} {said}");
    }
    assert!(!new.exists() && !rig.path("free").exists());
}

/// Once copied up, a file of an overlay keeps the inode number of the lower layer, which nothing else has then.
#[test]
fn a_file_that_was_copied_up_is_known_though_its_layer_is_hidden() {
    let Some(mut rig) = Rig::new() else { return };
    let folder = rig.path("");
    let Some([lower, upper, seen]) = overlay(&mut rig, "copied", &folder) else { return };
    let names = ["a.img", "opened.img"];
    for (name, length) in names.iter().zip([(17 << 20) + 512, 1 << 20]) {
        File::create(lower.join(name)).unwrap().set_len(length).unwrap();
        File::options().write(true).open(seen.join(name)).unwrap();
    }
    let [image, opened] = names.map(|name| rig.path(format!("kept-{name}")));
    fs::hard_link(upper.join("a.img"), &image).unwrap();
    fs::hard_link(upper.join("opened.img"), &opened).unwrap();
    let device = rig.loop_over(&upper.join("a.img"), &[]);
    rig.filesystem(&device);
    rig.mount(&device);
    rig.open(&upper.join("opened.img"));
    Command::new("sync").status().unwrap();
    let tmpfs = ["mount", "-t", "tmpfs", "none"].map(OsStr::new);
    rig.make(&[&tmpfs[..], &[upper.as_os_str()]].concat(), Some(("umount", &[upper.as_os_str()])));
    refused(&rig, &seen.join("a.img"), &image, "overlay");
    needs_shared(&rig, &seen.join("opened.img"), &opened);
}

/// As in a container: its overlay is mounted where nobody else sees it.
#[test]
fn a_process_that_writes_through_an_overlay_of_its_own_is_seen() {
    let Some(mut rig) = Rig::new() else { return };
    for part in ["low", "up", "work", "seen"] {
        fs::create_dir(rig.path(part)).unwrap();
    }
    File::create(rig.path("low/a.img")).unwrap().set_len(3 << 20).unwrap();
    let script = "mount -t overlay overlay -o lowerdir=low,upperdir=up,workdir=work seen &&
        exec 5<>seen/a.img && echo open && exec cat";
    let within = ["--mount", "--propagation", "private", "sh", "-c", script];
    let mut command = Command::new("unshare");
    let mut child = command.args(within).current_dir(rig.dir.path());
    child = child.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = child.spawn().unwrap();
    let mut said = String::new();
    let lines = child.stdout.take().unwrap();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(lines), &mut said).unwrap();
    rig.keep(child);
    if said != "open\n" {
        return eprintln!("skipped: this kernel has no overlay that lies here");
    }
    let image = rig.path("up/a.img");
    let device = rig.loop_over(&image, &[]);
    device_refused(&rig, &device, &image, "open-for-writing");
}

/// Over two filesystems an overlay gives its files numbers that no layer has. Its layer is hidden, as in a container.
#[test]
fn a_mounted_image_in_an_overlay_over_two_filesystems_is_refused() {
    let Some(mut rig) = Rig::new() else { return };
    let memory = rig.path("memory");
    fs::create_dir(&memory).unwrap();
    let tmpfs = |place: &Path| ["mount", "-t", "tmpfs", "none", place.to_str().unwrap()].map(String::from);
    let mount = |rig: &mut Rig, place: &Path| {
        let words = tmpfs(place);
        let words: Vec<&OsStr> = words.iter().map(OsStr::new).collect();
        rig.make(&words, Some(("umount", &[place.as_os_str()])));
    };
    mount(&mut rig, &memory);
    let [lower, upper, work, seen] =
        [rig.path("low"), memory.join("up"), memory.join("work"), memory.join("seen")];
    [&lower, &upper, &work, &seen].into_iter().for_each(|folder| fs::create_dir(folder).unwrap());
    let [a, b, c] = [&lower, &upper, &work].map(|folder| folder.display());
    let options = format!("lowerdir={a},upperdir={b},workdir={c}");
    let overlay = ["mount", "-t", "overlay", "overlay", "-o", &options].map(OsStr::new);
    let overlay = [&overlay[..], &[seen.as_os_str()]].concat();
    rig.make(&overlay, Some(("umount", &[seen.as_os_str()])));
    let image = upper.join("a.img");
    File::create(&image).unwrap().set_len(17 << 20).unwrap();
    let device = rig.loop_over(&image, &[]);
    rig.filesystem(&device);
    rig.mount(&device);
    Command::new("sync").status().unwrap();
    let free = seen.join("free.img");
    // Smaller than what any loop device with a limit of its own shows: one of another test may be over a file of this length.
    File::create(&free).unwrap().set_len(256 << 10).unwrap();
    mount(&mut rig, &upper);
    let through = seen.join("a.img");
    refused(&rig, &through, &through, "overlay");
    written(&rig, &free, false);
}

#[test]
fn odd_names_are_bytes() {
    let Some(mut rig) = Rig::new() else { return };
    for name in [&b"blank "[..], b"line\n", b"\xff\xfe.img", b"back\\slash", b"tab\t"] {
        let image = rig.image(OsStr::from_bytes(name), 16);
        let device = rig.loop_over(&image, &[]);
        rig.filesystem(&device);
        rig.mount(&device);
        Command::new("sync").status().unwrap();
        refused(&rig, &image, &image, "loop-file");
    }
}

#[test]
fn a_second_loop_device_over_a_link_is_the_same_disk() {
    let Some(mut rig) = Rig::new() else { return };
    let image = rig.image("a.img", 16);
    let link = rig.path("b.img");
    fs::hard_link(&image, &link).unwrap();
    let (mounted, other) = (rig.loop_over(&image, &[]), rig.loop_over(&link, &[]));
    rig.filesystem(&mounted);
    rig.mount(&mounted);
    Command::new("sync").status().unwrap();
    device_refused(&rig, &other, &image, "mounted");
}

#[test]
fn a_loop_device_over_a_device_is_followed_down() {
    let Some(mut rig) = Rig::new() else { return };
    let image = rig.image("a.img", 64);
    let below = rig.loop_over(&image, &[]);
    let above = rig.loop_over(&below, &[]);
    written(&rig, &above, true);
    let other = rig.loop_over(&below, &[]);
    rig.open(&below);
    device_refused(&rig, &above, &image, "open-for-writing");
    rig.filesystem(&other);
    rig.mount(&other);
    Command::new("sync").status().unwrap();
    device_refused(&rig, &above, &image, "mounted");
}

#[test]
fn a_loop_device_over_a_disk_with_a_mounted_partition_is_refused() {
    let Some(mut rig) = Rig::new() else { return };
    let image = rig.image("a.img", 64);
    let disk = rig.loop_over(&image, &[]);
    let device = disk.as_os_str();
    let add = ["1", "2048", "65536"].map(OsStr::new);
    rig.make(
        &[&[OsStr::new("addpart"), device][..], &add].concat(),
        Some(("delpart", &[device, OsStr::new("1")])),
    );
    let part = PathBuf::from(format!("{}p1", disk.display()));
    rig.filesystem(&part);
    rig.mount(&part);
    let (above, beside) = (rig.loop_over(&disk, &[]), rig.loop_over(&disk, &["--offset", "40M"]));
    Command::new("sync").status().unwrap();
    device_refused(&rig, &above, &image, "mounted");
    device_refused(&rig, &disk, &image, "mounted");
    written(&rig, &beside, true);
}

#[test]
fn halves_of_one_file_are_two_disks() {
    let Some(mut rig) = Rig::new() else { return };
    let image = rig.image("a.img", 64);
    let first = rig.loop_over(&image, &["--sizelimit", "32M"]);
    let second = rig.loop_over(&image, &["--offset", "32M"]);
    assert_ne!(consent(&rig, &first), consent(&rig, &second));
    let all = rig.loop_over(&image, &[]);
    rig.filesystem(&first);
    rig.mount(&first);
    Command::new("sync").status().unwrap();
    device_refused(&rig, &all, &image, "mounted");
    written(&rig, &second, true);
}

#[test]
fn a_swap_file_is_known_by_every_name() {
    let Some(mut rig) = Rig::new() else { return };
    let swap = rig.path("swap");
    fs::write(&swap, vec![0; 4 << 20]).unwrap();
    rig.make(&[OsStr::new("chmod"), OsStr::new("600"), swap.as_os_str()], None);
    rig.make(&[OsStr::new("mkswap"), swap.as_os_str()], None);
    let link = rig.path("link");
    fs::hard_link(&swap, &link).unwrap();
    let on = Command::new("swapon").arg(&swap).stderr(Stdio::null()).status();
    if !on.is_ok_and(|s| s.success()) {
        return eprintln!("skipped: this machine does not swap to a file");
    }
    rig.make(&[OsStr::new("true")], Some(("swapoff", &[link.as_os_str()])));
    for name in [&swap, &link] {
        refused(&rig, name, &link, "swap-file");
    }
    let device = rig.loop_over(&link, &[]);
    device_refused(&rig, &device, &link, "swap");
}

#[test]
fn an_opener_is_seen_through_any_node() {
    let Some(mut rig) = Rig::new() else { return };
    let image = rig.image("a.img", 16);
    let device = rig.loop_over(&image, &[]);
    let number =
        fs::read_to_string(format!("/sys/class/block/{}/dev", device.file_name().unwrap().display()))
            .unwrap();
    let (major, minor) = number.trim().split_once(':').unwrap();
    let node = rig.path("node");
    rig.make(
        &[OsStr::new("mknod"), node.as_os_str(), OsStr::new("b"), OsStr::new(major), OsStr::new(minor)],
        None,
    );
    rig.open(&node);
    device_refused(&rig, &device, &image, "open-for-writing");
    fs::remove_file(&node).unwrap();
    device_refused(&rig, &device, &image, "open-for-writing");
}

#[test]
fn the_file_behind_a_loop_device_that_somebody_writes_is_seen() {
    let Some(mut rig) = Rig::new() else { return };
    let image = rig.image("a.img", 16);
    let device = rig.loop_over(&image, &[]);
    written(&rig, &device, true);
    rig.open(&image);
    device_refused(&rig, &device, &image, "open-for-writing");
}

#[test]
fn what_is_hidden_is_refused_and_named() {
    let Some(mut rig) = Rig::new() else { return };
    let image = rig.image("a.img", 16);
    let device = rig.loop_over(&image, &[]);
    rig.filesystem(&device);
    rig.mount(&device);
    Command::new("sync").status().unwrap();
    for (hide, named) in [
        ("mount -t tmpfs t /sys", "/sys"),
        ("umount -l /sys", "/sys"),
        ("mount -t tmpfs t /sys/block", "/sys/block"),
        ("mount -t tmpfs t /sys/class/block", "/sys/class/block"),
        ("mount -t tmpfs t /sys/devices/virtual", "/sys/devices/virtual"),
        ("mount -t tmpfs t /sys/dev/block", "/sys/dev/block"),
        ("mount --bind /dev/null /proc/swaps", "/proc/swaps"),
        ("mount -t tmpfs t /dev && mknod /dev/null c 1 3", "/dev/"),
    ] {
        let script = format!("{hide} && exec \"$@\"");
        let within = ["unshare", "--mount", "--propagation", "private", "sh", "-c", &script, "sh"];
        refused_within(&rig, &within, &image, &image, named);
        let free = rig.image("free.img", 16);
        let (code, said) = volproof(&rig, &within, &words(RUN, free.as_os_str()));
        if named != "/dev/" {
            assert!(code == Some(3) && said.contains(named), "{hide}: {said}");
        }
    }
}

/// Root without the right to look into processes, as in a container or a service, does not see who has a disk open.
#[test]
fn processes_that_do_not_show_their_open_files_are_a_part_that_cannot_be_seen() {
    let Some(mut rig) = Rig::new() else { return };
    let image = rig.image("a.img", 16);
    let device = rig.loop_over(&image, &[]);
    let before = fs::read(&image).unwrap();
    let consent = consent(&rig, &device);
    let line = RUN.replace("--overwrite=shared", &format!("--destroy {consent}"));
    let without = ["setpriv", "--bounding-set", "-sys_ptrace", "--inh-caps", "-sys_ptrace"];
    let hidden = "mount -t proc -o hidepid=2 proc /proc && exec \"$@\"";
    let hide = ["unshare", "--mount", "--propagation", "private", "sh", "-c", hidden, "sh"];
    for within in [without.to_vec(), [&hide[..], &without].concat()] {
        let (code, said) = volproof(&rig, &within, &words(&line, device.as_os_str()));
        let told =
            said.contains("unseen") && said.contains("open files of") && said.contains("are not shown");
        assert!(code == Some(3) && told, "{code:?} {said}");
        // The kernel itself says whether anybody else has a file open.
        let file = rig.image("free.img", 1);
        assert!(done(&volproof(&rig, &within, &words(RUN, file.as_os_str()))));
    }
    assert!(fs::read(&image).unwrap() == before, "it was written to");
    let ended = volproof(&rig, &[], &words(&line, device.as_os_str()));
    assert!(done(&ended), "{ended:?}");
}

/// An ordinary user may not ask loop devices what they show. Their paths in sysfs tell the file that is attached; for any other file, what
/// remains unseen is covered by the consent for files that others use.
#[test]
fn an_ordinary_user_writes_a_file_of_a_group_beside_loop_devices() {
    use std::os::unix::fs::PermissionsExt;
    let Some(mut rig) = Rig::new() else { return };
    let (image, free) = (rig.image("a.img", 16), rig.image("free.img", 1));
    let program = rig.path("volproof");
    crate::copy_program(&program);
    let device = rig.loop_over(&image, &[]);
    // Its node keeps the mode that somebody gave it earlier.
    fs::set_permissions(&device, fs::Permissions::from_mode(0o660)).unwrap();
    let moved = rig.path("moved.img");
    fs::rename(&image, &moved).unwrap();
    let image = moved;
    for path in [rig.dir.path(), &program, &image, &free] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o777)).unwrap();
    }
    let user = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"];
    let run = |line: &str, target: &Path| {
        let within = [&user[..], &[program.to_str().unwrap()]].concat();
        let mut command = Command::new(within[0]);
        command.args(&within[1..]).args(words(line, target.as_os_str())).current_dir(rig.dir.path());
        let out = command.stdin(Stdio::null()).output().unwrap();
        let said = String::from_utf8_lossy(&out.stdout).into_owned() + &String::from_utf8_lossy(&out.stderr);
        (out.status.code(), said)
    };
    let (code, said) = run(RUN, &image);
    assert!(code == Some(3) && said.contains("is the disk behind"), "{code:?} {said}");
    let alone = RUN.replace("--overwrite=shared", "--overwrite");
    let (code, said) = run(&alone, &free);
    assert!(code == Some(3) && said.contains("known by paths alone"), "{code:?} {said}");
    let ended = run(RUN, &free);
    assert!(done(&ended), "{ended:?}");
    let (code, said) = run("check TARGET", &free);
    assert!(code == Some(3) && said.contains("--overwrite=shared"), "{code:?} {said}");
    // Somebody whom this user does not see has the file open: it may be the kernel, with the file as a disk under another path.
    std::os::unix::fs::chown(&free, Some(65534), Some(65534)).unwrap();
    let _open = fs::File::open(&free).unwrap();
    let (code, said) = run(RUN, &free);
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(code == Some(3) && said.contains("may be the disk behind a loop device"), "{code:?} {said}");
}
