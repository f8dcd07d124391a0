//! What would be enough, as text of at most 80 columns and as a table of commas.

use super::layout::{Column, fitting_table, table, wrap};
use volproof_base::unit::{Nanos, counted, figure, mebibytes, percent, significant};
use volproof_device::output::screen;
use volproof_size::{DemandSummary, Replay, SizeAnswer, SizeRow};

/// More types that are not enough are not named.
const MOST_NAMED: usize = 3;

/// The whole text.
pub fn text(answer: &SizeAnswer) -> String {
    let mut out = wrap("demand    ", &demand(&answer.demand));
    for bound in &answer.demand.lower_bounds {
        out += &wrap("at least  ", &format!("{bound}: a lower bound"));
    }
    let rows: Vec<(&str, &SizeRow)> = [
        ("now", &answer.now),
        ("enough", &answer.enough),
        ("too small", &answer.too_small),
        ("smaller", &answer.smaller),
    ]
    .into_iter()
    .filter_map(|(word, row)| Some((word, row.as_ref()?)))
    .collect();
    if !rows.is_empty() {
        out += &format!("\n{}", rows_table(&rows));
    }
    out.extend(remarks(answer).iter().map(|remark| wrap("          ", remark)));
    if answer.types.is_empty() {
        let nearest = answer.not_enough.first().map(|row| {
            format!(", nearest: {} of {}, with {} late", named(row), gib(row), percent(row.replay.late_share))
        });
        out += &wrap("", &format!("nothing sold is enough{}", nearest.unwrap_or_default()));
        return out;
    }
    out += &format!("\n{}", types_table(answer));
    if !answer.not_enough.is_empty() {
        out += &wrap("", &format!("not enough at any size: {}", not_enough(answer)));
    }
    let note = format!(
        "enough: a limit delays at most {} of the I/Os by more than 10 ms, and credits that are spent are earned again; buckets begin full",
        percent(answer.most_late)
    );
    out + &wrap("", &note)
}

fn demand(d: &DemandSummary) -> String {
    format!(
        "{} in moments of {}; 99.9 % within {} IOPS and {} MiB/s, most {} and {}; {} KiB a block in the mean, {} reads",
        seconds(d.seconds),
        seconds(d.moment_seconds),
        significant(d.iops_p999),
        mebibytes(d.bytes_p999),
        significant(d.iops_most),
        mebibytes(d.bytes_most),
        significant(d.block_bytes / 1024.0),
        percent((d.read_share * 100.0).round() / 100.0)
    )
}

/// A length of time: days where it is longer than two.
fn seconds(seconds: f64) -> String {
    match seconds {
        s if s >= 2.0 * 86_400.0 => format!("{} days", significant(s / 86_400.0)),
        s => Nanos((s * 1e9) as u64).length(),
    }
}

/// A volume in short: `gp3 6,000/125`, with its instance.
fn named(row: &SizeRow) -> String {
    let kind = row.volume.split_once(':').map_or(row.volume.as_str(), |(_, kind)| kind);
    let part = |n: Option<f64>| n.map_or("-".into(), figure);
    let on = row.instance.as_ref().map(|name| format!(" on {name}")).unwrap_or_default();
    format!("{kind} {}/{}{on}", part(row.iops), part(row.throughput))
}

fn gib(row: &SizeRow) -> String {
    format!("{} GiB", figure(row.gib))
}

/// The credits that were left when there were fewest, of the bucket that lost most.
fn credits(replay: &Replay) -> String {
    let least = replay.credits.iter().min_by(|a, b| a.least_left.total_cmp(&b.least_left));
    match least {
        None => "-".into(),
        Some(one) if one.emptied > 0 => format!("{} empty {}x", one.owner.name(), one.emptied),
        Some(one) => format!("{} {}", one.owner.name(), percent((one.least_left * 100.0).floor() / 100.0)),
    }
}

fn throttled(replay: &Replay) -> String {
    match replay.throttled_seconds() {
        0.0 => "never".into(),
        s => seconds(s),
    }
}

fn rows_table(rows: &[(&str, &SizeRow)]) -> String {
    let names: Vec<String> = rows.iter().map(|(word, row)| format!("{word:10}{}", named(row))).collect();
    let cells = |of: fn(&SizeRow) -> String| rows.iter().map(|(_, row)| of(row)).collect();
    let columns: Vec<Column> = vec![
        ("size", 3, cells(gib)),
        ("late", 0, cells(|row| percent(row.replay.late_share))),
        ("throttled", 1, cells(|row| throttled(&row.replay))),
        ("credits left", 2, cells(|row| credits(&row.replay))),
    ];
    fitting_table("", &names, &columns, screen::width())
}

/// What the rows do not say.
fn remarks(answer: &SizeAnswer) -> Vec<String> {
    let mut remarks = Vec::new();
    if let Some(now) = answer.now.as_ref().filter(|row| row.replay.spells > 0) {
        let r = &now.replay;
        let whose = match (r.volume_seconds > 0.0, r.instance_seconds > 0.0) {
            (true, true) => format!("the instance for {} of that", seconds(r.instance_seconds)),
            (false, _) => "by the instance".into(),
            (true, false) => "by the volume".into(),
        };
        remarks.push(format!(
            "now throttled {whose}, in {}, the longest {}; the longest delay {}",
            counted(r.spells, "spell"),
            seconds(r.longest_spell_seconds),
            seconds(r.longest_delay_seconds)
        ));
    }
    let rows = [("now", &answer.now), ("too small", &answer.too_small), ("smaller", &answer.smaller)];
    for (word, row) in rows {
        let spent =
            row.as_ref().and_then(|row| row.replay.credits.iter().find(|credits| !credits.is_lasting));
        remarks.extend(spent.map(|one| {
            format!(
                "{word}: the {} spends more credits than it earns; full ones last {}",
                one.owner.name(),
                seconds(one.full_seconds)
            )
        }));
    }
    remarks.extend(
        answer.now.as_ref().zip(answer.enough.as_ref()).and_then(|(now, enough)| difference(now, enough)),
    );
    remarks
}

/// How what is enough differs from what is there, where it is the same type.
fn difference(now: &SizeRow, enough: &SizeRow) -> Option<String> {
    let change = |before: Option<f64>, after: Option<f64>, unit: &str| {
        let (before, after) = before.zip(after)?;
        let word = if after < before { "less" } else { "more" };
        (before != after).then(|| format!("{} {unit} {word}", figure((before - after).abs())))
    };
    let parts = [
        change(Some(now.gib), Some(enough.gib), "GiB"),
        change(now.iops, enough.iops, "IOPS"),
        change(now.throughput, enough.throughput, &enough.throughput_unit),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (now.volume == enough.volume && !parts.is_empty()).then(|| format!("enough is {}", parts.join(", ")))
}

fn types_table(answer: &SizeAnswer) -> String {
    let has_prices = answer.types.iter().any(|row| row.price.is_some());
    let price = format!("{} a month", answer.currency.as_deref().unwrap_or_default());
    let mut heads = vec!["Type", "size", "IOPS", "throughput", "late", "throttled"];
    heads.extend(has_prices.then_some(price.trim_start()));
    let rows = answer.types.iter().map(|row| {
        let part = |n: Option<f64>| n.map_or("-".into(), figure);
        let throughput =
            row.throughput.map_or("-".into(), |n| format!("{} {}", figure(n), row.throughput_unit));
        let mut cells = vec![
            row.volume.clone(),
            gib(row),
            part(row.iops),
            throughput,
            percent(row.replay.late_share),
            throttled(&row.replay),
        ];
        cells.extend(has_prices.then(|| row.price.map_or("-".into(), |price| format!("{price:.2}"))));
        cells
    });
    table(&heads, rows.collect())
}

fn not_enough(answer: &SizeAnswer) -> String {
    let named = answer.not_enough.iter().take(MOST_NAMED);
    let mut named: Vec<String> =
        named.map(|row| format!("{} ({} late)", row.volume, percent(row.replay.late_share))).collect();
    let more = answer.not_enough.len().saturating_sub(MOST_NAMED);
    named.extend((more > 0).then(|| format!("{more} more")));
    named.join(", ")
}

/// All rows as a table of commas.
pub fn csv(answer: &SizeAnswer) -> String {
    let mut out = String::from(
        "row,type,gib,iops,throughput,throughput_unit,instance,enough,late_share,throttled_seconds,instance_seconds,spells,price,instance_price\n",
    );
    let single = [
        ("now", &answer.now),
        ("enough", &answer.enough),
        ("too-small", &answer.too_small),
        ("smaller", &answer.smaller),
    ];
    let single = single.into_iter().filter_map(|(word, row)| Some((word, row.as_ref()?)));
    let types = answer.types.iter().map(|row| ("type", row));
    for (word, row) in single.chain(types).chain(answer.not_enough.iter().map(|row| ("not-enough", row))) {
        let number = |n: Option<f64>| n.map(|n| n.to_string()).unwrap_or_default();
        let cells = [
            word.into(),
            row.volume.clone(),
            row.gib.to_string(),
            number(row.iops),
            number(row.throughput),
            row.throughput_unit.clone(),
            row.instance.clone().unwrap_or_default(),
            row.is_enough.to_string(),
            row.replay.late_share.to_string(),
            row.replay.throttled_seconds().to_string(),
            row.replay.instance_seconds.to_string(),
            row.replay.spells.to_string(),
            number(row.price),
            number(row.instance_price),
        ];
        out += &(cells.join(",") + "\n");
    }
    out
}
