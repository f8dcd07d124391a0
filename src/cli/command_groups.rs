//! The commands in groups, as `volproof --help` lists them.

use clap::Command;

/// Each group with its commands, the usual ones first.
const GROUPS: [(&str, &[&str]); 5] = [
    ("Test a volume", &["run", "fit", "slo", "sweep", "suite", "cold", "fio", "fleet", "million"]),
    ("Results", &["show", "report", "verdict", "compare", "history", "convert", "merge"]),
    ("Before a test", &["plan", "check", "promise", "size", "lint"]),
    ("A volume in use", &["watch"]),
    ("The kernel and the shell", &["topo", "tune", "restore", "completions", "help"]),
];

/// The program with its own help, but for the commands, which stand in groups.
pub(super) fn grouped(program: Command) -> Command {
    let template = help_template(&program);
    program.help_template(template)
}

fn help_template(program: &Command) -> String {
    let mut groups = String::new();
    for (heading, names) in GROUPS {
        groups += &format!("{heading}:\n");
        for name in names {
            let about = program.find_subcommand(name).and_then(Command::get_about).map(ToString::to_string);
            groups += &format!("  {name:12} {}\n", about.as_deref().unwrap_or("The help of a command"));
        }
        groups.push('\n');
    }
    format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{groups}Options:\n{{options}}{{after-help}}"
    )
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::CommandFactory;

    use super::*;
    use crate::cli::Cli;

    #[test]
    fn every_command_is_in_one_group_and_has_one_line() {
        let program = Cli::command();
        let shown: BTreeSet<&str> =
            program.get_subcommands().filter(|c| !c.is_hide_set()).map(Command::get_name).collect();
        let mut listed: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| *names).copied().collect();
        listed.retain(|name| *name != "help");
        assert_eq!(listed.iter().copied().collect::<BTreeSet<_>>(), shown);
        assert_eq!(listed.len(), shown.len(), "{listed:?}");
        assert!(help_template(&program).lines().all(|line| line.len() <= 80 || line.starts_with('{')));
    }
}
