//! ioping's command line.

use super::pasted_command::{self, PastedCall, PastedOption, PastedValue};
use super::printed;
use volproof_base::unit::Bytes;
use volproof_record::Known;

/// A file that ioping makes in a folder has this size.
const FILE: Bytes = Bytes::mib(1);
/// With `-R` it has this one.
const RAPID_FILE: Bytes = Bytes::mib(64);

/// What the requests do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum IopingWay {
    Read,
    Write,
    /// One and the other in turn (`-G`).
    Both,
}

/// Options of the command line.
#[derive(Clone, Default)]
pub(super) struct IopingCall {
    pub direct: bool,
    /// `-C`: reads may come from the page cache, and no write is flushed.
    pub cached: bool,
    writes: bool,
    /// `-G`: reads and writes in turn.
    mixed: bool,
    pub linear: bool,
    /// `-Y`, `-y`: a write returns when it is durable.
    pub durable: bool,
    /// `-R`: no pause between requests.
    rapid: bool,
    /// `-i`, as it was given.
    interval: Option<String>,
    /// `-r` or `-l`, as it was given: a pause makes the rate.
    limit: Option<String>,
    pub block: Option<Bytes>,
    /// `-S`: the part of the target that is used.
    range: Option<Bytes>,
    /// `-o`: where that part begins.
    offset: Option<Bytes>,
    /// `-a`: requests at the start that are not counted; one, if it is not given.
    pub warm_up: Option<u64>,
    /// `-T`: a request that takes longer is not counted.
    pub longest: Option<String>,
    /// `-t`: a request that takes less is not counted.
    pub shortest: Option<String>,
    pub target: Option<String>,
    /// `-p` or `-P`: numbers of each period.
    periods: bool,
    /// A loop makes the same call again, if on other targets.
    pub looped: bool,
}

/// The pause between two requests: a second, unless the command says otherwise.
pub(super) fn pause(call: Option<&IopingCall>) -> Option<String> {
    let Some(call) = call else { return Some("a second, unless -i or -R was given".into()) };
    match (&call.limit, &call.interval) {
        (Some(limit), _) => Some(limit.clone()),
        (None, Some(interval)) => (!is_zero(interval)).then(|| format!("-i {interval}")),
        (None, None) => (!call.rapid).then(|| "a second, since the command has no -i".into()),
    }
}

/// Zero, of whatever unit.
fn is_zero(text: &str) -> bool {
    printed::with_unit(text).is_some_and(|(x, _)| x == 0.0)
}

/// What a target is, as far as its name tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Device,
    Folder,
    /// Names of folders have dots too, and those of files may have none.
    FolderOrFile,
}

impl Place {
    pub fn of(target: &str) -> Place {
        let last = target.rsplit('/').next().unwrap_or_default();
        match target.starts_with("/dev/") {
            true => Place::Device,
            false if matches!(last, "" | "." | "..") => Place::Folder,
            false => Place::FolderOrFile,
        }
    }
}

impl IopingCall {
    /// What the call of a line asks for, if there is one alone.
    pub fn pasted(call: &PastedCall<'_>) -> Option<IopingCall> {
        let options = call.arguments.split_last().map_or(&[][..], |(_, options)| options);
        let looped = call.looped && !pasted_command::may_vary(options);
        call.alone.then(|| IopingCall { looped, ..IopingCall::of(&call.arguments) })
    }

    /// What the words behind the program's name ask for.
    fn of(arguments: &[&str]) -> IopingCall {
        let words = pasted_command::options(arguments, &OPTIONS);
        let mut call =
            IopingCall { target: words.operands.last().map(|t| t.to_string()), ..IopingCall::default() };
        for (letter, value) in words.options {
            let text = Some(value.to_string()).filter(|_| !is_zero(value));
            match letter {
                'D' => call.direct = true,
                'C' => call.cached = true,
                'W' => call.writes = true,
                'G' => call.mixed = true,
                'L' => call.linear = true,
                'Y' | 'y' => call.durable = true,
                'R' => call.rapid = true,
                'i' => call.interval = Some(value.to_string()),
                'r' | 'l' => call.limit = text.map(|text| format!("-{letter} {text}")).or(call.limit),
                's' => call.block = size(value),
                'S' => call.range = size(value),
                'o' => call.offset = size(value),
                'a' => call.warm_up = printed::whole(value),
                'T' => call.longest = text,
                't' => call.shortest = text,
                'p' | 'P' => call.periods = true,
                _ => {}
            }
        }
        call
    }

    pub fn way(&self) -> IopingWay {
        match (self.mixed, self.writes) {
            (true, _) => IopingWay::Both,
            (false, true) => IopingWay::Write,
            (false, false) => IopingWay::Read,
        }
    }

    /// The part of the target that is used. A file that ioping makes in a folder is small.
    pub fn range(&self, place: Place, block: Option<Bytes>) -> Known<Bytes> {
        let file = (if self.rapid { RAPID_FILE } else { FILE }).max(block.unwrap_or_default());
        match (self.range, place) {
            (Some(range), _) => range.into(),
            (None, Place::Folder) => {
                Known::assumed(file, "the file that ioping makes in a folder, since the command has no -S")
            }
            (None, Place::FolderOrFile) => Known::assumed(
                file,
                "the file that ioping makes if its target is a folder, since the command has no -S",
            ),
            (None, Place::Device) => Known::Unknown,
        }
    }

    /// Its plain numbers are those of periods of one run: `-p` or `-P`, for a target that no variable of a loop names.
    pub fn prints_periods(&self) -> bool {
        self.periods && self.target.as_ref().is_some_and(|target| !pasted_command::may_vary(&[target]))
    }
}

/// A size as ioping takes it.
fn size(text: &str) -> Option<Bytes> {
    let whole = [("sector", 512), ("page", 4096)].into_iter().find_map(|(unit, bytes)| {
        let n = printed::whole(text.strip_suffix(unit)?)?;
        Some(Bytes(n.saturating_mul(bytes)))
    });
    whole.or_else(|| printed::size(text)).or_else(|| printed::size(text.strip_suffix('b')?))
}

/// ioping's options.
const OPTIONS: [PastedOption; 34] = {
    const fn option(letter: char, name: &'static str, value: PastedValue) -> PastedOption {
        PastedOption { letter, name, value }
    }
    const NONE: PastedValue = PastedValue::Nowhere;
    const ONE: PastedValue = PastedValue::Next;
    [
        option('h', "help", NONE),
        option('v', "version", NONE),
        option('k', "keep", NONE),
        option('q', "quiet", NONE),
        option('B', "batch", NONE),
        option('I', "time", PastedValue::Attached),
        option('J', "json", NONE),
        option('R', "rapid", NONE),
        option('L', "linear", NONE),
        option('D', "direct", NONE),
        option('C', "cached", NONE),
        option('N', "nowait", NONE),
        option('H', "hipri", NONE),
        option('Y', "sync", NONE),
        option('y', "dsync", NONE),
        option('A', "async", NONE),
        option('U', "uring", NONE),
        option('W', "write", NONE),
        option('G', "read-write", NONE),
        option('E', "ignore-error", NONE),
        option('s', "size", ONE),
        option('S', "work-size", ONE),
        option('o', "work-offset", ONE),
        option('c', "count", ONE),
        option('w', "work-time", ONE),
        option('i', "interval", ONE),
        option('b', "burst", ONE),
        option('l', "speed-limit", ONE),
        option('r', "rate-limit", ONE),
        option('a', "warmup", ONE),
        option('t', "min-time", ONE),
        option('T', "max-time", ONE),
        option('p', "print-count", ONE),
        option('P', "print-interval", ONE),
    ]
};
