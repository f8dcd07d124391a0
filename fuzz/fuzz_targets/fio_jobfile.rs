//! fio job files, which may include themselves: any text is read or refused with its place; what was read can be asked for every option.
#![no_main]

use std::io;

use libfuzzer_sys::fuzz_target;
use volproof::fio::support;
use volproof::fio_formats::command::Surroundings;
use volproof::fio_formats::{argv, table};

fuzz_target!(|text: &str| {
    let file = |name: &str| match name {
        "a.fio" | "a" => Ok(text.to_string()),
        "b" => Ok("rw=randrw\ninclude a\n".to_string()),
        _ => Err(io::Error::from(io::ErrorKind::NotFound)),
    };
    let variable = |name: &str| (!name.is_empty()).then(|| name.repeat(2));
    let around = Surroundings { variable: &variable, file: &file, cpus: 4, page: 4096, memory: 8000 };
    match argv::parse(&["--parse-only".to_string(), "a.fio".to_string()], &around) {
        Err(mistakes) => assert!(!mistakes.is_empty() && mistakes.iter().all(|m| !m.to_string().is_empty())),
        Ok(command) => {
            for job in &command.jobs {
                support::limits(job);
                table::all().for_each(|option| drop(job.value(option.name)));
            }
        }
    }
});
