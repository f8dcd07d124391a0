//! What drives this machine: files, loop devices, memory disks, settings, signals. Many of these tests wait.

mod engine;
mod fleet;
mod guard;
mod run;
mod traced_loop;
mod tune;
mod zram_disk;

/// Puts a copy of the program there. Another process writes it: a file that this one has open for writing cannot run while another thread's new
/// process still holds it ("Text file busy").
fn copy_program(to: &std::path::Path) {
    let copied = std::process::Command::new("cp").arg(env!("CARGO_BIN_EXE_volproof")).arg(to).status();
    assert!(copied.unwrap().success());
}
