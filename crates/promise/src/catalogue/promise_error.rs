//! Why a promise cannot be computed, each reason with what would work instead.

use super::formula::plain;
use super::range::Range;
use volproof_base::misspelling::{none_of, question};
use volproof_base::unit::{Bytes, grouped, significant};

/// IOPS or throughput.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dimension {
    /// I/Os per second.
    Iops,
    /// Data per second.
    Throughput,
}

impl Dimension {
    /// The word for it.
    pub const fn name(self) -> &'static str {
        match self {
            Dimension::Iops => "IOPS",
            Dimension::Throughput => "throughput",
        }
    }

    fn option(self) -> &'static str {
        match self {
            Dimension::Iops => "--iops",
            Dimension::Throughput => "--throughput",
        }
    }
}

/// A figure as people read it: whole ones with separators.
fn figure(n: f64) -> String {
    if n.fract() == 0.0 && n.abs() < 1e15 { grouped(n as u64) } else { significant(n) }
}

/// A size without its unit, in a message: a bare number of bytes is nearly always one of GiB.
pub fn unit_forgotten(size: Bytes) -> Option<String> {
    let Bytes(n) = size;
    (1..Bytes::MIB.0).contains(&n).then(|| format!("{n} bytes (did you mean {n}GiB?)"))
}

/// A size as people read it.
fn size(gib: f64) -> String {
    let bytes = Bytes((gib * Bytes::GIB.0 as f64).round() as u64);
    unit_forgotten(bytes).unwrap_or_else(|| format!("{} GiB", figure(gib)))
}

/// The instance that was most likely meant, and how the limits of one that the catalogue lacks are had.
fn instance_hint(near: &[String], way: &Option<String>) -> String {
    let way = way.as_ref().map(|way| format!(" {way}")).unwrap_or_default();
    match question(near) + &way {
        hint if hint.is_empty() => hint,
        hint => format!(":{hint}"),
    }
}

/// Why a promise cannot be computed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum PromiseError {
    /// No provider of this name.
    #[error("{}", none_of("provider", given, known))]
    UnknownProvider {
        /// As it was given.
        given: String,
        /// All ids.
        known: Vec<String>,
    },
    /// No type of this name.
    #[error(
        "no volume type '{given}' in the catalogue:{} `volproof promise --list{}` lists them",
        question(near),
        provider.as_ref().map(|id| format!(" {id}")).unwrap_or_default()
    )]
    UnknownType {
        /// As it was given.
        given: String,
        /// The full names of the nearest; none where no name is near.
        near: Vec<String>,
        /// The provider that was named.
        provider: Option<String>,
    },
    /// A provider was named in place of a type.
    #[error(
        "{given} is a provider: name one of its types, such as {example}; `volproof promise --list {provider}` lists them"
    )]
    ProviderAlone {
        /// As it was given.
        given: String,
        /// The provider.
        provider: String,
        /// The full name of one of its types.
        example: String,
    },
    /// Several types have this name or are known by it.
    #[error(
        "'{given}' may be several types: write {candidates} (`volproof promise --search {given}` lists them)"
    )]
    Ambiguous {
        /// As it was given.
        given: String,
        /// The full names.
        candidates: String,
    },
    /// The type does not come in this size.
    #[error("{id} does not come in {}: it is sold from {} to {} GiB, the nearest is {} GiB",
            size(*gib), figure(*lo), figure(*hi), figure(gib.clamp(*lo, *hi)))]
    SizeOutOfRange {
        /// The full name.
        id: String,
        /// The size asked for.
        gib: f64,
        /// The smallest.
        lo: f64,
        /// The largest.
        hi: f64,
    },
    /// The promise depends on the size, and none was given.
    #[error("the promise of {id} depends on its size: give --size, {} to {} GiB (such as --size {}GiB)",
            figure(*lo), figure(*hi), plain(*lo))]
    NoSize {
        /// The full name.
        id: String,
        /// The smallest.
        lo: f64,
        /// The largest.
        hi: f64,
    },
    /// The type promises what was bought, and the request does not say how much that is.
    #[error("{id} promises the {} you buy: give {} N, {} to {} at {} GiB",
            dimension.name(), dimension.option(), figure(range.lo), figure(range.hi), figure(*gib))]
    NotChosen {
        /// The full name.
        id: String,
        /// The size.
        gib: f64,
        /// The dimension that must be chosen.
        dimension: Dimension,
        /// The bounds of the choice.
        range: Range,
    },
    /// The type is not sold with the figure that was named.
    #[error("{id} of {} GiB is sold with {} to {} {words}, not with {}: {}",
            figure(*gib), figure(range.lo), figure(range.hi), figure(*given), match needs_iops {
                Some(iops) => format!("so much throughput needs {} IOPS; give --iops {} or more", figure(*iops), plain(iops.ceil())),
                None => "check the figure, the size and the type, or give a newer catalogue with --catalog".into(),
            })]
    CannotBeBought {
        /// The full name.
        id: String,
        /// The size.
        gib: f64,
        /// The figure: IOPS, throughput, extra IOPS, extra units.
        what: &'static str,
        /// The same with its unit: `MiB/s at these IOPS`.
        words: String,
        /// The figure as it was given.
        given: f64,
        /// The bounds of the choice.
        range: Range,
        /// The least IOPS with which the type is sold with this throughput, where more IOPS allow it.
        needs_iops: Option<f64>,
    },
    /// The type does not sell this dimension on its own.
    #[error("{id} does not sell {} on its own: {}; leave {} out", dimension.name(),
            if *by { "give the number of units with --throughput" } else { "its promise follows from the size" },
            dimension.option())]
    NotSold {
        /// The full name.
        id: String,
        /// The dimension that was chosen.
        dimension: Dimension,
        /// Whether the dimension comes with units that can be bought.
        by: bool,
    },
    /// No instance of this name.
    #[error("no instance '{given}' of {provider} in the catalogue{}", instance_hint(near, way))]
    UnknownInstance {
        /// The provider's id.
        provider: String,
        /// As it was given.
        given: String,
        /// The nearest names; none where no name is near.
        near: Vec<String>,
        /// How its limits are had.
        way: Option<String>,
    },
    /// The instance is known, but not for this volume type.
    #[error("no limit of {instance} for {id} is recorded, only for {recorded}: leave --instance out")]
    NoLimit {
        /// The instance.
        instance: String,
        /// The volume's full name.
        id: String,
        /// The types with a limit.
        recorded: String,
    },
    /// Volumes of several providers.
    #[error("{first} and {second} are of different providers: one instance cannot hold both")]
    TwoProviders {
        /// One full name.
        first: String,
        /// The other.
        second: String,
    },
    /// Not a date.
    #[error(
        "--at {given}: it is no date: write `--at 2018`, `--at 2018-07` or `--at 2018-07-12`, the year first"
    )]
    BadDate {
        /// As it was given.
        given: String,
    },
    /// An edition by name and a date at once.
    #[error("{id} already names an edition: leave --at out, or the part after '@'")]
    TwoDates {
        /// The full name.
        id: String,
    },
    /// A block size of 0.
    #[error("a block size of 0 has no promise: give --bs 4KiB or more")]
    NoBlock,
}
