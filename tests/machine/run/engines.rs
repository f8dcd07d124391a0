//! Engines through the binary: each gives the same kind of Record; where io_uring is forbidden, libaio steps in and says so.

use std::process::Command;

use volproof::plan::EngineKind;

use crate::run::{Bench, Ran};

#[test]
fn each_engine_reads_and_writes() {
    let bench = Bench::new();
    bench.file("f.dat", 8);
    for (engine, depth) in [("io_uring", "16"), ("libaio", "16"), ("psync", "1")] {
        let load = ["run", "f.dat", "--rw", "randrw", "--overwrite", "--runtime", "1s", "--json", "r.json"];
        let ran = bench.run(&[&load[..], &["--engine", engine, "--iodepth", depth]].concat());
        assert!(matches!(ran.code, Some(0 | 6)), "{engine}: {}", ran.out);
        let record = bench.record();
        let step = &record.steps[0];
        let (read, write) = (step.read.as_ref().unwrap(), step.write.as_ref().unwrap());
        assert!(read.ios > 0 && write.ios > 0, "{engine}");
        assert!(read.service_latency_ns.min <= read.service_latency_ns.max);
        if step.engine.get().unwrap().to_string() != engine {
            assert!(record.doubts.iter().any(|w| w.code == "engine-fallback"), "{}", ran.out);
        }
    }
}

/// Runs its arguments with io_uring_setup(2) answered by EPERM, as the seccomp profile of a container does.
const WITHOUT_IO_URING: &str = r#"
import ctypes, os, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
# load number; is it 425 (io_uring_setup, the same on every architecture)? then EPERM, else allow
code = [(0x20, 0, 0, 0), (0x15, 0, 1, 425), (0x06, 0, 0, 0x00050001), (0x06, 0, 0, 0x7fff0000)]
program = b"".join(struct.pack("HBBI", *c) for c in code)
buffer = ctypes.create_string_buffer(program)
class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_void_p)]
rules = Program(len(code), ctypes.addressof(buffer))
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(rules)):
    sys.exit("seccomp: " + os.strerror(ctypes.get_errno()))
os.execv(sys.argv[1], sys.argv[1:])
"#;

#[test]
fn a_forbidden_io_uring_falls_back_to_libaio_and_says_so() {
    let bench = Bench::new();
    bench.file("f.dat", 8);
    let mut command = Command::new("python3");
    command.args(["-c", WITHOUT_IO_URING, env!("CARGO_BIN_EXE_volproof")]);
    command.args([
        "run",
        "f.dat",
        "--rw",
        "randread",
        "--iodepth",
        "8",
        "--runtime",
        "300ms",
        "--json",
        "r.json",
    ]);
    let output = match command.current_dir(bench.path()).output() {
        Ok(output) => output,
        Err(e) => return println!("skipped: python3: {e}"),
    };
    if String::from_utf8_lossy(&output.stderr).starts_with("seccomp:") {
        return println!("skipped: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    let ran = Ran::of(output).ended(0);
    let record = bench.record();
    assert_eq!(record.plan.steps[0].engine, EngineKind::IoUring, "what was asked for stays in the plan");
    assert_eq!(record.steps[0].engine.get(), Some(EngineKind::Libaio));
    let warning = record.doubts.iter().find(|w| w.code == "engine-fallback").expect("a warning");
    assert!(warning.message.contains("libaio") && warning.advice.contains("seccomp"), "{warning:?}");
    assert!(ran.out.contains("[engine-fallback]"), "{}", ran.out);
}
