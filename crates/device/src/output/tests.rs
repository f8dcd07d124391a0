//! Each call to the system fails in turn; links, devices and other people's files lie where outputs are asked for.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, symlink};
use std::path::Path;

use rustix::fs::Mode;
use tempfile::TempDir;

use super::content::Call;
use super::*;
use volproof_base::file_lock::is_locked;

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

/// What is checked before the save is what the link led to when the output was opened.
#[test]
fn a_link_that_changes_leads_to_no_other_file() {
    let at = folder();
    let [one, other, link] = ["one", "other", "link"].map(|name| at.path().join(name));
    std::fs::write(&one, OLD).unwrap();
    std::fs::write(&other, OLD).unwrap();
    symlink(&one, &link).unwrap();
    let mut output = OutputFile::open("--json", &link).unwrap();
    std::fs::remove_file(&link).unwrap();
    symlink(&other, &link).unwrap();
    assert_eq!(output.existing(), Some(one.canonicalize().unwrap()));
    let _ = output.save(&|out| out.write_all(b"new"));
    assert_eq!(std::fs::read(&other).unwrap(), OLD);
    assert_eq!(std::fs::read_link(&link).unwrap(), other);
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
fn a_folder_that_moves_or_goes_is_told() {
    let at = folder();
    let (old, new) = (at.path().join("old"), at.path().join("new"));
    std::fs::create_dir(&old).unwrap();
    let mut output = OutputFile::open("--json", &old.join("r.json")).unwrap();
    std::fs::rename(&old, &new).unwrap();
    let told = output.save(&|out| out.write_all(b"moved")).unwrap_err().to_string();
    assert_eq!(told, "its folder is no longer there");
    assert_eq!(std::fs::read(new.join("r.json")).unwrap(), b"moved");
    std::fs::remove_dir_all(&new).unwrap();
    assert_eq!(output.save(&long).unwrap_err().kind(), io::ErrorKind::NotFound);
}

#[test]
fn only_a_file_of_its_kind_is_replaced_also_where_it_came_later() {
    let at = folder();
    let (path, other) = (at.path().join("r.json"), at.path().join("other"));
    let open = || OutputFile::open("--json", &path).unwrap();
    let notes = b"notes of 3 March\n";
    std::fs::write(&path, notes).unwrap();
    let told = apart(&[&open().of_kind(OutputKind::Record)], &[]).unwrap_err().to_string();
    assert!(
        told.ends_with(
            "is there and is no Record of volproof: name another file with --json, or replace it with --force"
        ),
        "{told}"
    );
    for own in [
        &b""[..],
        b"{\"schema\":\"volproof.record\",\"schema_version\":2,\"volproof_version\":\"0.1.0\"}\n",
        b"{\n \"schema\": \"volproof.record\",\n \"schema_version\": 2,\n \"volproof_version\": \"0.1.0\"\n}\n",
    ] {
        std::fs::write(&path, own).unwrap();
        let mut output = open().of_kind(OutputKind::Record);
        output.save(&|out| out.write_all(b"{\"schema\":\"volproof.record\"}")).unwrap();
        std::fs::write(&path, notes).unwrap();
        let told = output.save(&long).unwrap_err().to_string();
        assert_eq!(told, "another file, which is no Record of volproof, has its name now");
        assert_eq!(std::fs::read(&path).unwrap(), notes);
    }
    for theirs in [
        "{\"schema\":\"volproof.record\"}",
        "{\"schema\":\"volproof.record\",\"schema_version\":2,\"volproof_version\":\"0.1.0\"}\nBob: keep PL1\n",
    ] {
        std::fs::write(&path, theirs).unwrap();
        let told = apart(&[&open().of_kind(OutputKind::Record)], &[]).unwrap_err().to_string();
        assert!(told.contains("is no Record of volproof"), "{told}");
    }
    open().save(&long).unwrap();
    assert_eq!(std::fs::metadata(&path).unwrap().len(), 3 << 16, "without a kind it replaces any file");
    // A link that has the name is replaced, and what it leads to stays.
    std::fs::write(&other, OLD).unwrap();
    let mut output = open();
    std::fs::remove_file(&path).unwrap();
    symlink(&other, &path).unwrap();
    output.save(&long).unwrap();
    assert_eq!(std::fs::read(&other).unwrap(), OLD);
    assert!(!path.is_symlink());
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
        let input = [("the input".to_string(), FileIdentity::from_path(&path(b)))];
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
fn a_text_that_gets_no_name_leaves_no_file() {
    let at = folder();
    // Longer than any name, whatever is cut of the stem.
    let extension = "x".repeat(256);
    let mut output = OutputFile::fresh("--records", at.path(), "r", &extension).unwrap();
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

#[test]
fn a_claimed_name_is_that_of_one_program_and_keeps_what_it_held() {
    let at = folder();
    let path = at.path().join("r.json");
    std::fs::write(&path, OLD).unwrap();
    let claim = || OutputFile::open("--json", &path).unwrap().claimed();
    let mut first = claim().unwrap();
    let refused = |when: &str| {
        let why = claim().unwrap_err().to_string();
        assert!(why.contains("another program that still runs has locked it"), "{when}: {why}");
    };
    refused("before it is saved");
    for text in ["one\n", "two\n"] {
        first.save(&|out| out.write_all(text.as_bytes())).unwrap();
        refused(text);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
        assert_eq!(std::fs::read(first.earlier().unwrap()).unwrap(), OLD);
        assert_eq!(left_in(at.path()), [], "the program that keeps it still runs");
    }
    let earlier = first.earlier().unwrap();
    drop(first);
    let left: Vec<_> = left_in(at.path()).into_iter().map(|left| (left.path, left.is_whole)).collect();
    assert_eq!(left, [(earlier.clone(), true)]);
    let mut second = claim().unwrap();
    second.save(&|out| out.write_all(b"three\n")).unwrap();
    second.is_complete();
    drop(second);
    std::fs::remove_file(earlier).unwrap();
    assert_eq!(names(at.path()), ["r.json"]);
}

#[test]
fn a_claimed_new_file_goes_where_it_is_of_no_use() {
    let at = folder();
    let mut fresh = OutputFile::fresh("--records", at.path(), "new", "json").unwrap().claimed().unwrap();
    assert!(fresh.is_new());
    fresh.save(&long).unwrap();
    assert!(!fresh.is_new() && fresh.earlier().is_none());
    let other = OutputFile::open("--json", fresh.path()).unwrap().claimed();
    assert!(other.is_err());
    // Somebody's file that has taken the name stays.
    std::fs::rename(fresh.path(), at.path().join("moved")).unwrap();
    std::fs::write(fresh.path(), OLD).unwrap();
    fresh.remove();
    assert_eq!(names(at.path()), ["moved", "new.json"]);
    std::fs::rename(at.path().join("moved"), fresh.path()).unwrap();
    fresh.remove();
    assert_eq!(names(at.path()), [""; 0]);
}

#[test]
fn a_name_that_nobody_chose_is_that_of_a_file_alone() {
    let at = folder();
    let (path, other) = (at.path().join("index"), at.path().join("other"));
    std::fs::write(&other, OLD).unwrap();
    let open = || OutputFile::itself("history", &path).map(|file| file.of_kind(OutputKind::HistoryIndex));
    let index = b"volproof history index 1, volproof 0\n";
    symlink(&other, &path).unwrap();
    assert!(open().is_err());
    std::fs::remove_file(&path).unwrap();
    rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, Mode::from_raw_mode(0o600), 0)
        .unwrap();
    assert!(open().is_err());
    std::fs::remove_file(&path).unwrap();
    for mode in [0o644, 0o600] {
        open().unwrap().with_mode(mode).save(&|out| out.write_all(index)).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().mode() & 0o777, mode);
    }
    std::fs::write(&path, "notes\n").unwrap();
    assert!(open().unwrap().save(&|out| out.write_all(index)).is_err());
    assert_eq!(std::fs::read(&path).unwrap(), b"notes\n");
    assert_eq!(std::fs::read(&other).unwrap(), OLD);
}

#[test]
fn a_held_file_is_replaced_by_one_that_is_locked_already() {
    let at = folder();
    let path = at.path().join("grows");
    std::fs::write(&path, OLD).unwrap();
    let held = File::open(&path).unwrap();
    unfinished::mark(&held);
    let output = OutputFile::itself("--file", &path).unwrap();
    let new = output.replace_held(&held, &|out| out.write_all(b"new")).unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), b"new");
    assert!(is_locked(&File::open(&path).unwrap()));
    // Another file that has the name by now stays.
    assert!(output.replace_held(&held, &long).is_err());
    assert_eq!((std::fs::read(&path).unwrap(), names(at.path())), (b"new".to_vec(), vec!["grows".into()]));
    drop(new);
}

#[test]
fn a_mistyped_device_is_not_made_as_a_file() {
    let refused =
        OutputFile::open("--csv", Path::new("/dev/volproof-no-such-device")).unwrap_err().to_string();
    assert!(refused.contains("lost with the memory"), "{refused}");
    assert!(OutputFile::open("--csv", Path::new("/dev/null")).is_ok());
    let refused = OutputFile::fresh("--records", Path::new("/dev"), "new", "json").unwrap_err().to_string();
    assert!(refused.contains("lost with the memory"), "{refused}");
    for folder in ["/dev/volproof-new/below", "/proc/volproof-new", "/sys/kernel/volproof-new"] {
        assert!(make_folder(Path::new(folder)).is_err() && !Path::new(folder).exists(), "{folder}");
    }
}
