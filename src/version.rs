//! The answer to `volproof --version`: which build this is, and which engines it can use on this machine.

use std::fmt::Write;

use volproof_engine as engine;
use volproof_fio::fio_process::Fio;
use volproof_plan::EngineKind;

/// Version, commit, engines and kernel, a line each. An engine that cannot be used here has its reason.
pub fn text() -> String {
    let mut text = concat!("volproof ", env!("CARGO_PKG_VERSION"), "\n").to_string();
    let mut line = |name: &str, value: &str| {
        let _ = writeln!(text, "{name:<9} {value}");
    };
    line(
        "commit",
        option_env!("VOLPROOF_COMMIT").unwrap_or("not known: a debug build, or one from an archive"),
    );
    for kind in [EngineKind::IoUring, EngineKind::Libaio, EngineKind::Psync, EngineKind::Null] {
        let usable = match kind {
            EngineKind::IoUring => engine::io_uring_features().map(|features| features.join(", ")),
            EngineKind::Null => Ok("a device in virtual time, for --simulate".into()),
            kind => engine::choose(kind).map(|_| "usable".into()).map_err(|e| e.to_string()),
        };
        line(&kind.to_string(), &usable.unwrap_or_else(|why| format!("not usable: {why}")));
    }
    match Fio::find() {
        Ok(fio) => line("fio", &format!("{} at {}", fio.version, fio.path.display())),
        Err(why) => line("fio", &why.to_string()),
    }
    line("kernel", &rustix::system::uname().release().to_string_lossy());
    text
}
