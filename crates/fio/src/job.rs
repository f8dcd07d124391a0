//! One job as it was asked for: the options that were given to it, on top of the global ones, on top of fio's defaults.
//!
//! A job is one section of a job file or one `--name`; `numjobs` has not multiplied it yet. Getters take the name of an option as the
//! table has it; asking for an option that does not exist, or for it as another type than it has, is a mistake of the program and
//! panics. Nothing here knows a target.

use volproof_base::unit::{Bytes, Nanos};

use super::block_ranges::block_ranges;
use super::mistake::Origin;
use super::option::{self, FioOption};
use super::option_value::{self, OptionValue, TargetAmount};
use super::output::Header;

/// fio's `kb_base` when none is given.
pub(super) const KB_BASE: u64 = 1024;
/// The engine of a job that names none.
pub const ENGINE: &str = "psync";

/// An option that was given.
#[derive(Clone, Debug)]
pub struct Given {
    /// Which one.
    pub option: &'static FioOption,
    /// Its text, with variables and keywords replaced; `None` where only the name stood. fio shows this in `job options`.
    pub text: Option<String>,
    /// Its value.
    pub value: OptionValue,
    /// Where it stood.
    pub origin: Origin,
}

/// One job.
#[derive(Clone, Debug)]
pub struct Job {
    /// Its name.
    pub name: String,
    /// Options of the global sections above it, in order.
    pub globals: Vec<Given>,
    /// Options of its own section, in order.
    pub own: Vec<Given>,
    /// It waits for all jobs before it: asked for, or the first job of a further job file.
    pub stonewall: bool,
    /// Reporting group, counted from 0: `stonewall` and `new_group` begin another.
    pub group: u32,
    /// Where it begins.
    pub origin: Origin,
}

impl Given {
    /// As fio writes it on a command line: `bs=4k`, or the name alone.
    pub fn line(&self) -> String {
        match &self.text {
            Some(text) => format!("{}={text}", self.option.name),
            None => self.option.name.to_string(),
        }
    }
}

impl Job {
    /// The line that fio prints of it before it runs.
    pub fn header(&self) -> Header {
        Header {
            rw: self.choice("rw").map_or("read", |rw| if rw == "readwrite" { "rw" } else { rw }).to_string(),
            block: block_ranges(self).map(|(low, high)| (Bytes(low), Bytes(high))),
            engine: self.engine().to_string(),
            depth: self.int("iodepth").unwrap_or(1).max(1) as u32,
            laid_out: None,
        }
    }

    /// The name of its engine.
    pub fn engine(&self) -> &str {
        self.options().rev().find(|g| g.option.name == "ioengine").map_or(ENGINE, |g| match &g.value {
            OptionValue::Choice(name, _) => name,
            OptionValue::Text(name) => name,
            _ => ENGINE,
        })
    }

    /// All that holds for it, global options first; of an option that was given twice, both.
    pub fn options(&self) -> impl DoubleEndedIterator<Item = &Given> {
        self.globals.iter().chain(&self.own)
    }

    /// The text given for an option, on the job or globally; the last one counts. `name` may be an alias. Options of an engine count
    /// only while the job has that engine.
    ///
    /// # Panics
    /// No option is called `name`.
    pub fn given(&self, name: &str) -> Option<&Given> {
        let option = known(name);
        let engine = self.engine();
        self.options().rev().find(|g| g.option.name == option.name && g.option.is_of(engine))
    }

    /// The value that holds for an option: given, or fio's default; none when fio has no default.
    ///
    /// # Panics
    /// No option is called `name`.
    pub fn value(&self, name: &str) -> Option<OptionValue> {
        match self.given(name) {
            Some(given) => Some(given.value.clone()),
            None => self.default(name),
        }
    }

    /// fio's default for an option.
    fn default(&self, name: &str) -> Option<OptionValue> {
        let option = option::find(name, self.engine()).unwrap_or_else(|| known(name));
        default_of(option)
    }

    /// The text of an option that takes text; empty for a log that has no name of its own.
    ///
    /// # Panics
    /// The option does not exist, or takes something else.
    pub fn text(&self, name: &str) -> Option<String> {
        self.value(name).map(|value| match value {
            OptionValue::Text(text) => text,
            other => mismatch(name, "text", &other),
        })
    }

    /// The word of an option that takes words, without what stands behind its colon.
    ///
    /// # Panics
    /// The option does not exist, or takes something else.
    pub fn choice(&self, name: &str) -> Option<&'static str> {
        self.value(name).map(|value| match value {
            OptionValue::Choice(word, _) => word,
            other => mismatch(name, "a word", &other),
        })
    }

    /// The text behind the colon of a word: `1.2` in `zipf:1.2`.
    ///
    /// # Panics
    /// The option does not exist, or takes something else.
    pub fn suffix(&self, name: &str) -> Option<String> {
        self.value(name).and_then(|value| match value {
            OptionValue::Choice(_, suffix) => suffix,
            other => mismatch(name, "a word", &other),
        })
    }

    /// Whether an option that is on or off is on.
    ///
    /// # Panics
    /// The option does not exist, or takes something else.
    pub fn flag(&self, name: &str) -> bool {
        self.value(name).is_some_and(|value| match value {
            OptionValue::Flag(on) => on,
            other => mismatch(name, "yes or no", &other),
        })
    }

    /// A whole number; the one for reads where an option takes three.
    ///
    /// # Panics
    /// The option does not exist, or takes something else.
    pub fn int(&self, name: &str) -> Option<i64> {
        self.ints(name)[0]
    }

    /// Whole numbers for reads, writes and trims.
    ///
    /// # Panics
    /// The option does not exist, or takes something else.
    pub fn ints(&self, name: &str) -> [Option<i64>; 3] {
        let mut values = [None; 3];
        for given in [self.value(name), self.default(name)].into_iter().flatten() {
            let OptionValue::Ints(numbers) = given else { mismatch(name, "numbers", &given) };
            for (value, number) in values.iter_mut().zip(numbers) {
                *value = value.or(number);
            }
        }
        values
    }

    /// A number of bytes that is no share of the target.
    ///
    /// # Panics
    /// The option does not exist, or takes something else.
    pub fn bytes(&self, name: &str) -> Option<Bytes> {
        self.int(name).map(|n| Bytes(n.try_into().unwrap_or(0)))
    }

    /// An amount on the target: bytes, a percentage or zones.
    ///
    /// # Panics
    /// The option does not exist, or takes something else.
    pub fn size(&self, name: &str) -> Option<TargetAmount> {
        self.value(name).map(|value| match value {
            OptionValue::Size(size) => size,
            other => mismatch(name, "a size", &other),
        })
    }

    /// A time; the shortest one of a range.
    ///
    /// # Panics
    /// The option does not exist, or takes something else.
    pub fn time(&self, name: &str) -> Option<Nanos> {
        self.value(name).map(|value| match value {
            OptionValue::Time(time) => time,
            OptionValue::Ranges([Some((low, _)), ..]) => Nanos(low),
            other => mismatch(name, "a time", &other),
        })
    }

    /// Ranges of bytes for reads, writes and trims.
    ///
    /// # Panics
    /// The option does not exist, or takes something else.
    pub fn ranges(&self, name: &str) -> [Option<(u64, u64)>; 3] {
        self.value(name).map_or([None; 3], |value| match value {
            OptionValue::Ranges(ranges) => ranges,
            other => mismatch(name, "ranges", &other),
        })
    }

    /// Numbers separated by colons.
    ///
    /// # Panics
    /// The option does not exist, or takes something else.
    pub fn floats(&self, name: &str) -> Vec<f64> {
        self.value(name).map_or(Vec::new(), |value| match value {
            OptionValue::Floats(floats) => floats,
            other => mismatch(name, "numbers", &other),
        })
    }

    /// Whether the page cache is bypassed: the last of `direct`, `buffered` and `atomic` counts.
    pub fn direct(&self) -> bool {
        self.options().rev().find_map(|g| match (g.option.name, &g.value) {
            ("direct" | "atomic", OptionValue::Flag(on)) => Some(*on),
            ("buffered", OptionValue::Flag(on)) => Some(!on),
            _ => None,
        }) == Some(true)
    }

    /// Reads in a mix, in percent: the last of `rwmixread` and `rwmixwrite` counts.
    pub fn reads(&self) -> u32 {
        let share = self.options().rev().find_map(|g| match (g.option.name, &g.value) {
            ("rwmixread", OptionValue::Ints([Some(n), ..])) => Some(*n),
            ("rwmixwrite", OptionValue::Ints([Some(n), ..])) => Some(100 - n),
            _ => None,
        });
        share.unwrap_or(50) as u32
    }
}

/// fio's default for an option, read.
pub fn default_of(option: &FioOption) -> Option<OptionValue> {
    option_value::read(option, Some(option.default?), KB_BASE).ok().map(|(value, _)| value)
}

fn known(name: &str) -> &'static FioOption {
    option::find_any(name).unwrap_or_else(|| panic!("the table has no option '{name}'"))
}

fn mismatch(name: &str, wanted: &str, value: &OptionValue) -> ! {
    panic!("option '{name}' was asked for {wanted} and holds {value:?}")
}
