//! fio command lines, one word per line: any is read or refused; what was read can be limited and asked for every option.
#![no_main]

use std::io;

use libfuzzer_sys::fuzz_target;
use volproof::fio_formats::command::Surroundings;
use volproof::fio::{help, support};
use volproof::fio_formats::{argv, table};

fuzz_target!(|text: &str| {
    let words: Vec<String> = text.lines().map(str::to_string).collect();
    let file = |name: &str| match name {
        "a.fio" => Ok("[global]\nioengine=libaio\n[one]\nbs=4k,8k\n[two]\nstonewall".to_string()),
        _ => Err(io::Error::from(io::ErrorKind::NotFound)),
    };
    let around = Surroundings { variable: &|_| None, file: &file, cpus: 4, page: 4096, memory: 8000 };
    match argv::parse(&words, &around) {
        Err(mistakes) => assert!(!mistakes.is_empty() && mistakes.iter().all(|m| !m.to_string().is_empty())),
        Ok(command) => {
            if let Some(request) = &command.request {
                assert!(!help::answer(request).is_empty());
            }
            for job in &command.jobs {
                support::limits(job);
                table::all().for_each(|option| drop(job.value(option.name)));
            }
        }
    }
});
