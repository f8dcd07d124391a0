//! No two sentences of one result contradict each other: verdict, reasons, findings and advice of some hundreds of volumes.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use super::{PROMISED, Said, Volume, judge};

const VOLUMES: usize = 240;

/// A volume with a few troubles drawn at random.
pub fn random(rng: &mut Xoshiro256PlusPlus, i: usize) -> Volume {
    let mut pick = |n: u64| rng.next_u64() % n;
    let kind = ["plain", "timed", "bursty"][i % 3];
    let seconds = [60, 70, 90, 120][pick(4) as usize];
    let share = 0.7 + pick(40) as f64 / 100.0;
    let mut device = format!("latency={}us,iops-cap={}", 500 + pick(3000), share * PROMISED);
    let at = pick(u64::from(seconds));
    for _ in 0..pick(3) {
        let more = match pick(11) {
            0 => format!("stall-at={at}s,stall-for={}s", 1 + pick(20)),
            1 => format!("dip-at={at}s,dip-for={}s,dip-to=0.{}", 1 + pick(60), 1 + pick(8)),
            2 => format!("rise-from=0.{},rise-for={}s", 1 + pick(8), 1 + pick(30)),
            3 => format!("drift={}", (pick(20) as f64 - 10.0) / 100.0),
            4 => format!("noise=0.0{},noise-memory=0.{}", 1 + pick(9), pick(9)),
            5 => format!("burst-iops={},burst-ios={}", 900 + pick(400), pick(100_000)),
            6 => format!("slow-share=0.0{},slow-latency={}ms", 1 + pick(9), 5 + pick(90)),
            7 => format!("cap-period={}ms", 100 * (1 + pick(30))),
            8 => {
                format!("stall-at={at}s,stall-for={}ms,stall-every={}ms", 200 + pick(1800), 2100 + pick(9000))
            }
            9 => format!("cap-period={}s", 5 + pick(20)),
            _ => format!("error-every={}", 200 + pick(5000)),
        };
        let key = more.split('=').next().unwrap_or_default();
        if !device.contains(key) {
            device = format!("{device},{more}");
        }
    }
    let load = if pick(4) == 0 {
        format!("iodepth=32,rate-iops={}", 300 + pick(200))
    } else {
        format!("iodepth={}", 2 + pick(32))
    };
    Volume::new(format!("volume {i}"), kind, seconds, &load, &device)
}

/// A contradiction within a judgement; none where there is none.
pub fn contradiction(volume: &Volume, said: &Said) -> Option<String> {
    let reason = said.claim["reason"].as_str().unwrap_or_default();
    let outcome = said.outcome();
    let (measured, limit) = (said.number("measured"), said.number("limit"));
    let find = |code| said.finding(code);
    let words = said
        .findings
        .iter()
        .map(|f| format!("{} {}", f["headline"], f["advice"]))
        .collect::<Vec<_>>()
        .join(" ");
    let near = |a: f64, b: f64| (a / b - 1.0).abs() < 0.03;
    let mut rules: Vec<(bool, &str)> = vec![
        (
            words.contains("promise") && words.contains(" met"),
            "a finding says that the promise is met: the verdict says so or not",
        ),
        (outcome == "pass" && !reason.is_empty(), "a PASS with a reason against it"),
        (outcome == "pass" && measured < limit, "a PASS below the limit"),
        (
            outcome == "pass" && said.claim["bounds"][0].as_f64().is_none_or(|low| low < limit),
            "a PASS without an interval above the limit",
        ),
        (
            outcome == "fail" && measured >= limit && !reason.contains("of the seconds"),
            "a FAIL at the limit or above without a reason",
        ),
        (outcome == "pass" && find("too-short").is_some(), "a PASS of a run that is too short to quote"),
        (reason.contains("a throttle holds") && find("throttle").is_none(), "a throttle that was not found"),
        (
            find("lazy-loading").is_some() && (find("stall").is_some() || find("burst").is_some()),
            "lazy loading beside a stall or a burst",
        ),
        (find("burst").is_some() && find("throttle").is_some(), "two rates at which the volume is held"),
        (outcome == "invalid" && said.claim["blocker"].is_null(), "INVALID without a blocker"),
    ];
    let seconds = |e: &serde_json::Value| e["length_ns"].as_f64().unwrap_or(0.0) / 1e9;
    let lost: f64 = said.claim["lapses"].as_array().map_or(0.0, |l| l.iter().map(seconds).sum());
    rules.extend([
        (
            outcome == "pass" && lost > 0.02 * f64::from(volume.seconds),
            "a PASS of a volume that was dead for a share of the time",
        ),
        (
            lost > 0.02 * f64::from(volume.seconds) && reason.contains("to decide"),
            "more time for what more time does not decide",
        ),
        (
            reason.contains("right type")
                && !said.claim["more_seconds"].is_null()
                && !reason.contains("burst"),
            "more time for another type",
        ),
        (
            reason.contains("right type") && words.contains("buy a higher"),
            "more to buy of what may be another type",
        ),
        (
            find("drift").is_some() && find("throttle").is_some(),
            "a rate that moved, and a rate that was held",
        ),
        (find("drift").is_some() && find("lazy-loading").is_some(), "one rise under two names"),
        (find("one-at-a-time").is_some() && find("iops-cap").is_some(), "a cap where the load sets the rate"),
        (
            said.claim["cut"]["per_second"]
                .as_f64()
                .is_some_and(|rate| (rate / said.number("measured") - 1.0).abs() < 1e-4),
            "a warm-up that changes nothing",
        ),
        (reason.contains("below") || reason.contains("is told"), "a reason that points elsewhere"),
    ]);
    let stalls = said.claim["lapses"].as_array().is_some_and(|l| l.iter().any(|e| e["lapse"] == "stall"));
    rules.push((
        stalls && !said.tells_a_stop() || !stalls && find("stall").is_some(),
        "verdict and diagnosis disagree on stalls",
    ));
    if let Some(throttle) = find("throttle") {
        let rate = throttle["numbers"]["rate_per_second"].as_f64().unwrap_or(0.0);
        let says = |key: &str, words| throttle[key].as_str().unwrap_or_default().contains(words);
        rules.extend([
            (
                reason.contains("the rate moved") && !says("headline", "the rate moved"),
                "a throttle that holds a rate, and a rate that moved",
            ),
            (
                says("advice", "less than was bought") && rate >= limit,
                "less than was bought, above the limit",
            ),
            (
                says("advice", "more than is promised") && rate < limit,
                "more than is promised, below the limit",
            ),
        ]);
    }
    // A fall whose end nobody saw names none.
    if let Some(baseline) = find("burst").and_then(|b| b["numbers"]["baseline_per_second"].as_f64()) {
        rules.push((
            !near(measured, baseline),
            "the verdict judges another rate than the baseline that is named",
        ));
    }
    if let (Some(throttle), true) = (find("throttle"), reason.contains("a throttle holds")) {
        let rate = throttle["numbers"]["rate_per_second"].as_f64().unwrap_or(0.0);
        rules.push((rate >= limit, "a throttle above the promise as the reason of a FAIL"));
    }
    rules.into_iter().find(|(broken, _)| *broken).map(|(_, rule)| rule.to_string())
}

#[test]
fn a_throttle_of_a_rate_that_moved_names_the_longest_level() {
    let dips = [
        (1.02, 40, 30, 0.8, 1.02),
        (1.06, 40, 30, 0.8, 1.06),
        (1.06, 10, 70, 0.9, 0.954),
        (0.99, 60, 50, 0.5, 0.99),
    ];
    let volume = |(cap, at, length, to, _): &(f64, u32, u32, f64, f64)| {
        let device =
            format!("latency=1ms,iops-cap={},dip-at={at}s,dip-for={length}s,dip-to={to}", cap * PROMISED);
        Volume::new(format!("{cap} and a dip to {to}"), "plain", 120, "iodepth=32", &device)
    };
    let volumes: Vec<Volume> = dips.iter().map(volume).collect();
    for ((v, said), (.., longest)) in volumes.iter().zip(judge(&volumes)).zip(dips) {
        assert_eq!(contradiction(v, &said), None, "{v:?} {said:?}");
        let throttle = said.finding("throttle").unwrap_or_else(|| panic!("{v:?} {said:?}"));
        let rate = throttle["numbers"]["rate_per_second"].as_f64().unwrap();
        assert!((rate / (longest * PROMISED) - 1.0).abs() < 0.005, "{v:?} {throttle}");
        let below = throttle["advice"].as_str().unwrap().contains("less than was bought");
        assert_eq!(below, longest < 0.98, "{v:?} {throttle}");
    }
}

#[test]
fn no_two_sentences_of_a_result_contradict_each_other() {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(2026);
    let volumes: Vec<Volume> = (0..VOLUMES).map(|i| random(&mut rng, i)).collect();
    let said = judge(&volumes);
    let wrong: Vec<String> = volumes
        .iter()
        .zip(&said)
        .filter_map(|(v, s)| {
            Some(format!("{}: {}\n    {:?}\n    {}", v.name, contradiction(v, s)?, v, s.claim))
        })
        .collect();
    assert!(wrong.is_empty(), "{} of {VOLUMES}:\n{}", wrong.len(), wrong.join("\n"));
    let passed = said.iter().filter(|s| s.outcome() == "pass").count();
    assert!(passed >= VOLUMES / 20, "only {passed} of {VOLUMES} pass: the rules about a PASS show nothing");
}
