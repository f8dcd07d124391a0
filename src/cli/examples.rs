//! Examples below the help of each command. A test parses every one of them.

pub(super) const VOLPROOF: &str = "Examples:\n  \
    volproof run .                       the standard tests on a file made here\n  \
    volproof run --preset quick /mnt/x   a first look in a minute\n  \
    volproof run /dev/vdb --preset read-only   reads alone change nothing\n  \
    volproof run f.dat --rw randread --bs 16k --iodepth 32 --rate-iops 5000\n  \
    volproof show volproof-*.json        print a stored result again";

pub(super) const RUN: &str = "Examples:\n  \
    volproof run .                              the standard tests on a new file\n  \
    volproof run /mnt/a /mnt/b --preset quick   two volumes together, a minute\n  \
    volproof run /dev/vdb --preset read-only    reads alone; changes nothing\n  \
    volproof run f.dat --rw randread --bs 4k/70:64k/30 --iodepth 32 --numjobs 2\n  \
    volproof run f.dat --rw randread --rate-iops 5000 --arrival poisson\n  \
    volproof run /dev/vdb --destroy d-2ze8xyz --promise alibaba:cloud_essd.PL1\n  \
    volproof run --resume volproof-1.json       the missing steps of that run";

pub(super) const COMPARE: &str = "Examples:\n  \
    volproof compare before.json after.json          what changed\n  \
    volproof compare before.json after.json --gate 5%   exit code 1 if worse\n  \
    volproof compare --history new.json --gate 5%       against its own past\n  \
    volproof compare a1.json a2.json -- b1.json b2.json b3.json\n  \
    volproof compare --run 6 -- /mnt/x --iodepth 32 -- /mnt/x --iodepth 64";

pub(super) const WATCH: &str = "Examples:\n  \
    volproof watch /dev/nvme1n1 --promise aws:gp3 --iops 16000 --throughput 500\n  \
    volproof watch /var/lib/mysql --for 1h     the disk below this folder\n  \
    volproof watch /dev/vdb --file vdb.watch --openmetrics /run/vdb.prom\n  \
    volproof show vdb.watch                    the answer of a watch, also later\n\n\
    Ctrl-C ends a watch; started again it goes on with its file. Nothing is\n\
    written to the volume, and no load is made: docs/watch.md.";
pub(super) const HISTORY: &str = "Examples:\n  \
    volproof history                     all finished runs of this machine\n  \
    volproof history runs/ --html history.html\n  \
    volproof history --volume vol0123 --csv figures.csv\n  \
    volproof history --sql - | sqlite3 history.db";

pub(super) const EXPLAIN: &str = "Examples:\n  \
    volproof explain run.json            as volproof show run.json --details\n  \
    volproof explain report.txt          as volproof show report.txt";

pub(super) const FLEET: &str = "Examples:\n  \
    mpirun -np 4 --map-by node volproof fleet /dev/vdb --preset read-only\n  \
    srun --ntasks-per-node=1 volproof fleet /dev/vdb --shared --preset read-only\n  \
    mpirun -np 2 volproof fleet /dev/vdb --shared --destroy d-2ze8xyz \\\n    \
      --promise alibaba:san_ssd --volume-size 800GiB --json fleet.json\n\n\
    Without MPI: volproof run --start-at, and volproof merge.";

pub(super) const MERGE: &str = "Examples:\n  \
    volproof run /dev/vdb --preset read-only --rank 0/2 \\\n    \
      --start-at 2026-11-21T22:00:00Z\n  \
    volproof merge rank0.json rank1.json\n  \
    volproof merge *.json --promise alibaba:san_ssd --volume-size 1TiB -o f.json\n\n\
    docs/fleet.md shows the whole way.";

pub(super) const MILLION: &str = "Examples:\n  \
    volproof million /dev/vdb    random reads, one job for each queue\n  \
    volproof million /dev/vdb --dry-run    what it would do\n  \
    volproof million 10 64 4k randwrite /dev/vdb --destroy SERIAL\n  \
    volproof million 10 128 4k randwrite 1024g /dev/nvme1n1 --destroy SERIAL\n  \
    volproof million /data01/test 16 64 8k randwrite libaio 1 --overwrite";

pub(super) const SWEEP: &str = "Examples:\n  \
    volproof sweep /dev/vdb --iodepth 1..256    random reads; changes nothing\n  \
    volproof sweep /dev/vdb --iodepth 1..64 --bs 4k..1M --dry-run\n  \
    volproof sweep . --rwmix 0..100:25 --iodepth 32 --budget 10m\n  \
    volproof sweep . --iodepth 1..128 --rw randwrite --resume volproof-1.json";

pub(super) const SLO: &str = "Examples:\n  \
    volproof slo /dev/vdb --p99 1ms                    random reads of 4 KiB\n  \
    volproof slo /dev/vdb --p99.9 5ms --rw randrw --rwmix 70 --destroy SERIAL\n  \
    volproof slo . --mean 500us --bs 16k --budget 20m\n  \
    volproof slo /dev/vdb --p99 1ms --dry-run          time and bytes";

pub(super) const SUITE: &str = "Examples:\n  \
    volproof suite essd-contract /dev/vdb --dry-run    time and bytes\n  \
    volproof suite snia-iops /dev/nvme1n1 --destroy SERIAL\n  \
    volproof suite provider:aws . --promise gp3 --volume-size 100GiB\n  \
    volproof suite essd-contract . --reference local.json --budget 2h";

pub(super) const COLD: &str = "Examples:\n  \
    volproof cold /dev/vdb             a volume that was made from a snapshot\n  \
    volproof cold /dev/vdb --dry-run   time, and nothing else";

pub(super) const FIT: &str = "Examples:\n  \
    volproof fit /var/lib/etcd --for etcd             on a file made there\n  \
    volproof fit . --for etcd:heavy,cockroachdb:vcpus=8\n  \
    volproof fit . --for etcd --beside 50MB/s         while a backup reads\n  \
    volproof fit /dev/vdb --for aerospike:x=30 --destroy SERIAL\n  \
    volproof fit --list etcd                          load, needs, sources";

pub(super) const LINT: &str = "Examples:\n  \
    terraform show -json plan.out > plan.json; volproof lint plan.json\n  \
    volproof lint k8s/*.yaml --github\n  \
    helm template ./chart | volproof lint -\n\n\
    Exit code 1: paid for and cannot be had, or refused.";

pub(super) const SIZE: &str = "Examples:\n  \
    volproof size metrics.json --now aws:gp3:400GiB,iops=16000,throughput=500\n  \
    S_TIME_FORMAT=ISO iostat -xt 1 > day.log; volproof size day.log --disk sdb\n  \
    volproof size volproof-1.json --provider azure --size 256GiB\n  \
    volproof size day.log --size 1TiB --price prices.toml --csv\n\n\
    Exit code 1: nothing sold is enough.";

pub(super) const FITS: &str = "Examples:\n  \
    volproof fits                        a line for each application\n  \
    volproof fits etcd                   its load, needs and sources\n  \
    volproof fits --catalog ours.toml    with applications of your own";

pub(super) const PLAN: &str = "Examples:\n  \
    volproof plan .                               steps, time, bytes written\n  \
    volproof plan /dev/vdb --destroy d-2ze8xyz    whether a run may write\n  \
    volproof plan . --preset quick --promise aws:gp3 --volume-size 100GiB\n  \
    volproof plan --list                          the presets and the suites";

pub(super) const CHECK: &str = "Examples:\n  \
    volproof check /dev/vdb              its serial, or why a run may not write\n  \
    volproof check /dev/vdb --destroy d-2ze8xyz\n  \
    volproof check . --json              for a pipeline; exit code 3: refused";

pub(super) const SHOW: &str = "Examples:\n  \
    volproof show volproof-*.json          each as its run printed it\n  \
    volproof show run.json --details       with evidence and notes\n  \
    volproof show run.json --csv > run.csv\n  \
    volproof show old.txt new.txt          reports of fio and others, side by side\n  \
    fio job.fio --output-format=json | volproof show -";

pub(super) const REPORT: &str = "Examples:\n  \
    volproof report run.json                    makes run.html in this folder\n  \
    volproof report fio.json -o page.html       a report of fio as a page";

pub(super) const VERDICT: &str = "Examples:\n  \
    volproof verdict run.json              against the promise of its run\n  \
    volproof verdict run.json --promise aws:gp3 --volume-size 100GiB\n  \
    volproof verdict fio.json --promise alibaba:cloud_essd.PL1 \\\n    \
      --volume-size 500GiB --markdown ticket.md\n  \
    volproof verdict fio.json --fit etcd --junit fit.xml";

pub(super) const CONVERT: &str = "Examples:\n  \
    volproof convert run.json --to json > fio.json       as fio reports it\n  \
    volproof convert run.json --to jobfile -o job.fio    to run the same with fio\n  \
    volproof convert job.fio --to plan -o plan.toml      for 'run --plan'\n  \
    volproof convert dd.txt --to record -o dd.json";

pub(super) const PRESETS: &str = "Examples:\n  \
    volproof presets\n  \
    volproof run . --preset quick            runs one\n  \
    volproof suite snia-iops . --dry-run     plans a suite";

pub(super) const PROMISE: &str = "Examples:\n  \
    volproof promise                              the volumes of this machine\n  \
    volproof promise aws:gp3 --size 500GiB --iops 6000\n  \
    volproof promise cloud_essd.PL1 --size 800GiB --instance ecs.g7.8xlarge\n  \
    volproof promise --need-iops 20000             the smallest of each type\n  \
    volproof promise aws --list                   the types of one provider";

pub(super) const TOPO: &str = "Examples:\n  \
    volproof topo /dev/nvme0n1               queues, CPUs, a worker for each\n  \
    volproof topo /dev/vdb --jobs 4          where four workers would be placed";

pub(super) const TUNE: &str = "Examples:\n  \
    volproof tune /dev/vdb --dry-run    prints what would be written\n  \
    volproof tune /dev/vdb              sets it until Ctrl-C\n  \
    volproof tune /dev/vdb --keep       sets it until 'volproof restore'";

pub(super) const RESTORE: &str = "Examples:\n  \
    volproof restore            puts everything back that has no living owner\n  \
    volproof restore --json     the same, as JSON";

pub(super) const COMPLETIONS: &str = "Examples:\n  \
    source <(volproof completions bash)      in ~/.bashrc\n  \
    volproof completions zsh > ~/.zfunc/_volproof\n  \
    volproof completions fish > ~/.config/fish/completions/volproof.fish";

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Parser};

    use crate::cli::Cli;

    /// The words of each call of volproof in a help text: without what a shell takes and without the words behind two blanks.
    fn calls(help: &str) -> Vec<Vec<String>> {
        let joined = help.replace(" \\\n      ", " ").replace(" \\\n    ", " ");
        let lines = joined.lines().skip_while(|line| *line != "Examples:").skip(1);
        let parts =
            lines.take_while(|line| line.starts_with("  ")).flat_map(|line| line.split(['|', ';', '(']));
        let call = |part: &str| {
            let words = &part[part.find("volproof ")?..];
            let one = words.replace("        ", " ");
            let end = [" >", "  ", ")"].iter().filter_map(|end| one.find(end)).min().unwrap_or(one.len());
            shlex::split(&one[..end])
        };
        parts.filter_map(call).collect()
    }

    #[test]
    fn every_command_has_examples_that_parse_and_fit_80_columns() {
        let cli = Cli::command();
        // The help of `fio` is the one that fio prints.
        let commands = cli.get_subcommands().filter(|command| command.get_name() != "fio").chain([&cli]);
        for command in commands {
            let name = command.get_name();
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            let calls = calls(&help);
            assert!(calls.len() > 1, "{name} has no examples: {help}");
            // clap wraps the sentences behind the examples.
            let mut examples = help.lines().take_while(|line| !line.is_empty());
            assert!(examples.all(|line| line.len() <= 80), "{name}: an example is wider than 80: {help}");
            for call in calls {
                let parsed = Cli::try_parse_from(&call);
                assert!(parsed.is_ok(), "{name}: {call:?}: {}", parsed.unwrap_err());
                assert!(
                    name == "volproof" || call[0] == "volproof" && help.contains(&format!("volproof {name}")),
                    "{name}: no example calls it: {help}"
                );
            }
        }
    }
}
