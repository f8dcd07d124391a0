//! The rank of this machine and the number of machines: as the user says, or as the launcher that started the program does.

use std::str::FromStr;

/// Number `rank` of `ranks`, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RankOf {
    /// The number.
    pub rank: u32,
    /// How many there are.
    pub ranks: u32,
}

/// Why there is no rank.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum RankError {
    /// The text is no rank.
    #[error("'{0}' is no rank: write 0/4 for the first of four machines, 3/4 for the last")]
    Text(String),
    /// A variable of a launcher holds no number.
    #[error("{name} is '{value}', which is no rank: give --rank I/N")]
    Variable {
        /// The variable.
        name: &'static str,
        /// Its value.
        value: String,
    },
    /// A launcher that tells the rank alone.
    #[error("{0} tells the number of this machine and not how many there are: add --ranks N")]
    Alone(&'static str),
    /// There is neither a launcher nor a rank.
    #[error("--start-at needs the number of this machine: give --rank I/N, from 0/N to (N-1)/N")]
    Missing,
}

impl RankOf {
    fn new(rank: u32, ranks: u32) -> Option<RankOf> {
        (rank < ranks).then_some(RankOf { rank, ranks })
    }
}

impl FromStr for RankOf {
    type Err = RankError;

    fn from_str(text: &str) -> Result<RankOf, RankError> {
        let numbers = text.split_once('/').and_then(|(i, n)| Some((i.parse().ok()?, n.parse().ok()?)));
        numbers.and_then(|(i, n)| RankOf::new(i, n)).ok_or_else(|| RankError::Text(text.into()))
    }
}

/// Variables of rank and size: Open MPI; Hydra of MPICH and Intel MPI, and Slurm's pmi2; Slurm. Slurm's come last: a program that mpirun starts
/// in a batch job has those of the job's script, which is rank 0.
const LAUNCHERS: [(&str, &str); 3] = [
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("PMI_RANK", "PMI_SIZE"),
    ("SLURM_PROCID", "SLURM_NTASKS"),
];
/// The variable of a pod of a Kubernetes Indexed Job. How many there are is not told.
const INDEX: &str = "JOB_COMPLETION_INDEX";

/// The rank that a launcher gave; `ranks` is the number of machines that the user named.
///
/// # Errors
/// When no launcher did, or what it said is no rank.
pub fn from_launcher(
    variable: &dyn Fn(&str) -> Option<String>,
    ranks: Option<u32>,
) -> Result<RankOf, RankError> {
    let number = |name: &'static str| {
        let Some(value) = variable(name) else { return Ok(None) };
        value.trim().parse::<u32>().map(Some).map_err(|_| RankError::Variable { name, value })
    };
    for (name, size) in LAUNCHERS {
        let (Some(rank), size) = (number(name)?, number(size)?) else { continue };
        let ranks = ranks.or(size).ok_or(RankError::Alone(name))?;
        return RankOf::new(rank, ranks).ok_or_else(|| RankError::Text(format!("{rank}/{ranks}")));
    }
    let rank = number(INDEX)?.ok_or(RankError::Missing)?;
    let ranks = ranks.ok_or(RankError::Alone(INDEX))?;
    RankOf::new(rank, ranks).ok_or_else(|| RankError::Text(format!("{rank}/{ranks}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rank_is_below_the_number_of_ranks() {
        assert_eq!("3/4".parse(), Ok(RankOf { rank: 3, ranks: 4 }));
        for bad in ["4/4", "4", "a/4", "1/0", "-1/4", "1/4/2", ""] {
            assert_eq!(bad.parse::<RankOf>(), Err(RankError::Text(bad.into())));
        }
    }

    #[test]
    fn launchers_tell_the_rank() {
        let of = |set: &[(&str, &str)], ranks| {
            let get = |name: &str| set.iter().find(|(n, _)| *n == name).map(|(_, v)| v.to_string());
            from_launcher(&get, ranks)
        };
        let third = Ok(RankOf { rank: 2, ranks: 4 });
        assert_eq!(of(&[("OMPI_COMM_WORLD_RANK", "2"), ("OMPI_COMM_WORLD_SIZE", "4")], None), third);
        assert_eq!(of(&[("SLURM_PROCID", "2"), ("SLURM_NTASKS", "4")], None), third);
        assert_eq!(of(&[("PMI_RANK", "2"), ("PMI_SIZE", "4")], None), third);
        let script = [("SLURM_PROCID", "0"), ("SLURM_NTASKS", "1")];
        assert_eq!(of(&[&script[..], &[("PMI_RANK", "2"), ("PMI_SIZE", "4")]].concat(), None), third);
        assert_eq!(of(&[("JOB_COMPLETION_INDEX", "2")], Some(4)), third);
        assert_eq!(of(&[("JOB_COMPLETION_INDEX", "2")], None), Err(RankError::Alone(INDEX)));
        assert_eq!(of(&[("JOB_COMPLETION_INDEX", "4")], Some(4)), Err(RankError::Text("4/4".into())));
        assert_eq!(of(&[], Some(4)), Err(RankError::Missing));
        let odd = of(&[("SLURM_PROCID", "x"), ("SLURM_NTASKS", "4")], None);
        assert_eq!(odd, Err(RankError::Variable { name: "SLURM_PROCID", value: "x".into() }));
    }
}
