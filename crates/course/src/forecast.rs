//! How long a course takes, and how it is shortened to a time limit.

use super::course_of::CourseOf;
use volproof_base::unit::Nanos;
use volproof_plan::Sweep;

/// The time of a course, without preparation of the target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Forecast {
    /// The number of steps, if nothing ends the course early.
    pub worst_steps: usize,
    /// Time of these.
    pub worst: Nanos,
    /// Steps for a volume that reaches its limit at a depth of 32.
    pub likely_steps: usize,
    /// Time of these.
    pub likely: Nanos,
    /// The part of the worst time in which data are written.
    pub worst_writing: Nanos,
    /// The part of the likely time in which data are written.
    pub likely_writing: Nanos,
}

impl Forecast {
    /// Of steps and their time, likely and at most; `writes`: all of them write.
    pub(super) fn of_steps(
        (likely_steps, likely): (usize, Nanos),
        (worst_steps, worst): (usize, Nanos),
        writes: bool,
    ) -> Forecast {
        let [likely_writing, worst_writing] = if writes { [likely, worst] } else { [Nanos(0); 2] };
        Forecast { worst_steps, worst, likely_steps, likely, worst_writing, likely_writing }
    }
}

/// The time of the longest form of a sweep.
fn worst_time(sweep: &Sweep) -> Nanos {
    Nanos(CourseOf(sweep).worst_steps() as u64 * sweep.step_time().0)
}

/// Shortens a sweep until it ends within a time limit: fewer repeats first, then shorter steps of 10 s at least, then every second
/// value of the longest axis. The sweep says what was left out.
///
/// # Errors
/// The shortest sweep of these axes does not end in time; the text says how long it takes.
pub fn within(sweep: Sweep, limit: Nanos) -> Result<Sweep, String> {
    let mut short = sweep.clone();
    while worst_time(&short) > limit && short.repeats > 1 {
        short.repeats -= 1;
    }
    if worst_time(&short) > limit {
        let steps = CourseOf(&short).worst_steps() as u64;
        let room = Nanos((limit.0 / steps).saturating_sub(short.base.ramp.0) / 1_000_000_000 * 1_000_000_000);
        short.base.runtime = short.base.runtime.min(room.max(SHORTEST_STEP));
    }
    while worst_time(&short) > limit {
        let longest = short.axes.iter_mut().max_by_key(|a| a.values.len()).expect("a sweep has an axis");
        if longest.values.len() <= 3 {
            return Err(format!(
                "--budget {} is too short: {} steps of {} take {}; give a longer time or smaller ranges",
                limit.exact(),
                CourseOf(&short).worst_steps(),
                short.step_time().exact(),
                worst_time(&short).clock()
            ));
        }
        // The ends of the range stay, since the user named them.
        let last = longest.values.len() - 1;
        for (i, value) in std::mem::take(&mut longest.values).into_iter().enumerate() {
            let kept = i % 2 == 0 || i == last;
            if kept { longest.values.push(value) } else { longest.left_out.push(value) }
        }
        longest.left_out.sort_unstable();
    }
    if short.repeats < sweep.repeats {
        short.left_out.push(format!("{} of {} repeats", sweep.repeats - short.repeats, sweep.repeats));
    }
    if short.base.runtime < sweep.base.runtime {
        let (now, asked) = (short.base.runtime, sweep.base.runtime);
        short.left_out.push(format!("each point runs for {} instead of {}", now.exact(), asked.exact()));
    }
    Ok(short)
}

/// A shorter step has no interval.
pub(super) const SHORTEST_STEP: Nanos = Nanos::seconds(10);

#[cfg(test)]
mod tests {
    use super::*;
    use volproof_plan::{Axis, AxisOption, Step};

    #[test]
    fn a_limit_takes_repeats_then_time_then_points_and_says_so() {
        let sweep = Sweep {
            base: Step { runtime: Nanos::seconds(20), ramp: Nanos::seconds(2), ..Step::default() },
            axes: vec![Axis::new(AxisOption::Iodepth, vec![1, 2, 4, 8, 16, 32, 64, 128])],
            repeats: 3,
            seed: 1,
            left_out: Vec::new(),
        };
        let short = |seconds: u64| within(sweep.clone(), Nanos::seconds(seconds)).unwrap();
        // 24 runs, and one point once more.
        assert_eq!(short(550), sweep);
        assert_eq!((short(400).repeats, &short(400).left_out[..]), (2, &["1 of 3 repeats".to_string()][..]));
        let s = short(120);
        assert_eq!((s.repeats, s.base.runtime, s.axes[0].values.len()), (1, Nanos::seconds(11), 8));
        assert_eq!(s.left_out[1], "each point runs for 11s instead of 20s");
        let s = short(72);
        assert_eq!(s.axes[0].values, [1, 4, 16, 64, 128]);
        assert_eq!(s.axes[0].left_out_words().as_deref(), Some("iodepth 2, 8, 32"));
        assert_eq!((s.asked_points(), s.left_out.len()), (sweep.points(), 2));
        let told = within(sweep.clone(), Nanos::seconds(20)).unwrap_err();
        assert!(told.contains("4 steps") && told.contains("longer time"), "{told}");
    }
}
