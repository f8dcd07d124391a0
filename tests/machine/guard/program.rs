//! The answers and exit codes of `check`.

use std::process::Command;

use crate::guard::loop_device::{Loop, run};

#[test]
fn the_program_answers_with_its_exit_code() {
    let volproof = |args: &[&str]| {
        let out = Command::new(env!("CARGO_BIN_EXE_volproof")).args(args).output().unwrap();
        (
            out.status.code().unwrap(),
            String::from_utf8(out.stdout).unwrap(),
            String::from_utf8(out.stderr).unwrap(),
        )
    };
    let missing = volproof(&["check", "/dev/volproof-none"]);
    assert_eq!(missing.0, 2, "{missing:?}");
    assert!(missing.2.contains("/dev/volproof-none"), "{missing:?}");
    let Some(disk) = Loop::attach() else { return };
    let device = disk.device.to_str().unwrap();
    let (code, ready, _) = volproof(&["check", device]);
    assert_eq!(code, 0, "{ready}");
    assert!(ready.contains("READY") && ready.contains("335,544,320"), "{ready}");
    let wrong = volproof(&["check", device, "--destroy", "WRONG"]);
    assert_eq!(wrong.0, 3, "{wrong:?}");
    assert!(run("mkfs.ext4", &["-q", "-L", "gold", device]));
    let (code, refused, _) = volproof(&["check", device]);
    assert!(code == 3 && refused.contains("REFUSED") && refused.contains("ext4 'gold'"), "{refused}");
    let (code, json, _) = volproof(&["check", device, "--json"]);
    let value: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert!(code == 3 && value["findings"][0]["code"] == "signature", "{json}");
    let consent = value["consent"].as_str().unwrap();
    assert_eq!(volproof(&["check", device, "--destroy", consent]).0, 0);
}
