//! Unpacks a captured /sys and /proc from `tests/fixtures/topo-*.tree` into a temporary folder.
//!
//! A tree is the output of `cd / && awk '{ print FILENAME "\t" $0 }' FILES`, a line of text for each line of a file, and
//! `path -> target` for a symbolic link. So anybody can take one from a machine that placement gets wrong.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use volproof::device::Root;

use tempfile::TempDir;
use volproof::topo::Topology;

/// The folder that stands for `/`.
pub fn unpack(name: &str) -> TempDir {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/fixtures/topo-{name}.tree"));
    let text = fs::read_to_string(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
    let dir = TempDir::new().unwrap();
    let at = |path: &str| {
        let path = dir.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        path
    };
    for line in text.lines().filter(|l| !l.starts_with('#')) {
        if let Some((path, target)) = line.split_once(" -> ") {
            let link = at(path);
            fs::create_dir_all(link.parent().unwrap().join(target)).unwrap();
            symlink(target, link).unwrap();
            continue;
        }
        let (path, text) = line.split_once('\t').unwrap_or_else(|| panic!("{name}: no tab: {line}"));
        let path = at(path);
        let before = fs::read_to_string(&path).unwrap_or_default();
        fs::write(path, before + text + "\n").unwrap();
    }
    dir
}

/// The topology of a device in a tree.
#[allow(dead_code)] // not every test that unpacks a tree reads it this way
pub fn read(name: &str, devices: &[&str]) -> Topology {
    let dir = unpack(name);
    Topology::read(&Root::tree(dir.path()), devices).unwrap()
}
