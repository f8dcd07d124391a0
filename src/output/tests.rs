//! Each call to the system fails in turn; links, devices and other people's files lie where outputs are asked for.

use std::io::Write;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, symlink};

use tempfile::TempDir;

use super::*;

const OLD: &[u8] = b"old\n";

fn folder() -> TempDir {
    tempfile::tempdir().unwrap()
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|e| e.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

fn save(path: &Path, text: &str) {
    OutputFile::open("--json", path).unwrap().save(&|out| out.write_all(text.as_bytes())).unwrap();
}

fn refusal(path: &Path) -> String {
    OutputFile::open("--json", path).unwrap_err().to_string()
}

/// A text of several writes.
fn long(out: &mut dyn Write) -> io::Result<()> {
    (0..3).try_for_each(|_| out.write_all(&[b'x'; 1 << 16]))
}

#[test]
fn whichever_call_fails_the_old_file_stays_and_nothing_else() {
    for errno in [libc::ENOSPC, libc::EDQUOT, libc::EFBIG, libc::EROFS, libc::EIO] {
        for there in [true, false] {
            let mut calls = Vec::new();
            for n in 0.. {
                let at = folder();
                let path = at.path().join("r.json");
                if there {
                    std::fs::write(&path, OLD).unwrap();
                }
                let mut output = OutputFile::open("--json", &path).unwrap();
                let mut fresh = OutputFile::fresh("--records", at.path(), "new", "json").unwrap();
                for (output, old) in [(&mut output, there), (&mut fresh, false)] {
                    calls.clear();
                    let done = output.save_through(&long, &mut |call| {
                        calls.push(call);
                        if calls.len() > n { Err(io::Error::from_raw_os_error(errno)) } else { Ok(()) }
                    });
                    if let Err(e) = done {
                        assert_eq!(e.raw_os_error(), Some(errno));
                        assert_eq!(output.path().exists(), old);
                        let lost = MisplacedOutput::save(output.path(), e, &long);
                        let second = lost.second().expect("the temporary folder has room");
                        assert_eq!(std::fs::metadata(second).unwrap().len(), 3 << 16);
                        assert_eq!(std::fs::metadata(second).unwrap().mode() & 0o777, 0o600);
                        lost.discard();
                    } else {
                        assert_eq!(std::fs::metadata(output.path()).unwrap().len(), 3 << 16);
                    }
                }
                if calls.len() <= n {
                    assert_eq!(names(at.path()), ["new.json", "r.json"], "nothing else is left");
                    break;
                }
                assert_eq!(names(at.path()), if there { vec!["r.json"] } else { vec![] });
                assert!(!there || std::fs::read(&path).unwrap() == OLD);
            }
            assert_eq!((calls[0], *calls.last().unwrap()), (Call::Create, Call::Rename));
            assert!(calls.contains(&Call::Write) && calls.contains(&Call::Sync), "{calls:?}");
        }
    }
}

#[test]
fn the_mode_of_the_old_file_stays() {
    let at = folder();
    let path = at.path().join("r.json");
    for mode in [0o600, 0o640, 0o664] {
        std::fs::write(&path, OLD).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        save(&path, "new");
        assert_eq!(std::fs::metadata(&path).unwrap().mode() & 0o777, mode);
        assert_eq!(std::fs::read(&path).unwrap(), b"new");
    }
}

#[test]
fn links_are_followed_and_stay() {
    let at = folder();
    std::fs::create_dir(at.path().join("below")).unwrap();
    let (file, link) = (at.path().join("below/file"), at.path().join("link"));
    symlink("below/file", &link).unwrap();
    for text in ["made", "replaced"] {
        save(&link, text);
        assert!(link.is_symlink());
        assert_eq!(std::fs::read_to_string(&file).unwrap(), text);
    }
    symlink("around", at.path().join("around")).unwrap();
    assert!(
        refusal(&at.path().join("around")).contains("symbolic links"),
        "{}",
        refusal(&at.path().join("around"))
    );
}

#[test]
fn devices_that_forget_are_written_and_stay() {
    let at = folder();
    let link = at.path().join("null");
    symlink("/dev/null", &link).unwrap();
    for path in [Path::new("/dev/null"), &link] {
        save(path, "nothing");
        assert!(std::fs::metadata(path).unwrap().file_type().is_char_device());
    }
    let mut full = OutputFile::open("--json", Path::new("/dev/full")).unwrap();
    assert_eq!(full.save(&long).unwrap_err().raw_os_error(), Some(libc::ENOSPC));
}

#[test]
fn a_pipe_takes_the_text_and_stays() {
    let at = folder();
    let path = at.path().join("pipe");
    rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, Mode::from_raw_mode(0o600), 0)
        .unwrap();
    let reader = std::thread::spawn({
        let path = path.clone();
        move || std::fs::read_to_string(path).unwrap()
    });
    save(&path, "through");
    assert_eq!(reader.join().unwrap(), "through");
    assert!(std::fs::metadata(&path).unwrap().file_type().is_fifo());
}

#[test]
fn what_can_be_no_output_is_refused_with_the_reason() {
    let at = folder();
    assert!(refusal(at.path()).contains("it is a folder"));
    assert!(refusal(&at.path().join("none/r.json")).contains("there is no folder"));
    assert!(refusal(&at.path().join("new/")).contains("no name for a file"));
    assert!(refusal(&at.path().join("x".repeat(300))).contains("too long"));
    assert!(refusal(Path::new("/proc/none.json")).contains("cannot be written"));
    for setting in ["/proc/sys/kernel/hostname", "/sys/kernel/uevent_seqnum"] {
        assert!(refusal(Path::new(setting)).contains("is a setting of the kernel"));
    }
    assert_eq!(names(at.path()), Vec::<String>::new());
}

#[test]
fn a_name_that_is_no_text() {
    let at = folder();
    let path = at.path().join(<OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(b"r\xff\x1b.json"));
    save(&path, "text");
    assert_eq!(std::fs::read(&path).unwrap(), b"text");
}

#[test]
fn a_folder_that_moves_is_followed_and_one_that_goes_is_told() {
    let at = folder();
    let (old, new) = (at.path().join("old"), at.path().join("new"));
    std::fs::create_dir(&old).unwrap();
    let mut output = OutputFile::open("--json", &old.join("r.json")).unwrap();
    std::fs::rename(&old, &new).unwrap();
    output.save(&|out| out.write_all(b"moved")).unwrap();
    assert_eq!(std::fs::read(new.join("r.json")).unwrap(), b"moved");
    std::fs::remove_dir_all(&new).unwrap();
    assert_eq!(output.save(&long).unwrap_err().kind(), io::ErrorKind::NotFound);
}

#[test]
fn what_takes_the_name_meanwhile_is_not_written() {
    let at = folder();
    let (path, other) = (at.path().join("r.json"), at.path().join("other"));
    std::fs::write(&other, OLD).unwrap();
    let mut output = OutputFile::open("--json", &path).unwrap();
    symlink(&other, &path).unwrap();
    output.save(&long).unwrap();
    assert_eq!(output.path(), at.path().join("r-2.json"));
    assert_eq!(std::fs::read(&other).unwrap(), OLD);
    assert!(path.is_symlink());
}

#[test]
fn fresh_names_are_chosen_by_one_alone() {
    let at = folder();
    let save = |text: String| {
        let mut output = OutputFile::fresh("--records", at.path(), "run", "json").unwrap();
        output.save(&|out| out.write_all(text.as_bytes())).unwrap();
        output.save(&|out| out.write_all(text.as_bytes())).unwrap();
        assert_eq!(std::fs::read_to_string(output.path()).unwrap(), text);
    };
    std::thread::scope(|scope| {
        for n in 0..8 {
            scope.spawn(move || (0..8).for_each(|m| save(format!("{n} {m}"))));
        }
    });
    assert_eq!(names(at.path()).len(), 64);
    // One name that all of them were given, without a file behind it and with one.
    for there in [false, true] {
        let at = folder();
        let path = at.path().join("r.json");
        if there {
            std::fs::write(&path, OLD).unwrap();
        }
        let open = std::sync::Barrier::new(8);
        let save = |n: u8| {
            let mut output = OutputFile::open("--json", &path).unwrap();
            open.wait();
            output.save(&|out| out.write_all(&[n; 100])).unwrap();
            assert_eq!(std::fs::read(output.path()).unwrap(), [n; 100]);
        };
        std::thread::scope(|scope| {
            (0..8).for_each(|n| {
                drop(scope.spawn({
                    let save = &save;
                    move || save(n)
                }))
            })
        });
        assert_eq!(names(at.path()).len(), 8);
    }
}

#[test]
fn the_file_of_another_program_keeps_its_name_at_every_moment() {
    let at = folder();
    let path = at.path().join("r.json");
    std::fs::write(&path, OLD).unwrap();
    let mut output = OutputFile::open("--json", &path).unwrap();
    std::fs::write(&path, b"of another program").unwrap();
    let changed = |file: &Path| {
        let about = std::fs::metadata(file).unwrap();
        (about.ctime(), about.ctime_nsec())
    };
    let before = changed(&path);
    // The clock of the filesystem has to go on, so that a change shows.
    let clock = at.path().join("clock");
    while !clock.exists() || changed(&clock) <= before {
        std::fs::write(&clock, b"").unwrap();
    }
    output.save(&long).unwrap();
    assert_eq!(output.path(), at.path().join("r-2.json"));
    assert_eq!(changed(&path), before, "an exchange of names is a change");
}

#[test]
fn one_file_is_not_two_outputs_nor_an_input() {
    let at = folder();
    let path = |name: &str| at.path().join(name);
    std::fs::write(path("a"), OLD).unwrap();
    std::fs::hard_link(path("a"), path("hard")).unwrap();
    symlink("a", path("soft")).unwrap();
    symlink("new", path("towards")).unwrap();
    let open = |name: &str| OutputFile::open("--csv", &path(name)).unwrap();
    let same = |a: &str, b: &str| apart(&[&open(a), &open(b)], &[]).is_err();
    for (a, b) in [("a", "a"), ("a", "hard"), ("hard", "soft"), ("new", "new"), ("new", "towards")] {
        assert!(same(a, b), "{a} and {b}");
        let input = [("the input".to_string(), FileIdentity::of(&path(b)))];
        let e = apart(&[&open(a)], &input).unwrap_err().to_string();
        assert!(e.contains(&format!("/{a} is the same file as the input")), "{e}");
    }
    assert!(!same("a", "new") && !same("new", "newer"));
    let null = || OutputFile::open("--csv", Path::new("/dev/null")).unwrap();
    assert!(apart(&[&null(), &null()], &[]).is_ok(), "nothing is lost there");
    let out = || OutputFile::open("--csv", Path::new("-")).unwrap();
    assert!(apart(&[&out(), &out()], &[]).is_err());
    assert_eq!(names(at.path()), ["a", "hard", "soft", "towards"]);
}

#[test]
fn a_file_that_somebody_else_wrote_meanwhile_stays() {
    let at = folder();
    let text = |name: &str| std::fs::read_to_string(at.path().join(name)).unwrap();
    for name in ["r.json", "plain"] {
        let open = || OutputFile::open("--json", &at.path().join(name)).unwrap();
        let (mut early, mut late) = (open(), open());
        let save = |file: &mut OutputFile, text: &str| file.save(&|out| write!(out, "{text}")).unwrap();
        save(&mut early, "early");
        save(&mut late, "late");
        assert_eq!(early.other_name(), None);
        assert!(late.other_name().unwrap().contains(&*late.path().to_string_lossy()));
        // Each replaces its own from then on.
        save(&mut late, "later");
        save(&mut early, "earlier");
        assert_eq!([text(name), std::fs::read_to_string(late.path()).unwrap()], ["earlier", "later"]);
        // A program that opens an output that is there may replace it.
        save(&mut open(), "next");
        assert_eq!(text(name), "next");
        // A file that was removed is made again.
        std::fs::remove_file(at.path().join(name)).unwrap();
        save(&mut early, "again");
        assert_eq!(text(name), "again");
    }
    assert_eq!(names(at.path()), ["plain", "plain-2", "r-2.json", "r.json"]);
}

/// The output of a file whose folder lets no other take its name.
fn in_place(path: &Path) -> OutputFile {
    let output = OutputFile::open("--json", path).unwrap();
    let OutputPlace::Named { folder, name, replaceable } = output.place else { panic!("{output:?}") };
    OutputFile { place: OutputPlace::InPlace { folder, name, replaceable }, ..output }
}

#[test]
fn a_file_that_is_written_in_place_keeps_what_somebody_else_wrote_meanwhile() {
    let at = folder();
    let path = at.path().join("r.json");
    std::fs::write(&path, OLD).unwrap();
    let read = |path: &Path| std::fs::read_to_string(path).unwrap();
    let save = |file: &mut OutputFile, text: &str| file.save(&|out| write!(out, "{text}")).unwrap();
    let (mut early, mut late, mut growing) = (in_place(&path), in_place(&path), in_place(&path));
    let mut log = in_place(&path);
    save(&mut early, "early, and measured for hours");
    save(&mut late, "late");
    growing.begin().unwrap().write_all(b"grows").unwrap();
    log.append(&|out| out.write_all(b"log")).unwrap();
    save(&mut early, "early");
    save(&mut late, "later");
    let found = [&early, &late, &growing, &log].map(|file| read(file.path()));
    assert_eq!(found, ["early", "later", "grows", "log"]);
    assert_eq!((early.path(), early.other_name()), (path.as_path(), None));
    for other in [&late, &growing, &log] {
        let told = other.other_name().unwrap();
        assert!(told.contains("/r.json was written or locked by another program, and stays"), "{told}");
    }
    // Two that save at one instant.
    let open = std::sync::Barrier::new(8);
    let save_one = |n: u8| {
        let mut output = in_place(&path);
        open.wait();
        output.save(&|out| out.write_all(&vec![n; 1 << 20])).unwrap();
        open.wait();
        assert!(std::fs::read(output.path()).unwrap() == vec![n; 1 << 20]);
    };
    std::thread::scope(|scope| (0..8).for_each(|n| drop(scope.spawn(move || save_one(n)))));
    // While a text grows in it, another one goes elsewhere.
    let mut grows = in_place(&path);
    let _open = grows.begin().unwrap();
    let mut second = in_place(&path);
    save(&mut second, "second");
    assert!(second.other_name().is_some() && read(&path).is_empty());
}

#[test]
fn a_file_that_is_written_in_place_gets_back_what_it_held() {
    let at = folder();
    let path = at.path().join("held-in-place.json");
    for old in [&b""[..], OLD, &[b'o'; 5 << 16]] {
        for n in 0.. {
            std::fs::write(&path, old).unwrap();
            let mut output = in_place(&path);
            let mut calls = 0;
            let done = output.save_through(&long, &mut |_| {
                calls += 1;
                if calls > n { Err(io::Error::from_raw_os_error(libc::ENOSPC)) } else { Ok(()) }
            });
            let now = std::fs::read(&path).unwrap();
            if done.is_ok() {
                assert!(n > 4 && now == [b'x'; 3 << 16]);
                break;
            }
            assert!(now == old, "{n}: {} bytes", now.len());
            // A later content goes to the same place.
            output.save(&|out| out.write_all(b"next")).unwrap();
            assert_eq!((std::fs::read(&path).unwrap().as_slice(), output.other_name()), (&b"next"[..], None));
        }
    }
    let copies = names(&std::env::temp_dir());
    assert!(!copies.iter().any(|name| name.ends_with("-held-in-place.json")), "{copies:?}");
    assert_eq!(names(at.path()), ["held-in-place.json"]);
}

/// Our own descriptor would make the kernel say that the file is in use.
#[test]
fn an_output_in_place_does_not_use_its_file_between_two_saves() {
    use crate::device::{Facts, FileUse, Root, facts};
    let at = folder();
    let path = at.path().join("r.json");
    std::fs::write(&path, OLD).unwrap();
    let mut output = in_place(&path);
    for _ in 0..2 {
        let Facts::File(facts) = facts(&Root::system(), &path).unwrap() else { panic!("a file") };
        let used = FileUse::read(&Root::system(), &facts, None);
        assert_eq!((used.alone, used.locked, used.openers), (Some(true), false, vec![]));
        output.save(&|out| out.write_all(b"new")).unwrap();
    }
}

/// A collector of metrics takes every file of its folder for one state.
#[test]
fn the_last_state_counts_whoever_wrote_before() {
    let at = folder();
    let path = at.path().join("n.prom");
    let open = || {
        let file = OutputFile::open("--openmetrics", &path).unwrap();
        file.of_kind(OutputKind::OpenMetrics).of_state()
    };
    let save = |file: &mut OutputFile, value: &str| {
        file.save(&|out| write!(out, "# HELP volproof_a X.\nvolproof_a {value}\n# EOF\n")).unwrap();
    };
    let holds =
        |value: &str| std::fs::read_to_string(&path).unwrap().contains(&format!("volproof_a {value}\n"));
    let (mut one, mut other, mut edited) = (open(), open(), open());
    for (file, value) in [(&mut one, "1"), (&mut other, "2")] {
        save(file, value);
        assert!(holds(value));
        assert_eq!(file.other_name(), None);
    }
    assert_eq!(names(at.path()), ["n.prom"]);
    // Somebody's text in it stays.
    let mut text = std::fs::OpenOptions::new().append(true).open(&path).unwrap();
    text.write_all(b"# our notes\n").unwrap();
    save(&mut edited, "3");
    assert!(holds("2") && edited.other_name().is_some());
    std::fs::remove_file(&path).unwrap();
    let mut late = open();
    std::fs::write(&path, "notes\n").unwrap();
    save(&mut late, "4");
    assert!(late.other_name().is_some());
    assert_eq!(std::fs::read(&path).unwrap(), b"notes\n");
}

#[test]
fn states_that_are_saved_at_one_time_leave_one_file() {
    let at = folder();
    let path = at.path().join("n.prom");
    for round in 0..10 {
        let saved_at_once = || {
            let file = OutputFile::open("--openmetrics", &path).unwrap();
            let mut file = file.of_kind(OutputKind::OpenMetrics).of_state();
            file.save(&|out| write!(out, "# HELP volproof_a X.\nvolproof_a 1\n# EOF\n")).unwrap();
        };
        std::thread::scope(|threads| (0..6).for_each(|_| drop(threads.spawn(saved_at_once))));
        assert_eq!(names(at.path()), ["n.prom"], "round {round}");
        std::fs::remove_file(&path).unwrap();
    }
}

#[test]
fn a_growing_output_begins_anew_and_other_names_keep_the_old_text() {
    let at = folder();
    let (path, other) = (at.path().join("out"), at.path().join("other"));
    std::fs::write(&path, OLD).unwrap();
    std::fs::hard_link(&path, &other).unwrap();
    let mut file = OutputFile::open("--output", &path).unwrap().begin().unwrap();
    file.write_all(b"one ").unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), b"one ");
    OutputFile::open("log", &path).unwrap().append(&|out| out.write_all(b"two")).unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), b"one two");
    assert_eq!(std::fs::read(&other).unwrap(), OLD);
    assert_eq!(names(at.path()), ["other", "out"]);
    // Two programs of one name: while the first goes on, and once it has ended and the second was open already.
    let mut open = [0; 3].map(|_| OutputFile::open("--output", &path).unwrap());
    let mut begun = open.each_mut().map(|output| output.begin().unwrap());
    begun.iter_mut().zip(["a", "b", "c"]).for_each(|(file, text)| file.write_all(text.as_bytes()).unwrap());
    assert_eq!(std::fs::read(&path).unwrap(), b"one two", "the first of all still writes");
    let found = open.each_ref().map(|output| std::fs::read_to_string(output.path()).unwrap());
    assert_eq!(found, ["a", "b", "c"]);
    assert!(
        open.iter()
            .all(|output| output.other_name().unwrap().contains("/out was written or locked by another"))
    );
    drop(file);
    let mut late = OutputFile::open("--output", &path).unwrap();
    late.begin().unwrap();
    assert_eq!((late.other_name(), std::fs::read(&path).unwrap()), (None, Vec::new()));
}

#[test]
fn a_file_that_somebody_else_wrote_since_is_not_removed() {
    let at = folder();
    for (name, foreign) in [("own", None), ("edited", Some("notes"))] {
        let path = at.path().join(name);
        let mut file = OutputFile::open("--json", &path).unwrap();
        file.save(&|out| out.write_all(b"interim")).unwrap();
        foreign.into_iter().for_each(|text| std::fs::write(&path, text).unwrap());
        file.discard();
    }
    OutputFile::fresh("--json", at.path(), "fresh", "json").unwrap().discard();
    assert_eq!(names(at.path()), ["edited"]);
}

/// Another program writes into the file that grows, puts a link in its place, or makes it first.
#[test]
fn a_text_goes_on_beside_what_others_wrote_into_it() {
    let at = folder();
    let path = at.path().join("out");
    let read = |path: &Path| std::fs::read_to_string(path).unwrap();
    for foreign in ["notes", "longer notes than the text"] {
        let mut growing = GrowingOutput::new(OutputFile::open("--output", &path).unwrap());
        growing.keep(b"jobs;");
        growing.write(b"jobs;").unwrap();
        growing.write(b"one;").unwrap();
        assert_eq!((read(&path).as_str(), growing.output().other_name()), ("jobs;one;", None));
        std::fs::write(&path, foreign).unwrap();
        growing.write(b"two;").unwrap();
        growing.write(b"three;").unwrap();
        assert_eq!(read(&path), foreign);
        assert_eq!(read(growing.output().path()), "jobs;two;three;");
        assert!(growing.output().other_name().unwrap().contains("stays"));
    }
    let precious = at.path().join("precious");
    std::fs::write(&precious, OLD).unwrap();
    for appeared in ["file", "link", "written"] {
        let path = at.path().join(appeared);
        let mut log = OutputFile::open("log", &path).unwrap();
        match appeared {
            "file" => std::fs::write(&path, OLD).unwrap(),
            "link" => symlink(&precious, &path).unwrap(),
            _ => {
                log.append(&|out| out.write_all(b"one;")).unwrap();
                std::fs::write(&path, OLD).unwrap();
            }
        }
        for piece in ["two;", "three;"] {
            log.append(&|out| out.write_all(piece.as_bytes())).unwrap();
        }
        assert_eq!(
            (std::fs::read(&path).unwrap(), std::fs::read(&precious).unwrap()),
            (OLD.into(), OLD.into())
        );
        assert_eq!(read(log.path()), "two;three;");
        assert!(log.other_name().is_some());
    }
}

#[test]
fn a_text_that_gets_no_name_leaves_no_file() {
    let at = folder();
    // Longer than any name, whatever is cut of the stem.
    let extension = "x".repeat(256);
    let mut output = OutputFile::fresh("--records", at.path(), "r", &extension).unwrap();
    assert_eq!(output.begin().unwrap_err().raw_os_error(), Some(libc::ENAMETOOLONG));
    assert_eq!(output.save(&long).unwrap_err().raw_os_error(), Some(libc::ENAMETOOLONG));
    assert!(names(at.path()).is_empty());
}

#[test]
fn no_control_character_passes_the_edge() {
    let all: String = (0..0x3000u32).filter_map(char::from_u32).collect();
    let shown = screen::visible(&all);
    assert!(shown.chars().all(|c| !c.is_control() || c == '\n' || c == '\t'));
    assert!(shown.contains("\\u001b") && shown.contains("\\u009b") && shown.contains("\\u202e"));
    let json = screen::visible("\"\u{7f}\u{9b}\"").into_owned();
    assert_eq!(serde_json::from_str::<String>(&json).unwrap(), "\u{7f}\u{9b}");
    assert!(matches!(screen::visible("a\tb\nµ"), std::borrow::Cow::Borrowed(_)));
}

#[test]
fn the_longest_name_has_a_second_place() {
    for name in ["x".repeat(250) + ".json", "é".repeat(125) + ".html"] {
        let path = Path::new("/nowhere").join(&name);
        let misplaced = MisplacedOutput::save(&path, "no folder", &|out| out.write_all(b"figures"));
        let second = misplaced.second().unwrap().to_path_buf();
        let saved = second.file_name().unwrap().to_str().unwrap();
        assert!(saved.len() > 250 && saved.len() <= 255, "{saved}");
        assert_eq!(saved.rsplit('.').next(), name.rsplit('.').next());
        assert_eq!(std::fs::read(&second).unwrap(), b"figures");
        misplaced.discard();
    }
}
