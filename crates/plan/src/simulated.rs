//! The simulated device: what a plan file says under `[step.simulate]` and the command line after `--simulate`, with the same
//! keys in both.

use std::fmt::{Display, Formatter};
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::WordError;
use super::word::Word;
use volproof_base::misspelling::{nearest_few, question};
use volproof_base::unit::{Bytes, Nanos, text};

/// A device that exists only in virtual time (engine `null`): what is measured is known beforehand.
///
/// All jobs on a target share its device. Steps with the same keys meet the same device one after another, as they left it: credits, touched
/// blocks, stalls and changes of the speed go on, on one clock that begins with the first step of the run; the `delay` of a step is time on it
/// too. Steps that run together have a device each. In a step that goes through the page cache and flushes, writes wait in memory, and their flush
/// carries them out.
///
/// Keys of earlier versions, with underscores, are still read.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Simulated {
    /// Latency of an I/O, from the start of its service to its completion.
    #[serde(with = "text")]
    #[schemars(with = "String")]
    pub latency: Nanos,
    /// Every latency is drawn evenly from `latency` to `latency` + `jitter`.
    #[serde(default, with = "text")]
    #[schemars(with = "String")]
    pub jitter: Nanos,
    /// I/Os a second that a token bucket lets through.
    #[serde(default, alias = "iops_cap", skip_serializing_if = "Option::is_none")]
    pub iops_cap: Option<f64>,
    /// How often the token buckets of all caps are refilled; 100 ms when absent.
    #[serde(default, alias = "cap_period", with = "text::option", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub cap_period: Option<Nanos>,
    /// Bytes a second that a token bucket lets through.
    #[serde(default, alias = "bytes_cap", with = "text::option", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub bytes_cap: Option<Bytes>,
    /// I/Os a second that pass instead of `iops-cap` while the credits of `burst-ios` last.
    #[serde(default, alias = "burst_iops", skip_serializing_if = "Option::is_none")]
    pub burst_iops: Option<f64>,
    /// Burst credits at the start, and the most that a pause earns back: the number of I/Os beyond `iops-cap`.
    #[serde(default, alias = "burst_ios")]
    pub burst_ios: u64,
    /// I/Os a second that pass through this machine (the instance) to all simulated targets of a step together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance_iops_cap: Option<f64>,
    /// Bytes a second that pass through this machine (the instance) to all simulated targets of a step together.
    #[serde(default, with = "text::option", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub instance_bytes_cap: Option<Bytes>,
    /// The most I/Os that the device serves side by side, each for its latency; others wait for a free server. 0 for no limit.
    #[serde(default, skip_serializing_if = "no_servers")]
    pub servers: u32,
    /// I/Os a second of others on the same volume: 4 KiB, reads and writes in turn. They take tokens of `iops-cap` and `bytes-cap` and use
    /// `servers`. A device with this key has counters of its own in the evidence, as a disk has them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub others_iops: f64,
    /// The device has the page of counters of this kind, as AWS's volumes have: also for how long each limit was exceeded. With it the device has
    /// counters of its own as a disk has them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page: Option<SimulatedPage>,
    /// CPU time that each I/O costs its load thread, as on a slow CPU: a thread sends no more than one I/O in this time.
    #[serde(default, with = "text", skip_serializing_if = "Nanos::is_zero")]
    #[schemars(with = "String")]
    pub cpu_per_io: Nanos,
    /// Start of a stall, in which nothing completes, counted from the start of the run.
    #[serde(default, alias = "stall_at", with = "text::option", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub stall_at: Option<Nanos>,
    /// Length of the stall.
    #[serde(default, alias = "stall_for", with = "text")]
    #[schemars(with = "String")]
    pub stall_for: Nanos,
    /// Time from the start of one stall to the start of the next; one stall when absent.
    #[serde(default, alias = "stall_every", with = "text::option", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub stall_every: Option<Nanos>,
    /// One I/O in so many fails with EIO; 0 for none.
    #[serde(default, alias = "error_every")]
    pub error_every: u64,
    /// Extra latency of the first I/O to each MiB, as with a volume that is loaded from a snapshot.
    #[serde(default, alias = "first_touch", with = "text", skip_serializing_if = "Nanos::is_zero")]
    #[schemars(with = "String")]
    pub first_touch: Nanos,
    /// Share of slow I/Os (0 to 1), drawn at random: they take `slow-latency` instead of `latency`.
    #[serde(default, alias = "slow_share", skip_serializing_if = "is_zero")]
    pub slow_share: f64,
    /// Latency of the slow I/Os, whose share is `slow-share`.
    #[serde(default, alias = "slow_latency", with = "text", skip_serializing_if = "Nanos::is_zero")]
    #[schemars(with = "String")]
    pub slow_latency: Nanos,
    /// How the device's speed changes with time.
    #[serde(flatten)]
    pub uneven: Uneven,
}

/// The page of counters that a simulated device has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SimulatedPage {
    /// That of an EBS volume.
    Ebs,
}

/// How the speed of a simulated device changes with time: factors on its caps, and divisors of its latency, that multiply.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Uneven {
    /// Share of the full speed at the start of the run, from which it rises in a straight line; needs `rise-for`.
    #[serde(default, alias = "rise_from", skip_serializing_if = "is_zero")]
    pub rise_from: f64,
    /// Time from the start of the run until the full speed is reached; begins at `rise-from`.
    #[serde(default, alias = "rise_for", with = "text", skip_serializing_if = "Nanos::is_zero")]
    #[schemars(with = "String")]
    pub rise_for: Nanos,
    /// Change of the speed each minute, as a share of the full speed: -0.01 loses one percent a minute.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub drift: f64,
    /// Start of a dip, in which the device is slower, counted from the start of the run.
    #[serde(default, alias = "dip_at", with = "text", skip_serializing_if = "Nanos::is_zero")]
    #[schemars(with = "String")]
    pub dip_at: Nanos,
    /// Length of the dip.
    #[serde(default, alias = "dip_for", with = "text", skip_serializing_if = "Nanos::is_zero")]
    #[schemars(with = "String")]
    pub dip_for: Nanos,
    /// Speed in the dip, as a share of the full speed.
    #[serde(default, alias = "dip_to", skip_serializing_if = "is_zero")]
    pub dip_to: f64,
    /// Time from the start of one dip to the start of the next; one dip when absent.
    #[serde(default, alias = "dip_every", with = "text::option", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub dip_every: Option<Nanos>,
    /// Standard deviation of the speed from second to second, as a share of the speed; at most 0.3.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub noise: f64,
    /// Correlation of the speeds of neighbouring seconds under `noise`, 0 to below 1.
    #[serde(default, alias = "noise_memory", skip_serializing_if = "is_zero")]
    pub noise_memory: f64,
}

/// Length of the I/Os of others.
pub const OTHERS_BLOCK: Bytes = Bytes::kib(4);

/// All keys, in the order of the page; a test holds them against the fields.
const KEYS: [&str; 29] = [
    "latency",
    "jitter",
    "iops-cap",
    "cap-period",
    "bytes-cap",
    "burst-iops",
    "burst-ios",
    "instance-iops-cap",
    "instance-bytes-cap",
    "servers",
    "others-iops",
    "page",
    "cpu-per-io",
    "stall-at",
    "stall-for",
    "stall-every",
    "error-every",
    "first-touch",
    "slow-share",
    "slow-latency",
    "rise-from",
    "rise-for",
    "drift",
    "dip-at",
    "dip-for",
    "dip-to",
    "dip-every",
    "noise",
    "noise-memory",
];

fn is_zero(share: &f64) -> bool {
    *share == 0.0
}

fn no_servers(servers: &u32) -> bool {
    *servers == 0
}

impl Simulated {
    /// How often the token buckets are refilled.
    pub fn period(&self) -> Nanos {
        self.cap_period.unwrap_or(Nanos::millis(100)).max(Nanos(1))
    }

    /// The device has counters of its own, as a disk has them.
    pub fn has_counters(&self) -> bool {
        self.others_iops > 0.0 || self.page.is_some()
    }

    /// The problem with a simulated device, in words.
    pub fn problem(&self) -> Option<String> {
        let u = &self.uneven;
        let say = |wrong: bool, words: &str| wrong.then(|| words.to_string());
        let share = |v: f64| !(0.0..=1.0).contains(&v);
        let dip = u.dip_for.0 > 0;
        say(self.latency.0 == 0, "a simulated device needs a latency above 0: virtual time would stand still")
            .or_else(|| say(self.latency > Nanos::seconds(60), "a simulated latency is at most a minute: a number alone is seconds, so write 200us or 2ms"))
            .or_else(|| say(self.iops_cap.is_some_and(|c| c.is_nan() || c < 1.0), "a simulated iops-cap below 1 lets nothing through"))
            .or_else(|| say(self.bytes_cap == Some(Bytes(0)), "a simulated bytes-cap of 0 lets nothing through"))
            .or_else(|| say(self.burst_iops.is_some() && self.iops_cap.is_none(), "a simulated burst needs the iops-cap that holds after it"))
            .or_else(|| say(self.stall_at.is_none() && (self.stall_every.is_some() || self.stall_for.0 > 0), "a simulated stall needs its start: stall-at"))
            .or_else(|| say(self.burst_ios > 0 && self.burst_iops.is_none(), "burst-ios needs burst-iops, the rate of the burst"))
            .or_else(|| say(u.noise_memory > 0.0 && u.noise == 0.0, "noise-memory needs noise, whose correlation it is"))
            .or_else(|| say(self.stall_every.is_some_and(|e| e <= self.stall_for), "a simulated stall must end before the next begins: stall-every is above stall-for"))
            .or_else(|| say(u.dip_every.is_some_and(|e| e <= u.dip_for), "a simulated dip must end before the next begins: dip-every is above dip-for"))
            .or_else(|| say(share(self.slow_share) || share(u.dip_to) || share(u.rise_from), "slow-share, dip-to and rise-from are shares from 0 to 1"))
            .or_else(|| say(dip && u.dip_to == 0.0, "a simulated dip needs dip-to above 0; without any speed it is a stall (stall-at, stall-for)"))
            .or_else(|| say(self.slow_share > 0.0 && self.slow_latency.0 == 0, "slow-share needs slow-latency"))
            .or_else(|| say(self.stall_at.is_some() && self.stall_for.0 == 0, "a simulated stall needs its length: stall-for"))
            .or_else(|| say(!dip && (u.dip_at.0 > 0 || u.dip_to > 0.0 || u.dip_every.is_some()), "a simulated dip needs its length: dip-for"))
            .or_else(|| say(u.rise_from > 0.0 && u.rise_for.0 == 0, "rise-from needs rise-for, the time of the rise"))
            .or_else(|| say(self.slow_latency.0 > 0 && self.slow_share == 0.0, "slow-latency needs slow-share, the share of slow I/Os"))
            .or_else(|| say(self.cap_period.is_some() && !self.has_cap(), "cap-period needs a cap: iops-cap, bytes-cap, instance-iops-cap or instance-bytes-cap"))
            .or_else(|| say(self.cap_period == Some(Nanos(0)), "a simulated cap-period of 0 is no time: use 50us or more"))
            .or_else(|| say(self.instance_iops_cap.is_some_and(|c| c.is_nan() || c < 1.0), "a simulated instance-iops-cap below 1 lets nothing through"))
            .or_else(|| say(self.instance_bytes_cap == Some(Bytes(0)), "a simulated instance-bytes-cap of 0 lets nothing through"))
            .or_else(|| say(!(0.0..=1e9).contains(&self.others_iops), "others-iops is a number of I/Os a second, at most 1000000000"))
            .or_else(|| say(self.others_fill_it(), "others-iops leaves nothing of the device: it must be below iops-cap, bytes-cap and what the servers do"))
            .or_else(|| say(self.cpu_per_io > Nanos::seconds(1), "cpu-per-io is at most a second: a number alone is seconds, so write 20us"))
            .or_else(|| say(!(0.0..1.0).contains(&u.noise_memory), "noise-memory is a correlation from 0 to below 1"))
            .or_else(|| say(!(0.0..=0.3).contains(&u.noise), "noise is a share from 0 to 0.3"))
            .or_else(|| say(!u.drift.is_finite(), "drift is a share of the speed for each minute"))
    }
}

impl Simulated {
    fn has_cap(&self) -> bool {
        let by_ios = self.iops_cap.is_some() || self.instance_iops_cap.is_some();
        by_ios || self.bytes_cap.is_some() || self.instance_bytes_cap.is_some()
    }

    /// Whether the I/Os of others alone use the device up.
    fn others_fill_it(&self) -> bool {
        let by_bytes = self.bytes_cap.map(|cap| cap.0 as f64 / OTHERS_BLOCK.0 as f64);
        let by_servers = (self.servers > 0).then(|| f64::from(self.servers) / self.latency.as_seconds());
        let caps = [self.iops_cap, by_bytes, by_servers];
        caps.into_iter().flatten().any(|cap| self.others_iops >= cap)
    }
}

impl FromStr for Simulated {
    type Err = String;

    /// Reads `latency=200us,iops-cap=20000`: the keys of `[step.simulate]`.
    fn from_str(words: &str) -> Result<Simulated, String> {
        let mut table = Map::new();
        for pair in words.split(',').map(str::trim).filter(|p| !p.is_empty()) {
            let (key, value) = pair.split_once('=').ok_or_else(|| {
                format!("'{pair}' is no KEY=VALUE: write it as latency=200us,iops-cap=20000")
            })?;
            let (key, value) = (key.trim(), value.trim());
            let value = if key.contains("bytes") { value.trim_end_matches("/s") } else { value };
            let value = match (value.parse::<u64>(), value.parse::<f64>()) {
                (Ok(whole), _) => whole.into(),
                (_, Ok(number)) => number.into(),
                _ => value.into(),
            };
            if table.insert(key.into(), value).is_some() {
                return Err(format!("{key} is given twice"));
            }
        }
        let device = of_table(table)?;
        device.problem().map_or(Ok(device), Err)
    }
}

impl Display for Simulated {
    /// The text that `--simulate` takes: every key that differs from its default.
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let default = self::table(&Simulated::default());
        let mut given: Vec<_> = self::table(self).into_iter().collect();
        given.retain(|(key, value)| default.get(key) != Some(value));
        given.sort_by_key(|(key, _)| key != "latency");
        let words = given.into_iter().map(|(key, value)| match value {
            Value::String(text) => format!("{key}={text}"),
            number => format!("{key}={}", number.to_string().trim_end_matches(".0")),
        });
        f.write_str(&words.collect::<Vec<_>>().join(","))
    }
}

/// All keys of a device that a Record holds, with their values.
fn table(device: &Simulated) -> Map<String, Value> {
    match serde_json::to_value(device) {
        Ok(Value::Object(table)) => table,
        _ => Map::new(),
    }
}

fn of_table(table: Map<String, Value>) -> Result<Simulated, String> {
    if let Some(key) = table.keys().find(|key| !KEYS.contains(&key.replace('_', "-").as_str())) {
        let meant = key.replace("throughput", "bytes");
        let near = question(&nearest_few(&meant, KEYS.into_iter().map(|known| (known, known)), 3));
        let it = if near.is_empty() { "it" } else { "It" };
        return Err(format!("a simulated device has no '{key}':{near} {it} has {}", KEYS.join(", ")));
    }
    for (key, value) in &table {
        if !takes(key, value.clone()) {
            return Err(format!("{key}={}: {}", shown(value), wanted(key)));
        }
    }
    if !table.contains_key("latency") {
        return Err("a simulated device needs a latency: latency=200us,iops-cap=20000".into());
    }
    serde_json::from_value(Value::Object(table)).map_err(|e| e.to_string())
}

/// Whether a key has a value of that form, beside the one key that is always needed.
fn takes(key: &str, value: Value) -> bool {
    let table = Map::from_iter([("latency".to_string(), Value::from("1ms")), (key.to_string(), value)]);
    serde_json::from_value::<Simulated>(Value::Object(table)).is_ok()
}

/// A value as it was typed.
fn shown(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_string)
}

/// The form that the value of a key must have.
fn wanted(key: &str) -> &'static str {
    match () {
        () if key == "page" => "write ebs",
        () if key.contains("bytes") => "write bytes a second, such as 350MB or 1GiB",
        () if takes(key, "1ms".into()) => "write a time, such as 200us or 10s",
        () if takes(key, 0.5.into()) => "write a number without unit, such as 20000 or 0.05",
        () => "write a whole number, such as 20000",
    }
}

impl Word for Simulated {
    const VALUE: &'static str = "KEY=VALUE,...";

    fn read(value: &Value) -> Result<Simulated, WordError> {
        match value {
            Value::Object(table) => of_table(table.clone()),
            Value::String(words) => words.parse(),
            other => Err(format!("{other} is no simulated device: write it as latency=200us,iops-cap=20000")),
        }
        .map_err(WordError)
    }

    fn show(&self) -> Option<Value> {
        serde_json::to_value(self).ok()
    }

    fn schema(generator: &mut SchemaGenerator) -> Schema {
        generator.subschema_for::<Simulated>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_keys_is_a_device() {
        let d: Simulated =
            "latency=200us, iops-cap=20000,stall_at=10s,stall-for=2s,noise=0.05".parse().unwrap();
        assert_eq!(
            (d.latency, d.iops_cap, d.stall_at),
            (Nanos::micros(200), Some(20_000.0), Some(Nanos::seconds(10)))
        );
        assert_eq!(d.uneven.noise, 0.05);
        assert_eq!(d.to_string().parse::<Simulated>().unwrap(), d);
        assert_eq!("latency=1ms".parse::<Simulated>().unwrap().to_string(), "latency=1ms");
        let toml = toml::to_string(&d).unwrap();
        assert!(toml.contains("iops-cap = 20000") && !toml.contains('_'), "{toml}");
        assert_eq!(toml::from_str::<Simulated>(&toml).unwrap(), d);
    }

    #[test]
    fn planted_causes_are_read_and_shown() {
        assert_eq!(
            "latency=1ms,bytes-cap=125MiB/s".parse::<Simulated>().unwrap().bytes_cap,
            Some(Bytes::mib(125))
        );
        let words = "latency=600us,cpu-per-io=20us,instance-bytes-cap=1GiB,instance-iops-cap=5000,others-iops=100,page=ebs,servers=8";
        let device: Simulated = words.parse().unwrap();
        assert_eq!((device.servers, device.cpu_per_io, device.others_iops), (8, Nanos::micros(20), 100.0));
        assert_eq!(device.to_string(), words);
        assert!("latency=600us,instance-iops-cap=7,cap-period=1s".parse::<Simulated>().is_ok());
    }

    #[test]
    fn every_key_is_known() {
        let schema = schemars::schema_for!(Simulated).to_value();
        let fields = schema["properties"].as_object().unwrap().keys();
        let sorted =
            |names: Vec<&str>| std::collections::BTreeSet::from_iter(names.into_iter().map(String::from));
        assert_eq!(sorted(KEYS.to_vec()), sorted(fields.map(String::as_str).collect()));
    }

    #[test]
    fn what_cannot_be_simulated_is_told() {
        let told = |words: &str| words.parse::<Simulated>().unwrap_err();
        assert!(told("latency=200us,speed=3").contains("no 'speed': it has latency, jitter"));
        assert!(told("latency=200us,iop-cap=3").contains("did you mean iops-cap? It has"));
        assert!(told("latency").contains("KEY=VALUE"));
        assert!(told("iops-cap=7").contains("latency"), "{}", told("iops-cap=7"));
        assert!(told("latency=soon").contains("latency=soon: write a time"));
        assert!(told("latency=200").contains("write 200us"));
        assert!(told("latency=1ms,iops-cap=20k").contains("iops-cap=20k: write a number"));
        assert!(told("latency=1ms,jitter=0.2").contains("jitter=0.2: write a time"));
        assert!(told("latency=1ms,burst_ios=many").contains("burst_ios=many: write a whole number"));
        assert!(told("latency=1ms,bytes-cap=fast").contains("bytes a second"));
        assert!(told("latency=1ms,latency=2ms").contains("twice"));
        assert!(told("latency=1ms,dip-for=3s").contains("dip-to"));
        assert!(told("latency=1ms,slow-share=2").contains("0 to 1"));
        // Keys that would plant nothing.
        for (words, needs) in [
            ("stall-at=1s", "stall-for"),
            ("dip-at=1s", "dip-for"),
            ("dip-to=0.5", "dip-for"),
            ("dip-every=9s", "dip-for"),
            ("rise-from=0.5", "rise-for"),
            ("slow-latency=9ms", "slow-share"),
            ("cap-period=1s", "iops-cap"),
            ("iops-cap=100,others-iops=100", "leaves nothing"),
            ("servers=2,others-iops=2000", "leaves nothing"),
            ("bytes-cap=1MiB,others-iops=256", "leaves nothing"),
            ("others-iops=-1", "a number of I/Os"),
            ("instance-iops-cap=0.5", "lets nothing through"),
            ("instance-bytes-cap=0", "lets nothing through"),
            ("instance-bytes-cap=fast", "bytes a second"),
            ("servers=few", "a whole number"),
            ("cpu-per-io=2", "write 20us"),
            ("page=azure", "write ebs"),
        ] {
            assert!(told(&format!("latency=1ms,{words}")).contains(needs), "{words}");
        }
    }
}
