//! The options of `slo` on the command line: a limit, and the load of its trials.

use clap::{ArgMatches, Command};

use volproof_base::unit::Nanos;
use volproof_plan::{Arrival, ResponseFigure, SloSearch, Step, StepOptions};

/// Fields of the step that have a meaning of their own here.
const FIELDS: [&str; 7] = ["iodepth", "runtime", "ramp", "arrival", "rate_iops", "rate_bw", "io_size"];
/// Most in flight for each job, measured time and ramp of a trial, and the least time of the confirmation.
const DEPTH: u32 = 256;
const TIME: (Nanos, Nanos) = (Nanos::seconds(30), Nanos::seconds(2));
const CONFIRM: Nanos = Nanos::seconds(300);

/// The limit and the load.
#[derive(clap::Args, Clone, Debug)]
#[group(skip)]
pub struct SloOptions {
    /// The limit
    #[command(flatten)]
    limit: LimitOptions,
    /// Most requests in flight for each job [default: 256]
    #[arg(long, value_name = "N", help_heading = "Search")]
    iodepth: Option<u32>,
    /// Measured time of a trial; it grows where the percentile needs more [default: 30s]
    #[arg(long, value_name = "TIME", help_heading = "Search")]
    runtime: Option<Nanos>,
    /// Load before each trial, not counted [default: 2s]
    #[arg(long, value_name = "TIME", help_heading = "Search")]
    ramp: Option<Nanos>,
    /// Confirm the load that was found for this time; longer where the percentile needs more [default: 5m]
    #[arg(long, value_name = "TIME", help_heading = "Search")]
    confirm: Option<Nanos>,
    /// Spacing of the I/Os: poisson or fixed [default: poisson]
    #[arg(long, value_name = "KIND", hide_possible_values = true, help_heading = "Search")]
    arrival: Option<Arrival>,
    /// The load
    #[command(flatten)]
    rest: OtherOptions,
}

/// A limit with its unit: a number alone would be seconds, where most people mean milliseconds.
fn with_unit(text: &str) -> Result<Nanos, String> {
    match text.trim().parse::<f64>() {
        Ok(_) => Err(format!("{text} has no unit: write {text}ms or {text}s")),
        Err(_) => text.parse().map_err(|e| format!("{e}")),
    }
}

/// The limit: exactly one figure of the response time.
#[derive(clap::Args, Clone, Debug)]
#[group(required = true, multiple = false)]
pub struct LimitOptions {
    /// 99 % of the I/Os respond within this time
    #[arg(long, value_name = "TIME", value_parser = with_unit, help_heading = "Limit")]
    p99: Option<Nanos>,
    /// 99.9 % do
    #[arg(long = "p99.9", value_name = "TIME", value_parser = with_unit, help_heading = "Limit")]
    p999: Option<Nanos>,
    /// Half of them do
    #[arg(long, value_name = "TIME", value_parser = with_unit, help_heading = "Limit")]
    p50: Option<Nanos>,
    /// The mean is at most this
    #[arg(long, value_name = "TIME", value_parser = with_unit, help_heading = "Limit")]
    mean: Option<Nanos>,
}

/// All other options of a step.
#[derive(Clone, Debug, Default)]
struct OtherOptions(StepOptions);

impl clap::Args for OtherOptions {
    fn augment_args(command: Command) -> Command {
        StepOptions::arguments_but(command, &FIELDS)
    }

    fn augment_args_for_update(command: Command) -> Command {
        OtherOptions::augment_args(command)
    }
}

impl clap::FromArgMatches for OtherOptions {
    fn from_arg_matches(matches: &ArgMatches) -> Result<OtherOptions, clap::Error> {
        Ok(OtherOptions(StepOptions::of_matches_but(matches, &FIELDS)))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = OtherOptions::from_arg_matches(matches)?;
        Ok(())
    }
}

impl SloOptions {
    /// The search that the options ask for, on so many targets, whose type can burst for this long.
    ///
    /// # Errors
    /// The options do not make a search; the text says what to give.
    pub fn search(
        &self,
        budget: Option<Nanos>,
        targets: usize,
        burst: Option<Nanos>,
    ) -> Result<SloSearch, String> {
        let l = &self.limit;
        let given = [
            (ResponseFigure::P99, l.p99),
            (ResponseFigure::P999, l.p999),
            (ResponseFigure::P50, l.p50),
            (ResponseFigure::Mean, l.mean),
        ];
        let (figure, limit) = given
            .into_iter()
            .find_map(|(figure, limit)| Some((figure, limit?)))
            .ok_or("name a limit, such as --p99 1ms")?;
        let mut base = Step {
            name: "slo".into(),
            iodepth: self.iodepth.unwrap_or(DEPTH),
            runtime: self.runtime.unwrap_or(TIME.0),
            ramp: self.ramp.unwrap_or(TIME.1),
            arrival: self.arrival.unwrap_or(Arrival::Poisson),
            ..Step::default()
        };
        self.rest.0.apply(&mut base);
        // A confirmation within the burst of the type shows nothing that lasts.
        let outlasts = burst.map_or(CONFIRM, |burst| CONFIRM.max(Nanos(burst.0 / 10 * 11)));
        let confirm = self.confirm.unwrap_or(if budget.is_some() { CONFIRM } else { outlasts });
        let search = SloSearch { base, figure, limit, confirm, budget };
        search.problem(targets).map_or(Ok(search), Err)
    }
}
