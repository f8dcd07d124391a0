//! The commands in groups, as `volproof --help` lists them.

use clap::Subcommand;

use super::CliCommand;

/// Each group with its commands, the usual ones first.
const GROUPS: [(&str, &[&str]); 5] = [
    ("Test a volume", &["run", "fit", "slo", "sweep", "suite", "cold", "fio", "fleet", "million"]),
    ("Results", &["show", "report", "verdict", "compare", "history", "convert", "merge"]),
    ("Before a test", &["plan", "check", "promise", "size", "lint"]),
    ("A volume in use", &["watch"]),
    ("The kernel and the shell", &["topo", "tune", "restore", "completions", "help"]),
];

/// The template of the help: clap's own, with the commands in groups.
pub(super) fn help_template() -> String {
    let commands = CliCommand::augment_subcommands(clap::Command::new("volproof"));
    let mut groups = String::new();
    for (heading, names) in GROUPS {
        groups += &format!("{heading}:\n");
        for name in names {
            let command = commands.find_subcommand(name);
            let about = command.and_then(clap::Command::get_about).map(ToString::to_string);
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
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_command_is_in_one_group_and_has_one_line() {
        let commands = CliCommand::augment_subcommands(clap::Command::new("volproof"));
        let shown: BTreeSet<&str> =
            commands.get_subcommands().filter(|c| !c.is_hide_set()).map(clap::Command::get_name).collect();
        let mut listed: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| *names).copied().collect();
        listed.retain(|name| *name != "help");
        assert_eq!(listed.iter().copied().collect::<BTreeSet<_>>(), shown);
        assert_eq!(listed.len(), shown.len(), "{listed:?}");
        assert!(help_template().lines().all(|line| line.len() <= 80 || line.starts_with('{')));
    }
}
