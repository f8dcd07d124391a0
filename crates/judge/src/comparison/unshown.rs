//! What a report cannot show, each fact in a sentence. No fact changes the word of a comparison.

use super::compared_step::{ComparedStep, seconds};
use crate::cache_may_answer;
use volproof_base::stats::RECOMMENDED;
use volproof_base::unit::{Nanos, grouped};
use volproof_record::{Conditions, JudgedPromise, ReportProgram};

impl ComparedStep<'_> {
    /// Of a rate. `below`: it is less than `promised` I/Os a second, so that more load may have given more.
    pub(super) fn unshown_of_rate(&self, below: bool, promised: f64) -> Vec<String> {
        let held_back = [self.depth(), self.pace(promised), self.flushes()];
        let held_back = held_back.into_iter().filter(|_| below).flatten();
        held_back.chain(self.unshown()).collect()
    }

    /// Of any figure.
    pub(super) fn unshown(&self) -> Vec<String> {
        let all = [
            self.start(),
            self.cache(),
            self.options(),
            self.odd_options(),
            self.blocks(),
            self.data(),
            self.company(),
            self.left_out(),
            self.on_windows(),
        ];
        all.into_iter().flatten().collect()
    }

    /// Whether more requests in flight give more.
    fn depth(&self) -> Option<String> {
        Some(match self.summary.load.asked.or(self.summary.load.in_flight) {
            Some(n) => format!("Whether more than {} in flight give more.", grouped(n.round() as u64)),
            None => "How many requests were in flight.".into(),
        })
    }

    /// Whether the load held itself back.
    fn pace(&self, promised: f64) -> Option<String> {
        let s = self.summary;
        if let Some(offered) = s.pace.offered.filter(|offered| *offered < promised) {
            return Some(format!(
                "Whether the volume does more than the {} I/Os a second that were asked for.",
                grouped(offered.round() as u64)
            ));
        }
        let option = s.pace.pauses.as_ref()?;
        Some(format!("What the volume does without {option}, which held the load back."))
    }

    /// Whether flushes took time from the I/Os.
    fn flushes(&self) -> Option<String> {
        let flushed = self.summary.load.flushes || self.conditions.fsync.get().is_some_and(|n| n > 0);
        flushed.then(|| "What the volume does without the flushes of the load.".into())
    }

    /// The first seconds are among the figures of a short run.
    fn start(&self) -> Option<String> {
        let short = self.summary.rate.window.filter(|window| *window < RECOMMENDED)?;
        let ramped = self.conditions.ramp.get().is_some_and(|ramp| ramp > Nanos(0));
        let time = seconds(self.summary)?;
        (!ramped && short.0 > 0)
            .then(|| format!("The time after a start: the {time} of the run contain its first seconds."))
    }

    /// Whether the page cache answered. Where it did, a doubt says so.
    fn cache(&self) -> Option<String> {
        let unknown = self.conditions.direct.is_unknown() && !self.conditions.is_null();
        unknown.then(|| "Whether the I/O bypassed the page cache.".into())
    }

    /// fio's text and terse lines do not list the options of a job.
    fn options(&self) -> Option<String> {
        let of_fio = self.record.report.as_ref().is_some_and(|report| report.program == ReportProgram::Fio);
        (of_fio && self.conditions.runtime.is_unknown()).then(|| {
            "The options of the job, which may have made the load easy or held it back: fio's JSON lists them.".into()
        })
    }

    /// Options whose effect is not looked into.
    fn odd_options(&self) -> Option<String> {
        let options = &self.conditions.odd_options;
        (!options.is_empty()).then(|| {
            format!("What the volume does without {}, which make the load another one.", options.join(" "))
        })
    }

    /// Whether a cache answered blocks that were used before.
    fn blocks(&self) -> Option<String> {
        let c = self.conditions;
        let often = c.preferred_blocks().is_some() || c.jobs_over_one_range().is_some();
        (often || cache_may_answer::by_small_range(self.summary, c).is_some())
            .then(|| "Whether a cache answered: the load came back to blocks that it had used.".into())
    }

    /// Whether the volume stored all that was written.
    fn data(&self) -> Option<String> {
        let writes = self.conditions.pattern().is_some_and(|p| p.changes_data());
        (writes && is_compressible(self.conditions)).then(|| {
            "Whether the volume stored all of the data, which is zeros, one pattern or repeats itself.".into()
        })
    }

    /// Whether another run or host had a part of the rate.
    fn company(&self) -> Option<String> {
        if let Some(other) = self.beside {
            return Some(format!("What the volume does without {}, which ran at the same time.", other.name));
        }
        let hosts = self.reported.hosts.len();
        (hosts > 1).then(|| format!("Whether the {hosts} hosts drove one volume or one each."))
    }

    fn on_windows(&self) -> Option<String> {
        let words = "What volproof measures: it runs on Linux, so attach the volume to a Linux machine.";
        self.conditions.on_windows().then(|| words.into())
    }

    fn left_out(&self) -> Option<String> {
        let words = self.reported.left_out.as_ref()?;
        Some(format!("What the figures leave out: {words}."))
    }
}

/// Data that a volume may take without storing all of it.
fn is_compressible(c: &Conditions) -> bool {
    c.zeros.get() == Some(true) || c.pattern_percent.get().is_some_and(|percent| percent > 0)
}

/// A promise of a share of the time needs the seconds of a run, and a type with credits the time after they are used up.
pub(super) fn promise_of_time(promise: &JudgedPromise) -> Vec<String> {
    let volumes = &promise.promise.volumes;
    let time = volumes.iter().find_map(|volume| volume.consistency.as_ref());
    let time = time.map(|words| format!("The seconds of the run. The provider promises of them: {words}."));
    let bursts = volumes.iter().any(|volume| volume.level.burst.is_some());
    let credits = bursts.then(|| "Whether the volume was spending burst credits.".to_string());
    time.into_iter().chain(credits).collect()
}
