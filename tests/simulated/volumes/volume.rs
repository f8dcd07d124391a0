//! A simulated volume with the load that tests it, as a plan file and as a fluid.

use std::fmt::{Display, Formatter};

use super::fluid::{Device, FluidLoad};

/// Types of a made-up provider's catalogue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// 400 IOPS, 100 MB/s.
    Plain,
    /// The same, "at least 90 % of both, 99 % of the time".
    Timed,
    /// The same, with a burst of 1,200 IOPS for 30 minutes.
    Bursty,
}

impl Kind {
    pub const ALL: [Kind; 3] = [Kind::Plain, Kind::Timed, Kind::Bursty];

    pub fn name(self) -> &'static str {
        match self {
            Kind::Plain => "plain",
            Kind::Timed => "timed",
            Kind::Bursty => "bursty",
        }
    }

    /// Lines of the catalogue beyond those of the plain type.
    pub fn lines(self) -> &'static str {
        match self {
            Kind::Plain => "",
            Kind::Timed => {
                "consistency = \"at least 90 % of both, 99 % of the time\"\n\
                 guarantee = { of = [\"iops\", \"throughput\"], level = 0.9, time = 0.99 }\n"
            }
            Kind::Bursty => "burst = { iops = 1200, credit_seconds = 1800 }\n",
        }
    }
}

/// IOPS that each type promises.
pub const IOPS: f64 = 400.0;
/// Blocks of 1 MiB a second that the 100 MB/s of each type are.
pub const BLOCKS: f64 = 100e6 / 1_048_576.0;
/// Rate of the burst of the bursty type over its baseline.
pub const BURST: f64 = 3.0;

/// A volume and its test.
#[derive(Clone, Debug)]
pub struct Volume {
    pub class: &'static str,
    pub kind: Kind,
    /// Its limits; the latency is that of ordinary I/Os, at least.
    pub device: Device,
    /// Latencies are drawn evenly up to so much longer, in seconds.
    pub jitter: f64,
    /// Share and latency of slow I/Os.
    pub slow: Option<(f64, f64)>,
    /// Blocks of 1 MiB under a cap on bytes, instead of 4 KiB under one on I/Os.
    pub in_bytes: bool,
    pub test: Test,
}

/// The planned step.
#[derive(Clone, Debug)]
pub struct Test {
    pub pattern: &'static str,
    pub jobs: u32,
    /// Requests in flight of each job.
    pub depth: u32,
    /// I/Os a second that are offered, as a share of the promise.
    pub offered: Option<f64>,
    pub seconds: u32,
    pub ramp: u32,
    /// Volumes of that type under one step.
    pub targets: u32,
    pub seed: u64,
}

impl Volume {
    /// The promise of one volume, in I/Os of this test a second.
    pub fn promised(&self) -> f64 {
        if self.in_bytes { BLOCKS } else { IOPS }
    }

    /// Requests on one volume that no promise exceeds.
    pub fn saturating(&self) -> u64 {
        let targets = f64::from(self.test.targets);
        let half_a_second = self.promised() * targets * 0.5;
        let least = if self.in_bytes { 32.0 } else { 256.0 };
        (half_a_second.max(least) / targets).ceil() as u64
    }

    /// The load of the planned step on one volume.
    pub fn first(&self) -> FluidLoad {
        let depth = u64::from(self.test.depth * self.test.jobs);
        FluidLoad { depth, offered: self.test.offered.map(|share| share * self.promised()) }
    }

    /// The load that shows all that one volume can do.
    pub fn deepest(&self) -> FluidLoad {
        let first = if self.test.offered.is_some() { 0 } else { self.first().depth };
        FluidLoad { depth: self.saturating().max(first), offered: None }
    }

    /// Its limits with the mean of all latencies.
    pub fn fluid(&self) -> Device {
        let (share, slow) = self.slow.unwrap_or((0.0, 0.0));
        let mean = (1.0 - share) * self.device.latency + share * slow + self.jitter / 2.0;
        Device { latency: mean, ..self.device }
    }

    /// The plan file of its test.
    pub fn plan(&self) -> String {
        let t = &self.test;
        let bs = if self.in_bytes { "1m" } else { "4k" };
        let mut lines = vec![
            "[[step]]\nname = \"v\"\nengine = \"null\"".to_string(),
            format!("rw = \"{}\"\nbs = \"{bs}\"\niodepth = {}\nnumjobs = {}", t.pattern, t.depth, t.jobs),
            format!("runtime = \"{}s\"\nramp = \"{}s\"", t.seconds, t.ramp),
        ];
        if let Some(share) = t.offered {
            lines.push(format!("rate-iops = {:.3}", share * self.promised()));
        }
        lines.push("[step.simulate]".into());
        lines.extend(self.keys().into_iter().map(|(key, value)| format!("{key} = {value}")));
        lines.join("\n") + "\n"
    }

    /// The keys of the simulated device.
    fn keys(&self) -> Vec<(&'static str, String)> {
        let d = &self.device;
        let time = |seconds: f64| format!("\"{}us\"", (seconds * 1e6).round());
        let mut keys = vec![("latency", time(d.latency)), ("jitter", time(self.jitter))];
        if d.cap.is_finite() {
            let cap = if self.in_bytes { (d.cap * 1_048_576.0).round() } else { d.cap };
            keys.push((if self.in_bytes { "bytes-cap" } else { "iops-cap" }, cap.to_string()));
            keys.push(("cap-period", time(d.period)));
        }
        if let Some((share, latency)) = self.slow {
            keys.extend([("slow-share", share.to_string()), ("slow-latency", time(latency))]);
        }
        if let Some(s) = d.stall {
            keys.extend([
                ("stall-at", time(s.at)),
                ("stall-for", time(s.length)),
                ("stall-every", time(s.every)),
            ]);
        }
        if let Some(dip) = d.dip {
            keys.extend([
                ("dip-at", time(dip.at)),
                ("dip-for", time(dip.length)),
                ("dip-to", dip.to.to_string()),
            ]);
            if dip.every.is_finite() {
                keys.push(("dip-every", time(dip.every)));
            }
        }
        if let Some(rise) = d.rise {
            keys.extend([("rise-from", rise.from.to_string()), ("rise-for", time(rise.length))]);
        }
        if d.drift != 0.0 {
            keys.push(("drift", d.drift.to_string()));
        }
        if let Some(burst) = d.burst {
            keys.extend([
                ("burst-iops", burst.rate.to_string()),
                ("burst-ios", burst.ios.round().to_string()),
            ]);
        }
        if let Some(noise) = d.noise {
            keys.extend([("noise", noise.size.to_string()), ("noise-memory", noise.memory.to_string())]);
        }
        keys
    }
}

impl Display for Volume {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let t = &self.test;
        write!(f, "[{}] {}, {} {}x{}", self.class, self.kind.name(), t.pattern, t.jobs, t.depth)?;
        if let Some(share) = t.offered {
            write!(f, " offered {share:.3}")?;
        }
        write!(f, ", {} s + {} s, {} targets, seed {}:", t.seconds, t.ramp, t.targets, t.seed)?;
        for (key, value) in self.keys() {
            write!(f, " {key}={}", value.trim_matches('"'))?;
        }
        if self.device.cap.is_finite() {
            write!(f, " (cap {:.3} of the promise)", self.device.cap / self.promised())?;
        }
        Ok(())
    }
}
