//! Completions in a real bash: values, not only options.

use std::process::Command;

use crate::Bench;

/// The words that bash offers for the last of some words.
fn offered(bench: &Bench, words: &[&str]) -> Vec<String> {
    let script = bench.path().join("volproof.bash");
    std::fs::write(&script, bench.run(&["completions", "bash"]).ended(0).out).unwrap();
    // As bash calls a function of `complete -F`: the command, the word, and the word before it.
    let ask = "source \"$1\"; shift; COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); \
               _volproof volproof \"${COMP_WORDS[COMP_CWORD]}\" \"${COMP_WORDS[COMP_CWORD - 1]}\"; printf '%s\\n' \"${COMPREPLY[@]}\"";
    let bash =
        Command::new("bash").args(["--norc", "-c", ask, "bash"]).arg(&script).args(words).output().unwrap();
    assert!(bash.status.success() && bash.stderr.is_empty(), "{}", String::from_utf8_lossy(&bash.stderr));
    String::from_utf8(bash.stdout).unwrap().lines().map(str::to_string).collect()
}

#[test]
fn bash_completes_values() {
    let bench = Bench::new();
    for (words, expected) in [
        (&["volproof", "run", "--preset", "th"][..], &["thorough"][..]),
        (&["volproof", "run", "--engine", "lib"], &["libaio"]),
        (&["volproof", "run", "--rw", "randw"], &["randwrite"]),
        (&["volproof", "run", "--promise", "gp"], &["gp3", "gp2"]),
        (
            &["volproof", "verdict", "--promise", "cloud_essd.PL"],
            &["cloud_essd.PL0", "cloud_essd.PL1", "cloud_essd.PL2", "cloud_essd.PL3"],
        ),
        (&["volproof", "promise", "--instance", "ecs.g7se.32"], &["ecs.g7se.32xlarge"]),
        (&["volproof", "sweep", "--rw", "randre"], &["randread"]),
    ] {
        assert_eq!(offered(&bench, words), expected, "{words:?}");
    }
}
