//! A chart as static SVG: scales, ticks, lines and dots as coordinates for the template. It needs no script.
//!
//! Positions are in a box of 720 by 350, as the template has it. The margins of the box hold the figures of the axes.

use volproof_base::unit::significant;

const LEFT: f64 = 74.0;
const RIGHT: f64 = 700.0;
const TOP: f64 = 26.0;
const BOTTOM: f64 = 296.0;
/// Figures of an axis are this far apart at least.
const APART: f64 = 46.0;

/// A figure of an axis.
pub struct ChartTick {
    /// Its place on the axis.
    pub at: f64,
    /// Its text.
    pub text: String,
}

/// A line through points.
pub struct ChartLine {
    /// `s0` to `s3` for measured series, `model` for what is fitted or promised, `band` for a stretch.
    pub class: &'static str,
    /// Its name; may be empty.
    pub name: String,
    /// The points, as SVG has them.
    pub points: String,
}

/// A point with a word beside it.
pub struct ChartDot {
    /// Place across.
    pub x: f64,
    /// Place down.
    pub y: f64,
    /// As that of a line.
    pub class: &'static str,
    /// The word; may be empty.
    pub text: String,
    /// Everything about the point.
    pub title: String,
}

/// Takes away words that would lie on an earlier one.
pub fn keep_words_apart(dots: &mut [ChartDot]) {
    let mut kept: Vec<(f64, f64)> = Vec::new();
    for dot in dots.iter_mut().filter(|dot| !dot.text.is_empty()) {
        if kept.iter().any(|(x, y)| (dot.x - x).abs() < 26.0 && (dot.y - y).abs() < 14.0) {
            dot.text.clear();
        } else {
            kept.push((dot.x, dot.y));
        }
    }
}

/// A cell of a heat map.
pub struct ChartCell {
    /// Left end.
    pub x: f64,
    /// Upper end.
    pub y: f64,
    /// Width.
    pub width: f64,
    /// Height.
    pub height: f64,
    /// How strong its colour is, 0 to 1.
    pub shade: f64,
    /// Everything about the cell.
    pub title: String,
}

/// A chart.
pub struct SvgChart {
    /// Its title.
    pub title: String,
    /// All of it in words.
    pub label: String,
    /// The words under it.
    pub caption: String,
    /// The quantity and unit across.
    pub x_name: String,
    /// The quantity and unit upwards.
    pub y_name: String,
    /// Figures below.
    pub x_ticks: Vec<ChartTick>,
    /// Figures at the left.
    pub y_ticks: Vec<ChartTick>,
    /// Cells.
    pub cells: Vec<ChartCell>,
    /// Lines.
    pub lines: Vec<ChartLine>,
    /// Points.
    pub dots: Vec<ChartDot>,
    /// Names of lines, in order.
    pub legend: Vec<(&'static str, String)>,
}

/// One axis of a chart.
#[derive(Clone, Copy, Debug)]
pub struct ChartScale {
    low: f64,
    high: f64,
    logarithmic: bool,
    from: f64,
    to: f64,
}

impl ChartScale {
    fn of(values: impl Iterator<Item = f64>, logarithmic: bool, from: f64, to: f64) -> ChartScale {
        let usable = values.filter(|v| v.is_finite() && (!logarithmic || *v > 0.0));
        let (low, high) = usable.fold((f64::MAX, f64::MIN), |(l, h), v| (l.min(v), h.max(v)));
        let (low, high) = match logarithmic {
            _ if low > high => (if logarithmic { 1.0 } else { 0.0 }, 10.0),
            true if high < low * 1.2 => (low / 1.5, high * 1.5),
            true => (low / 1.15, high * 1.15),
            false => (0.0, if high > 0.0 { high * 1.06 } else { 1.0 }),
        };
        ChartScale { low, high, logarithmic, from, to }
    }

    /// The axis across, for these values.
    pub fn across(values: impl Iterator<Item = f64>, logarithmic: bool) -> ChartScale {
        ChartScale::of(values, logarithmic, LEFT, RIGHT)
    }

    /// The axis upwards, for these values.
    pub fn upwards(values: impl Iterator<Item = f64>, logarithmic: bool) -> ChartScale {
        ChartScale::of(values, logarithmic, BOTTOM, TOP)
    }

    /// The place of a value, held inside the axis.
    pub fn at(&self, v: f64) -> f64 {
        let share = match self.logarithmic {
            true => (v.max(self.low).ln() - self.low.ln()) / (self.high.ln() - self.low.ln()),
            false => (v - self.low) / (self.high - self.low),
        };
        ((self.from + share.clamp(0.0, 1.0) * (self.to - self.from)) * 10.0).round() / 10.0
    }

    /// Both ends of the axis as values.
    pub fn ends(&self) -> (f64, f64) {
        (self.low, self.high)
    }

    /// Round values with their texts.
    pub fn ticks(&self, text: impl Fn(f64) -> String) -> Vec<ChartTick> {
        let decades = |steps: &[f64]| -> Vec<f64> {
            let (first, last) = (self.low.log10().floor() as i32, self.high.log10().ceil() as i32);
            (first..=last).flat_map(|e| steps.iter().map(move |m| m * 10f64.powi(e))).collect()
        };
        let values: Vec<f64> = match self.logarithmic {
            // A short axis would have one figure or none.
            true if self.high < 5.0 * self.low => {
                decades(&[1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0])
            }
            true => decades(&[1.0, 2.0, 5.0]),
            false => {
                let rough = (self.high - self.low) / 5.0;
                let ten = 10f64.powf(rough.log10().floor());
                let step =
                    [1.0, 2.0, 5.0, 10.0].map(|m| m * ten).into_iter().find(|s| *s >= rough).unwrap_or(ten);
                (0..12).map(|i| f64::from(i) * step).collect()
            }
        };
        self.marks(values.into_iter().filter(|v| *v >= self.low && *v <= self.high), text)
    }

    /// These values with their texts, without those that would overlap.
    pub fn marks(&self, values: impl Iterator<Item = f64>, text: impl Fn(f64) -> String) -> Vec<ChartTick> {
        let mut ticks: Vec<ChartTick> = Vec::new();
        for value in values {
            let at = self.at(value);
            let apart = if self.from < self.to { APART } else { APART / 2.0 };
            if ticks.last().is_none_or(|last| (last.at - at).abs() >= apart) {
                ticks.push(ChartTick { at, text: text(value) });
            }
        }
        ticks
    }
}

/// Points as SVG has them.
pub fn points(x: &ChartScale, y: &ChartScale, values: impl IntoIterator<Item = (f64, f64)>) -> String {
    let one = |(a, b): (f64, f64)| format!("{},{}", x.at(a), y.at(b));
    values.into_iter().filter(|(_, b)| b.is_finite() && *b > 0.0).map(one).collect::<Vec<_>>().join(" ")
}

/// A latency in its usual unit, from nanoseconds.
pub fn latency(ns: f64) -> String {
    match ns {
        ns if ns < 1e3 => format!("{} ns", plain(ns)),
        ns if ns < 1e6 => format!("{} µs", plain(ns / 1e3)),
        ns if ns < 1e9 => format!("{} ms", plain(ns / 1e6)),
        ns => format!("{} s", plain(ns / 1e9)),
    }
}

/// A rate in few characters.
pub fn rate(v: f64) -> String {
    match v {
        v if v >= 1e6 => format!("{}M", plain(v / 1e6)),
        v if v >= 1e4 => format!("{}k", plain(v / 1e3)),
        v => plain(v),
    }
}

/// A figure without zeros behind the point.
pub fn plain(v: f64) -> String {
    let text = significant(v);
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').into() } else { text }
}

/// A grid of cells: `of` gives value and words of a column and row, or none where nothing was measured.
pub fn cells(
    columns: usize,
    rows: usize,
    of: impl Fn(usize, usize) -> Option<(f64, String)>,
) -> Vec<ChartCell> {
    let (width, height) = ((RIGHT - LEFT) / columns.max(1) as f64, (BOTTOM - TOP) / rows.max(1) as f64);
    let all: Vec<_> = (0..rows).flat_map(|r| (0..columns).map(move |c| (c, r))).collect();
    let found: Vec<_> = all.into_iter().filter_map(|(c, r)| Some((c, r, of(c, r)?))).collect();
    let logs = found.iter().map(|(.., (v, _))| v.max(1e-9).ln());
    let (low, high) = logs.fold((f64::MAX, f64::MIN), |(l, h), v| (l.min(v), h.max(v)));
    let cell = |(c, r, (v, title)): (usize, usize, (f64, String))| ChartCell {
        x: LEFT + c as f64 * width,
        y: BOTTOM - (r + 1) as f64 * height,
        width,
        height,
        shade: (0.12 + 0.8 * (v.max(1e-9).ln() - low) / (high - low).max(1e-9)).clamp(0.12, 0.92),
        title,
    };
    found.into_iter().map(cell).collect()
}

/// The middle of each column of a grid with its text.
pub fn columns(texts: Vec<String>) -> Vec<ChartTick> {
    let width = (RIGHT - LEFT) / texts.len().max(1) as f64;
    let tick = |(i, text)| ChartTick { at: LEFT + (i as f64 + 0.5) * width, text };
    texts.into_iter().enumerate().map(tick).collect()
}

/// The middle of each row of a grid with its text, the first row lowest.
pub fn rows(texts: Vec<String>) -> Vec<ChartTick> {
    let height = (BOTTOM - TOP) / texts.len().max(1) as f64;
    let tick = |(i, text)| ChartTick { at: BOTTOM - (i as f64 + 0.5) * height, text };
    texts.into_iter().enumerate().map(tick).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_hold_their_values_and_their_figures() {
        let level = ChartScale::upwards([20_000.0].into_iter(), true).ticks(rate);
        let texts: Vec<&str> = level.iter().map(|tick| tick.text.as_str()).collect();
        assert_eq!(texts, ["15k", "20k", "25k", "30k"], "a line that is level has an axis too");
        let x = ChartScale::across([1.0, 256.0].into_iter(), true);
        assert!(x.at(1.0) > LEFT && x.at(256.0) < RIGHT && x.at(16.0) > x.at(8.0));
        assert_eq!((x.at(0.0), x.at(1e9)), (LEFT, RIGHT));
        let y = ChartScale::upwards([100.0, 900.0].into_iter(), false);
        assert_eq!(y.at(0.0), BOTTOM);
        assert!(y.at(900.0) > TOP);
        let ticks = y.ticks(rate);
        assert!(ticks.len() > 2 && ticks.windows(2).all(|w| w[0].at - w[1].at >= APART / 2.0));
        for empty in [true, false] {
            let nothing = ChartScale::across(std::iter::empty(), empty);
            assert!(nothing.at(5.0).is_finite());
        }
    }

    #[test]
    fn words_of_neighbours_do_not_overlap() {
        let dot = |x: f64, y: f64| ChartDot { x, y, class: "s0", text: "8".into(), title: String::new() };
        let mut dots = [dot(100.0, 50.0), dot(110.0, 55.0), dot(110.0, 80.0), dot(200.0, 50.0)];
        keep_words_apart(&mut dots);
        assert_eq!(dots.map(|d| d.text.len()), [1, 0, 1, 1]);
    }

    #[test]
    fn figures_are_short() {
        assert_eq!((rate(131_072.0), rate(2e6), rate(300.0)), ("131k".into(), "2M".into(), "300".into()));
        assert_eq!(
            (latency(2e5), latency(1.5e6), latency(2e9)),
            ("200 µs".into(), "1.5 ms".into(), "2 s".into())
        );
    }
}
