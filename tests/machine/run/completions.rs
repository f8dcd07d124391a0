//! Completions in a real bash: values, not only options.

use std::process::Command;

use crate::run::Bench;

/// The words that bash offers for the last of some words.
fn offered(bench: &Bench, words: &[&str]) -> Vec<String> {
    let script = bench.path().join("volproof.bash");
    std::fs::write(&script, bench.run(&["completions", "bash"]).ended(0).out).unwrap();
    // As bash calls the function of `complete -F`: the line, and its words, which end at colons and equals signs too.
    let ask = "source \"$1\"; shift; COMP_LINE=\"$*\"; COMP_POINT=${#COMP_LINE}; read -ra COMP_WORDS <<<\"${COMP_LINE//[:=]/ & }\"; \
               [[ $COMP_LINE != *[:=\\ ] ]] || COMP_WORDS+=(''); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); \
               [[ $(complete -p volproof) =~ -F\\ ([a-z_]+) ]]; ${BASH_REMATCH[1]} volproof; printf '%s\\n' \"${COMPREPLY[@]}\"";
    let bash =
        Command::new("bash").args(["--norc", "-c", ask, "bash"]).arg(&script).args(words).output().unwrap();
    assert!(bash.status.success() && bash.stderr.is_empty(), "{}", String::from_utf8_lossy(&bash.stderr));
    String::from_utf8(bash.stdout).unwrap().lines().map(str::to_string).collect()
}

/// The generator of fish leaves out arguments that are no options.
#[test]
fn fish_gets_the_values_of_arguments() {
    let script = Bench::new().run(&["completions", "fish"]).ended(0).out;
    for (command, value) in [("promise", "aws:gp3"), ("suite", "essd-contract")] {
        let words = format!("__fish_volproof_using_subcommand {command}\" -a \"");
        let line = script
            .lines()
            .find(|line| line.contains(&words))
            .unwrap_or_else(|| panic!("no values of {command}"));
        assert!(line.split(['"', ' ']).any(|word| word == value), "{line}");
    }
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
        // The part before the colon stands in the line already.
        (&["volproof", "promise", "aws:gp"], &["gp3", "gp2"]),
        (&["volproof", "run", "--promise", "alibaba:cloud_essd.PL1"], &["cloud_essd.PL1"]),
        (&["volproof", "run", "--preset=th"], &["thorough"]),
        (&["volproof", "promise", "--provider", "al"], &["alibaba"]),
        (&["volproof", "suite", "snia-i"], &["snia-iops"]),
        // Options are offered after a dash alone.
        (&["volproof", "suite", "--dry"], &["--dry-run"]),
        (&["volproof", "run", "/no"], &[""]),
    ] {
        assert_eq!(offered(&bench, words), expected, "{words:?}");
    }
}
