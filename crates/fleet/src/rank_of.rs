//! The rank of this machine and the number of machines.

use std::str::FromStr;

/// Number `rank` of `ranks`, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RankOf {
    /// The number.
    pub rank: u32,
    /// How many there are.
    pub ranks: u32,
}

/// A text that is no rank.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is no rank: write 0/4 for the first of four machines, 3/4 for the last")]
pub struct WrongRank(String);

impl FromStr for RankOf {
    type Err = WrongRank;

    fn from_str(text: &str) -> Result<RankOf, WrongRank> {
        let numbers = text.split_once('/').and_then(|(i, n)| Some((i.parse().ok()?, n.parse().ok()?)));
        let place = numbers.map(|(rank, ranks)| RankOf { rank, ranks });
        place.filter(|place| place.rank < place.ranks).ok_or_else(|| WrongRank(text.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rank_is_below_the_number_of_ranks() {
        assert_eq!("3/4".parse(), Ok(RankOf { rank: 3, ranks: 4 }));
        for bad in ["4/4", "4", "a/4", "1/0", "-1/4", "1/4/2", ""] {
            assert_eq!(bad.parse::<RankOf>(), Err(WrongRank(bad.into())));
        }
    }
}
