//! The charts of a course: sweeps, searches for a load, and rounds of suites. Each draws what the answer says.

use std::collections::BTreeSet;

use super::read_write_map;
use super::svg_chart::{
    ChartDot, ChartLine, ChartScale, ChartTick, SvgChart, cells, columns, keep_words_apart, latency, points,
    rate, rows,
};
use crate::course_text;
use crate::suite_text::tracked;
use volproof_base::unit::{Bytes, Nanos, grouped, significant, throughput};
use volproof_course::steady::ROUNDS;
use volproof_plan::{AxisOption, TrackedFigure};
use volproof_record::promise_direction;
use volproof_record::{DepthKnee, Record, SloAnswer, SuiteRounds, SweepAnswer, SweepPoint, TrialOutcome};

/// Classes of measured series.
const SERIES: [&str; 4] = ["s0", "s1", "s2", "s3"];

/// The points of each combination of the other options, which has a name. The combination with the highest rate comes first: charts draw
/// the first few.
fn groups(sweep: &SweepAnswer, without: &[AxisOption]) -> Vec<(String, Vec<SweepPoint>)> {
    let mut groups: Vec<(String, Vec<SweepPoint>)> = Vec::new();
    for point in &sweep.points {
        let others = sweep.axes.iter().filter(|axis| !without.contains(axis));
        let name = point.place(others);
        match groups.iter_mut().find(|(known, _)| *known == name) {
            Some((_, group)) => group.push(point.clone()),
            None => groups.push((name, vec![point.clone()])),
        }
    }
    let best = groups.iter().position(|(_, group)| group.iter().any(|p| Some(p) == best_point(sweep)));
    if let Some(best) = best {
        groups[..=best].rotate_right(1);
    }
    groups
}

/// The point with the highest rate, which the sentence of the sweep names.
fn best_point(sweep: &SweepAnswer) -> Option<&SweepPoint> {
    let sound = |p: &&SweepPoint| p.spoilt_by.is_empty();
    let all = || sweep.points.iter();
    let by_rate = |a: &&SweepPoint, b: &&SweepPoint| a.iops.total_cmp(&b.iops);
    all().filter(sound).max_by(by_rate).or_else(|| all().max_by(by_rate))
}

fn title(sweep: &SweepAnswer, p: &SweepPoint) -> String {
    let at = p.place(&sweep.axes);
    let spoilt =
        if p.spoilt_by.is_empty() { String::new() } else { format!(" ({})", p.spoilt_by.join(", ")) };
    let dead = p.dead_time.as_ref().map_or(String::new(), |dead| {
        format!(" ({} for {} % of the time)", dead.finding, significant(100.0 * dead.share))
    });
    format!("{at}: {} IOPS, mean {}{spoilt}{dead}", significant(p.iops), latency(p.mean_ns))
}

/// The charts of a sweep: latency and rate over depth, rate over block size, latency over mixes.
pub(super) fn of_sweep(record: &Record, sweep: &SweepAnswer) -> Vec<SvgChart> {
    let over = |option| sweep.axes.contains(&option);
    let mut charts = Vec::new();
    if over(AxisOption::Iodepth) {
        charts.push(latency_against_rate(record, sweep));
        charts.push(rate_by_depth(sweep));
    }
    if over(AxisOption::Bs) {
        charts.push(rate_by_block(record, sweep));
    }
    charts.extend(heat(sweep));
    if over(AxisOption::Iodepth) && over(AxisOption::Rwmix) {
        let groups = groups(sweep, &[AxisOption::Iodepth, AxisOption::Rwmix]);
        charts.extend(groups.first().and_then(|(_, points)| read_write_map::of(points)));
    }
    charts
}

/// The promised rate at a block size.
fn promised(record: &Record, sweep: &SweepAnswer, block: Bytes) -> Option<f64> {
    let promise = &record.judged_promise.as_ref()?.promise;
    Some(promise.least(block, promise_direction(sweep.rw)?)?.iops)
}

/// Latency against rate, as depth rises: three percentiles of one load, or the 99th of up to four.
fn latency_against_rate(record: &Record, sweep: &SweepAnswer) -> SvgChart {
    type Figure = (&'static str, fn(&SweepPoint) -> Option<Nanos>);
    const FIGURES: [Figure; 3] = [("p50", |p| p.p50_ns), ("p99", |p| p.p99_ns), ("p99.9", |p| p.p999_ns)];
    let groups = groups(sweep, &[AxisOption::Iodepth]);
    let mut series: Vec<(String, &Vec<SweepPoint>, Figure)> = Vec::new();
    match groups.as_slice() {
        [(_, one)] => series.extend(FIGURES.map(|f| (f.0.to_string(), one, f))),
        many => series
            .extend(many.iter().take(4).map(|(name, group)| (format!("p99, {name}"), group, FIGURES[1]))),
    }
    let promise = groups.first().and_then(|(_, g)| promised(record, sweep, g[0].block_bytes));
    let values = |(_, group, figure): &(String, &Vec<SweepPoint>, Figure)| -> Vec<(f64, f64, SweepPoint)> {
        group.iter().filter_map(|p| Some((p.iops, figure.1(p)?.0 as f64, p.clone()))).collect()
    };
    let all: Vec<Vec<(f64, f64, SweepPoint)>> = series.iter().map(values).collect();
    let x = ChartScale::across(all.iter().flatten().map(|v| v.0).chain(promise), false);
    let y = ChartScale::upwards(all.iter().flatten().map(|v| v.1), true);
    let mut lines: Vec<ChartLine> = Vec::new();
    let mut dots = Vec::new();
    for (i, (values, (name, ..))) in all.iter().zip(&series).enumerate() {
        let class = SERIES[i % 4];
        lines.push(ChartLine {
            class,
            name: name.clone(),
            points: points(&x, &y, values.iter().map(|v| (v.0, v.1))),
        });
        dots.extend(values.iter().map(|(a, b, p)| ChartDot {
            x: x.at(*a),
            y: y.at(*b),
            class,
            text: if i + 1 == series.len() { p.iodepth.to_string() } else { String::new() },
            title: title(sweep, p),
        }));
    }
    keep_words_apart(&mut dots);
    lines.extend(promise.map(|p| ChartLine {
        class: "model",
        name: "promised".into(),
        points: format!("{0},{1} {0},{2}", x.at(p), y.at(y.ends().0), y.at(y.ends().1)),
    }));
    chart(
        "Latency against rate",
        &format!(
            "Each point is a depth, which stands beside it. Up and no longer right is a queue. Latency is logarithmic.{}",
            left_out(groups.len())
        ),
        ("IOPS", "latency"),
        (x.ticks(rate), y.ticks(latency)),
        lines,
        dots,
    )
}

/// The words about series that are not drawn.
fn left_out(groups: usize) -> String {
    if groups > 4 { format!(" The best and 3 more of {groups} are drawn.") } else { String::new() }
}

fn chart(
    title: &str,
    caption: &str,
    names: (&str, &str),
    ticks: (Vec<ChartTick>, Vec<ChartTick>),
    lines: Vec<ChartLine>,
    dots: Vec<ChartDot>,
) -> SvgChart {
    let legend = lines.iter().filter(|l| !l.name.is_empty()).map(|l| (l.class, l.name.clone())).collect();
    let told: Vec<&str> = dots.iter().map(|d| d.title.as_str()).take(40).collect();
    SvgChart {
        title: title.into(),
        label: format!("{title}: {}", told.join("; ")),
        caption: caption.into(),
        x_name: names.0.into(),
        y_name: names.1.into(),
        x_ticks: ticks.0,
        y_ticks: ticks.1,
        cells: Vec::new(),
        lines,
        dots,
        legend,
    }
}

/// Rate by depth, with the knee and the depth that is enough.
fn rate_by_depth(sweep: &SweepAnswer) -> SvgChart {
    let groups = groups(sweep, &[AxisOption::Iodepth]);
    let shown: Vec<_> = groups.iter().take(4).collect();
    let all = || shown.iter().flat_map(|(_, g)| g.iter());
    let x = ChartScale::across(all().map(|p| f64::from(p.iodepth)), true);
    let y = ChartScale::upwards(all().map(|p| p.iops), false);
    let mut lines = Vec::new();
    let mut dots = Vec::new();
    for (i, (name, group)) in shown.iter().enumerate() {
        let class = SERIES[i % 4];
        let name = if name.is_empty() { "IOPS".into() } else { name.clone() };
        let values = group.iter().map(|p| (f64::from(p.iodepth), p.iops));
        lines.push(ChartLine { class, name, points: points(&x, &y, values) });
        dots.extend(group.iter().map(|p| ChartDot {
            x: x.at(f64::from(p.iodepth)),
            y: y.at(p.iops),
            class,
            text: String::new(),
            title: title(sweep, p),
        }));
    }
    if let [depth] = sweep.depths.as_slice() {
        let jobs = shown.first().map_or(1.0, |(_, g)| f64::from(g[0].numjobs));
        let upright = |name: String, at: f64| ChartLine {
            class: "model",
            name,
            points: format!("{0},{1} {0},{2}", x.at(at / jobs), y.at(y.ends().0), y.at(y.ends().1)),
        };
        let knee = |knee: &DepthKnee| {
            upright(format!("knee at depth {}", course_text::with_interval(knee)), knee.depth)
        };
        lines.extend(depth.knee.iter().map(knee));
    }
    let depths: BTreeSet<u32> = all().map(|p| p.iodepth).collect();
    let figures = x.marks(depths.into_iter().map(f64::from), |v| format!("{v:.0}"));
    chart(
        "Rate by depth",
        &format!("Where the rate is level, more depth only adds waiting.{}", left_out(groups.len())),
        ("depth of each job", "IOPS"),
        (figures, y.ticks(rate)),
        lines,
        dots,
    )
}

/// The most at each block size beside both limits and the promise.
fn rate_by_block(record: &Record, sweep: &SweepAnswer) -> SvgChart {
    let groups = groups(sweep, &[AxisOption::Bs, AxisOption::Iodepth]);
    let mut lines = Vec::new();
    let mut dots = Vec::new();
    let most = |group: &[SweepPoint]| -> Vec<SweepPoint> {
        let sizes: BTreeSet<u64> = group.iter().map(|p| p.block_bytes.0).collect();
        let of = |size: u64| group.iter().filter(move |p| p.block_bytes.0 == size);
        sizes.into_iter().filter_map(|s| of(s).max_by(|a, b| a.iops.total_cmp(&b.iops)).cloned()).collect()
    };
    let shown: Vec<(String, Vec<SweepPoint>)> =
        groups.iter().take(4).map(|(name, group)| (name.clone(), most(group))).collect();
    let all = || shown.iter().flat_map(|(_, g)| g.iter());
    let bytes = |p: &SweepPoint| p.block_bytes.0 as f64;
    let x = ChartScale::across(all().map(bytes), true);
    let y = ChartScale::upwards(all().map(|p| p.iops), true);
    for (i, (name, group)) in shown.iter().enumerate() {
        let class = SERIES[i % 4];
        dots.extend(group.iter().map(|p| ChartDot {
            x: x.at(bytes(p)),
            y: y.at(p.iops),
            class,
            text: String::new(),
            title: title(sweep, p),
        }));
        let name = if name.is_empty() { "the most".to_string() } else { name.clone() };
        lines.push(ChartLine {
            class,
            name,
            points: points(&x, &y, group.iter().map(|p| (bytes(p), p.iops))),
        });
    }
    for fit in sweep.caps.iter().take(1) {
        let (a, b) = (fit.iops_cap.unwrap_or(f64::INFINITY), fit.bytes_cap.unwrap_or(f64::INFINITY));
        let (low, high) = x.ends();
        let along = |v: f64| (v, a.min(b / v));
        let knee = fit.knee_bytes.filter(|k| *k > low && *k < high);
        let name = format!(
            "min(A, B / block){}: A {}, B {}",
            fit.only_at_depth.map_or(String::new(), |n| format!(
                " with up to {} in flight, which more depth may raise",
                grouped(n)
            )),
            fit.iops_cap.map_or("not met".into(), |a| format!("{} IOPS", significant(a))),
            fit.bytes_cap.map_or("not met".into(), throughput)
        );
        let places = [Some(low), knee, Some(high)];
        lines.push(ChartLine {
            class: "model",
            name,
            points: points(&x, &y, places.into_iter().flatten().map(along)),
        });
    }
    let promise = |p: &SweepPoint| Some((bytes(p), promised(record, sweep, p.block_bytes)?));
    let promise: Vec<(f64, f64)> =
        shown.first().into_iter().flat_map(|(_, g)| g.iter().filter_map(promise)).collect();
    if !promise.is_empty() {
        lines.push(ChartLine { class: "promise", name: "promised".into(), points: points(&x, &y, promise) });
    }
    let sizes: BTreeSet<u64> = all().map(|p| p.block_bytes.0).collect();
    chart(
        "Rate by block size",
        "Level where I/Os are the limit, falling where bytes are. Both axes are logarithmic.",
        ("block size", "IOPS"),
        (x.marks(sizes.into_iter().map(|s| s as f64), |v| Bytes(v as u64).to_string()), y.ticks(rate)),
        lines,
        dots,
    )
}

/// Mean latency over shares of reads and another option; white where nothing was measured.
fn heat(sweep: &SweepAnswer) -> Option<SvgChart> {
    let other = *sweep.axes.iter().find(|axis| **axis != AxisOption::Rwmix)?;
    if !sweep.axes.contains(&AxisOption::Rwmix) {
        return None;
    }
    let all = |axis: AxisOption| -> Vec<u64> {
        sweep.points.iter().map(|p| p.on(axis)).collect::<BTreeSet<_>>().into_iter().collect()
    };
    let (mixes, others) = (all(AxisOption::Rwmix), all(other));
    let at = |c: usize, r: usize| {
        let of = |p: &&SweepPoint| p.on(AxisOption::Rwmix) == mixes[c] && p.on(other) == others[r];
        let point = sweep.points.iter().filter(of).find(|p| p.spoilt_by.is_empty())?;
        Some((point.mean_ns, title(sweep, point)))
    };
    let cells = cells(mixes.len(), others.len(), at);
    let told: Vec<&str> = cells.iter().map(|c| c.title.as_str()).take(60).collect();
    Some(SvgChart {
        title: "Mean latency of each mix".into(),
        label: format!("Mean latency of each mix: {}", told.join("; ")),
        caption: "The darker, the longer; logarithmic. White: not measured, or not reached by the volume."
            .into(),
        x_name: "share of reads".into(),
        y_name: other.name().into(),
        x_ticks: columns(mixes.iter().map(|m| format!("{m} %")).collect()),
        y_ticks: rows(others.iter().map(|v| other.show(*v)).collect()),
        cells,
        lines: Vec::new(),
        dots: Vec::new(),
        legend: Vec::new(),
    })
}

/// The trials of an SLO search: the limited figure against the offered load.
pub(super) fn of_slo(slo: &SloAnswer) -> Option<SvgChart> {
    let trials: Vec<_> = slo.trials.iter().filter_map(|t| Some((t, t.value_ns?.0 as f64))).collect();
    if trials.is_empty() {
        return None;
    }
    let limit = slo.limit_ns.0 as f64;
    let x = ChartScale::across(trials.iter().map(|(t, _)| t.offered_per_second), false);
    let y = ChartScale::upwards(trials.iter().map(|(_, v)| *v).chain([limit]), true);
    let (low, high) = x.ends();
    let mut lines = vec![ChartLine {
        class: "promise",
        name: format!("limit: {} {}", slo.figure, slo.limit_ns),
        points: points(&x, &y, [(low, limit), (high, limit)]),
    }];
    lines.extend(slo.holds_per_second.map(|found| ChartLine {
        class: "model",
        name: format!("the highest load: {} IOPS", significant(found)),
        points: format!("{0},{1} {0},{2}", x.at(found), y.at(y.ends().0), y.at(y.ends().1)),
    }));
    let words = |outcome| match outcome {
        TrialOutcome::Holds => ("s2", "holds"),
        TrialOutcome::Fails => ("s1", "fails"),
        TrialOutcome::Overload => ("s1", "fails by overload"),
        TrialOutcome::Unsure => ("s3", "does not decide"),
    };
    let dots = trials.iter().map(|(t, v)| {
        let (class, word) = words(t.outcome);
        let told = format!(
            "{}: {} IOPS offered, {} {}, {word}",
            t.step,
            significant(t.offered_per_second),
            slo.figure,
            latency(*v)
        );
        ChartDot { x: x.at(t.offered_per_second), y: y.at(*v), class, text: String::new(), title: told }
    });
    let mut drawn = chart(
        "Response time against offered load",
        "Each point is a trial. Under overload the volume does not complete what is offered. Latency is logarithmic.",
        ("offered IOPS", "response time"),
        (x.ticks(rate), y.ticks(latency)),
        lines,
        dots.collect(),
    );
    let all = [TrialOutcome::Holds, TrialOutcome::Unsure, TrialOutcome::Fails].map(words);
    drawn.legend.extend(all.map(|(class, word)| (class, format!("a trial that {word}"))));
    Some(drawn)
}

/// Convergence: the tracked figure of all rounds; and the window with its limits and its fitted line.
pub(super) fn of_rounds(rounds: &SuiteRounds) -> Vec<SvgChart> {
    let shown = |v: f64| match rounds.figure {
        TrackedFigure::MeanLatency => latency(v),
        TrackedFigure::BytesPerSecond => rate(v / Bytes::MIB.0 as f64),
        TrackedFigure::Iops | TrackedFigure::FirstMinute => rate(v),
    };
    let unit = if rounds.figure == TrackedFigure::BytesPerSecond { "MiB/s" } else { rounds.figure.words() };
    let end = rounds.reached.map_or(rounds.values.len(), |r| r as usize);
    let from = end.saturating_sub(ROUNDS);
    let make = |title: &str, caption: &str, part: std::ops::Range<usize>, window: bool| {
        let values: Vec<(f64, f64)> = part.clone().map(|i| ((i + 1) as f64, rounds.values[i])).collect();
        let mean = rounds.window_mean.unwrap_or_default();
        let x = ChartScale::across(values.iter().map(|v| v.0).chain([part.end as f64 + 0.5]), false);
        let y = ChartScale::upwards(values.iter().map(|v| v.1).chain(window.then_some(1.2 * mean)), false);
        let dot = |(n, v): &(f64, f64)| ChartDot {
            x: x.at(*n),
            y: y.at(*v),
            class: if *n as usize > from && *n as usize <= end { "s2" } else { "s0" },
            text: String::new(),
            title: format!("round {n}: {}", tracked(rounds.figure, *v)),
        };
        let name = rounds.step.clone();
        let mut lines = vec![ChartLine { class: "s0", name, points: points(&x, &y, values.iter().copied()) }];
        if window && mean > 0.0 {
            let (low, high) = (from as f64 + 1.0, end as f64);
            let level = |name: &str, class, v: f64| ChartLine {
                class,
                name: name.into(),
                points: points(&x, &y, [(low, v), (high, v)]),
            };
            lines.push(level("mean of the window", "model", mean));
            lines.push(level("mean + 10 % and - 10 %", "promise", 1.1 * mean));
            lines.push(level("", "promise", 0.9 * mean));
            let half = rounds.drift_pct.unwrap_or_default() / 200.0;
            let fit = [(low, mean * (1.0 - half)), (high, mean * (1.0 + half))];
            lines.push(ChartLine { class: "s1", name: "fitted line".into(), points: points(&x, &y, fit) });
        }
        let numbers = x.marks(values.iter().map(|v| v.0), |v| format!("{v:.0}"));
        chart(
            title,
            caption,
            ("round", unit),
            (numbers, y.ticks(shown)),
            lines,
            values.iter().map(dot).collect(),
        )
    };
    let name = &rounds.phase;
    let mut charts = vec![make(
        &format!("Convergence of {name}"),
        "The tracked figure of each round; the rounds of the window are in another colour.",
        0..rounds.values.len(),
        false,
    )];
    if end >= ROUNDS {
        let caption = match rounds.reached {
            Some(_) => {
                "Steady: a range of at most 20 % of the mean, and a fitted line that changes by at most 10 %."
            }
            None => "Not steady: the last five rounds.",
        };
        charts.push(make(&format!("Window of {name}"), caption, from..end, true));
    }
    charts
}
