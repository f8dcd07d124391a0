//! Help: the commands in groups, as `volproof --help` lists them, and for each command the usual options with `-h`, all with `--help`.

use clap::{Arg, Command};

/// Each group with its commands, the usual ones first.
const GROUPS: [(&str, &[&str]); 5] = [
    ("Test a volume", &["run", "fit", "slo", "sweep", "suite", "cold", "fio", "fleet", "million"]),
    ("Results", &["show", "report", "verdict", "compare", "history", "convert", "merge"]),
    ("Before a test", &["plan", "check", "promise", "size", "lint"]),
    ("A volume in use", &["watch"]),
    ("The kernel and the shell", &["topo", "tune", "restore", "completions", "help"]),
];

/// A command of so many options shows all of them with `-h` too.
const FEW: usize = 20;

/// The options that `-h` shows of a command with many; `--help` shows all.
const USUAL: [&str; 27] = [
    "preset",
    "plan",
    "rw",
    "bs",
    "iodepth",
    "runtime",
    "rate-iops",
    "simulate",
    "p99",
    "p99.9",
    "p50",
    "mean",
    "for",
    "need",
    "list",
    "budget",
    "dry-run",
    "promise",
    "volume-size",
    "instance",
    "file-size",
    "overwrite",
    "destroy",
    "json",
    "html",
    "details",
    "need-iops",
];

/// The program with its own help: the commands in groups, and of each command the usual options alone with `-h`.
pub(super) fn grouped(program: Command) -> Command {
    let template = help_template(&program);
    program.help_template(template).mut_subcommands(with_short_help)
}

/// The command whose `-h` leaves out rare options, where it has many.
fn with_short_help(command: Command) -> Command {
    let is_option = |arg: &&Arg| !arg.is_positional() && !arg.is_hide_set();
    let is_usual =
        |arg: &Arg| arg.is_positional() || arg.get_long().is_some_and(|long| USUAL.contains(&long));
    let options = command.get_arguments().filter(is_option).count();
    if options <= FEW {
        return command;
    }
    let usual = command.get_arguments().filter(is_option).filter(|arg| is_usual(arg)).count();
    let name = command.get_name();
    let examples = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let more = format!("{examples}\n\n`volproof {name} --help` lists {} more options", options - usual);
    let command = command.after_long_help(examples).after_help(more);
    command.mut_args(|arg| if is_usual(&arg) { arg } else { arg.hide_short_help(true) })
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
        let short = |name: &str| {
            let mut program = grouped(program.clone());
            program.build();
            program.find_subcommand_mut(name).unwrap().render_help().to_string()
        };
        for name in shown {
            let options = short(name).lines().filter(|line| line.trim_start().starts_with('-')).count();
            // Beside them stand --help, and a line that begins with an option by chance.
            assert!(options <= FEW + 2, "{name} -h has {options} options");
        }
        assert!(help_template(&program).lines().all(|line| line.len() <= 80 || line.starts_with('{')));
    }
}
