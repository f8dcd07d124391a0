//! The commands of README.md and docs/pipelines.md do what their page says. In a pipeline a simulated volume stands in the place of
//! `/mnt/data`.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

/// A volume that keeps the promise of a gp3, and one that lacks a third of its IOPS.
const KEEPS: &str = "latency=500us,iops-cap=3000,bytes-cap=125MiB";
const LACKS: &str = "latency=500us,iops-cap=2000,bytes-cap=125MiB";

/// The commands of the page that test or compare, as they stand.
fn commands() -> Vec<String> {
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/pipelines.md")).unwrap();
    let blocks = page.split("```").skip(1).step_by(2);
    let lines = blocks.flat_map(str::lines).map(|line| line.trim_start().trim_start_matches("- "));
    lines.filter(|line| line.starts_with("volproof ")).map(str::to_string).collect()
}

/// Runs a command in a folder where `volproof` drives a simulated device instead of `/mnt/data`, and returns its exit code.
fn run(folder: &Path, command: &str, device: &str) -> i32 {
    let program = folder.join("volproof");
    let words = format!(
        "#!/bin/bash\nargs=()\nfor word; do [ \"$word\" = /mnt/data ] && args+=(--simulate {device}) || args+=(\"$word\"); done\nexec {} \"${{args[@]}}\"\n",
        env!("CARGO_BIN_EXE_volproof")
    );
    fs::write(&program, words).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let command = command.replace("/var/lib/node_exporter", ".");
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap());
    let status = Command::new("bash")
        .args(["-c", &command])
        .current_dir(folder)
        .env("PATH", path)
        .stdout(std::process::Stdio::null())
        .status();
    status.unwrap().code().unwrap()
}

#[test]
fn the_commands_of_the_page_stop_a_pipeline_where_a_volume_falls_short() {
    let folder = tempfile::tempdir().unwrap();
    let before = "volproof run /mnt/data --json before.json";
    assert_eq!(run(folder.path(), before, KEEPS), 0);
    let commands = commands();
    assert!(commands.len() >= 5, "{commands:?}");
    for command in commands {
        let judges = command.contains("--promise") || command.contains("--gate");
        assert_eq!(run(folder.path(), &command, KEEPS), 0, "{command}");
        if judges && !command.contains("--gate") {
            assert_eq!(run(folder.path(), &command, LACKS), 1, "{command}");
        }
    }
    for file in ["run.json", "run.xml", "run.md", "run.html", "volproof.prom"] {
        assert!(folder.path().join(file).metadata().unwrap().len() > 0, "{file}");
    }
}

/// README.md shows the answer that its first command prints at 80 columns; the time of the run and the place of its Record aside.
#[test]
fn the_answer_in_the_readme_is_the_one_that_is_printed() {
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).unwrap();
    let (_, rest) = page.split_once("    $ volproof ").unwrap();
    let mut block = rest.lines();
    let words = shlex::split(block.next().unwrap()).unwrap();
    let shown: Vec<&str> =
        block.map_while(|l| if l.is_empty() { Some("") } else { l.strip_prefix("    ") }).collect();
    let folder = tempfile::tempdir().unwrap();
    let ran = Command::new(env!("CARGO_BIN_EXE_volproof"))
        .args(words)
        .current_dir(folder.path())
        .env("COLUMNS", "80")
        .output()
        .unwrap();
    assert_eq!(ran.status.code(), Some(1));
    let printed = String::from_utf8(ran.stdout).unwrap();
    let (answer, _) = printed.split_once("\nRecord: ").unwrap_or((&printed, ""));
    let printed: Vec<&str> = answer.trim_end().lines().map(|l| l.split(", 20").next().unwrap()).collect();
    let shown = shown.join("\n");
    assert_eq!(shown.trim_end().lines().collect::<Vec<_>>(), printed);
}
