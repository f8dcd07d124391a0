//! Random stacks, built for real: loop devices over files, devices and partitions, at offsets; hard links, bind mounts, unlinked and odd names;
//! mounts here and in another mount namespace, swap, and processes that keep something open. Where `VOLPROOF_LAYERS` is set, as in the guest,
//! also device mapper, md, bcache and LVM, and in `VOLPROOF_DISKS` disks whose data may go, `=` between paths to one volume. For every target
//! the guard's answer is compared with that of a plain model, which knows which bytes each device shows because it was built so.
//!
//! 60 stacks, or `VOLPROOF_STACKS`; the first has the seed 1, or `VOLPROOF_SEED`.

use std::collections::BTreeSet;
use std::path::Path;

use volproof::device::{Facts, Root, facts};
use volproof::guard::{Access, Code, GuardError, clear, consent};

use crate::guard::stack_builder::{Builder, Machine};

/// Whether the guard refuses a write, for reasons of use and not of data.
fn refused(target: &Path, access: Access<'_>) -> Option<String> {
    match clear(&Root::system(), target, access, false).and_then(|mut c| c.confirm()) {
        Ok(()) => None,
        Err(GuardError::Refused(check)) => {
            let data = |c: Code| matches!(c, Code::Exists | Code::OpinionsDiffer | Code::Misaligned);
            let note = volproof::guard::GuardSeverity::Note;
            let found = check.findings.iter().filter(|f| f.severity > note && !data(f.code));
            let text: Vec<String> = found.map(|f| format!("{}: {}", f.code.name(), f.what)).collect();
            (!text.is_empty()).then(|| text.join("; "))
        }
        Err(e) => panic!("{}: {e}", target.display()),
    }
}

/// An answer that is not about a ring of another test's process, which cannot be seen for as long as its file has no name.
fn once_rings_are_seen(answer: impl Fn() -> Option<String>) -> Option<String> {
    for _ in 0..600 {
        match answer() {
            Some(refused) if refused.contains("open in a ring of io_uring") => {
                std::thread::sleep(std::time::Duration::from_millis(100));
            }
            settled => return settled,
        }
    }
    answer()
}

#[test]
fn random_stacks_are_judged_as_a_plain_model_does() {
    let from_environment = |name: &str| std::env::var(name).ok().and_then(|v| v.parse::<u64>().ok());
    let first = from_environment("VOLPROOF_SEED").unwrap_or(1);
    let disks = std::env::var("VOLPROOF_DISKS").unwrap_or_default();
    let paths = |disk: &str| disk.split('=').map(Into::into).collect();
    let machine = Machine {
        layers: std::env::var_os("VOLPROOF_LAYERS").is_some(),
        pools: std::fs::read_to_string("/proc/filesystems").unwrap().contains("btrfs"),
        disks: disks.split_whitespace().map(paths).collect(),
    };
    let (mut allowed, mut denied, mut kinds) = (0, 0, BTreeSet::new());
    for seed in first..first + from_environment("VOLPROOF_STACKS").unwrap_or(60) {
        let _turn = crate::guard::rig::turn(false);
        let Some(b) = Builder::build(seed, &machine) else { return };
        if seed.is_multiple_of(10) {
            println!("seed {seed}");
        }
        kinds.extend(b.model.devices.iter().map(|d| kind(&d.path)));
        kinds.extend(b.model.uses.iter().map(|used| used.to_string()));
        let mut compare = |target: &Path, access: Access<'_>, due: bool| {
            let answer = once_rings_are_seen(|| refused(target, access));
            assert_eq!(
                answer.is_some(),
                due,
                "seed {seed}, {}: {answer:?}\n{:#?}",
                target.display(),
                b.model
            );
            if due { denied += 1 } else { allowed += 1 }
        };
        for (n, device) in b.model.devices.iter().enumerate().rev().take(3) {
            let Facts::Block(known) = facts(&Root::system(), &device.path).unwrap() else {
                panic!("no device")
            };
            let consent = consent(&known.device, &known.usage);
            compare(&device.path, Access::Destroy(Some(&consent)), b.model.refuses_device(n));
        }
        for (n, names) in b.model.names.iter().enumerate() {
            let name = &names[seed as usize % names.len()];
            let (hard, soft) = (b.model.refuses_file(n), b.model.shared_file(n));
            let shared = seed.is_multiple_of(2);
            compare(name, Access::Overwrite { shared }, hard || (soft && !shared));
        }
    }
    println!("{allowed} writes allowed, {denied} refused, as the model has it; {kinds:?}");
    assert!(allowed > 0 && denied > 0);
    let layers = ["bcache", "md", "stack-crypt", "stack-linear", "stack-striped", "stack_group", "btrfs"];
    let missed: Vec<&str> = layers.into_iter().filter(|layer| !kinds.contains(*layer)).collect();
    assert!(!machine.layers || missed.is_empty(), "no stack of {kinds:?} has {missed:?}");
}

/// The kind of a device: its name up to the first digit.
fn kind(device: &Path) -> String {
    let name = device.file_name().unwrap().to_str().unwrap();
    name.split(|c: char| c.is_ascii_digit()).next().unwrap().to_string()
}
