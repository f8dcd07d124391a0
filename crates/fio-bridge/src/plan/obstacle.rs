//! Why a job cannot run natively.

/// An option of a job that volproof's own engine cannot honour.
#[derive(Clone, Debug, PartialEq)]
pub struct Obstacle {
    /// Name of the job.
    pub job: String,
    /// The option as given.
    pub option: String,
    /// The real fio could.
    pub fio_can: bool,
    /// Why.
    pub why: String,
}

impl Obstacle {
    /// One of all jobs together, which fio can do.
    pub(super) fn of_all(option: &str, why: &str) -> Obstacle {
        Obstacle { job: "all jobs".into(), option: option.into(), fio_can: true, why: why.into() }
    }
}

/// Collects what stands in the way of one job.
pub(super) struct Obstacles<'a> {
    pub(super) job: &'a str,
    pub(super) found: &'a mut Vec<Obstacle>,
    /// How many of them are those of the jobs before.
    pub(super) before: usize,
}

impl Obstacles<'_> {
    /// Only fio itself does this.
    pub(super) fn fio_only(&mut self, option: impl Into<String>, why: impl Into<String>) {
        self.push(option.into(), true, why.into());
    }

    /// fio refuses it too, unless another option of the job, which only fio has, makes it possible.
    pub(super) fn refused(&mut self, option: impl Into<String>, why: impl Into<String>) {
        let foreign = self.found[self.before..].iter().any(|o| o.fio_can);
        self.push(option.into(), foreign, why.into());
    }

    pub(super) fn push(&mut self, option: String, fio_can: bool, why: String) {
        self.found.push(Obstacle { job: self.job.to_string(), option, fio_can, why });
    }
}
