//! A StorageClass: its parameters as its driver reads them, and findings about those that the driver refuses or ignores.
//!
//! The answer of a driver to a parameter is data (`crates/lint/data/lint.toml`). A message has the value of a
//! parameter only where it is a figure and lint knows the parameter.

use super::declared_volume::{BoughtField, DeclaredValue, DeclaredVolume, printable};
use super::field_names::{CsiDriver, ThroughputForm, UnknownParameter};
use super::lint_finding::{LintFinding, LintGrade};
use super::quantity::{Quantity, QuantitySuffix};
use super::terraform_volumes::with_level;
use super::yaml_node::YamlNode;
use volproof_base::misspelling::nearest;
use volproof_base::unit::{Bytes, grouped};

/// A StorageClass of a driver that lint knows.
pub struct StorageClass {
    /// Its name.
    pub name: String,
    /// Claims that name no class get this one.
    pub is_default: bool,
    /// The number of its file.
    pub file: usize,
    /// Findings about its parameters.
    pub findings: Vec<LintFinding>,
    driver: &'static CsiDriver,
    kind: DeclaredValue<String>,
    iops: BoughtField,
    iops_per_gib: BoughtField,
    throughput: BoughtField,
    raised: bool,
}

impl StorageClass {
    /// Reads the parameters of a StorageClass.
    pub fn read(object: &YamlNode, driver: &'static CsiDriver, name: String, file: usize) -> StorageClass {
        let annotation =
            object.at(&["metadata", "annotations", "storageclass.kubernetes.io/is-default-class"]);
        let is_default = annotation.and_then(YamlNode::text) == Some("true");
        let default = driver.default_kind.clone();
        let mut class = StorageClass {
            name,
            is_default,
            file,
            findings: Vec::new(),
            driver,
            kind: default.map_or(DeclaredValue::Unknown(TRIED_IN_TURN), DeclaredValue::Is),
            iops: BoughtField::default(),
            iops_per_gib: BoughtField::default(),
            throughput: BoughtField::default(),
            raised: false,
        };
        class.take_parameters(object);
        class
    }

    fn take_parameters(&mut self, object: &YamlNode) {
        let mut level = DeclaredValue::Absent;
        for (key, node) in object.get("parameters").map_or(&[][..], YamlNode::entries) {
            self.parameter(key, node, &mut level);
        }
        self.kind = with_level(std::mem::take(&mut self.kind), level);
        if self.iops.figure.known().is_some() && self.iops_per_gib.figure.known().is_some() {
            let (a, b) = (self.iops.name.clone(), self.iops_per_gib.name.clone());
            let text = format!(
                "{a} and {b} are both set: the driver takes one or the other, and refuses the two together"
            );
            self.find("both-iops", LintGrade::Refused, text, self.iops_per_gib.line);
            self.iops.figure = DeclaredValue::Unknown("is refused beside iopsPerGB");
            self.iops_per_gib.figure = DeclaredValue::Absent;
        }
    }

    fn find(&mut self, code: &'static str, grade: LintGrade, text: String, line: Option<usize>) {
        self.findings.push(LintFinding::about(code, grade, text).on(line));
    }

    fn parameter(&mut self, key: &str, node: &YamlNode, level: &mut DeclaredValue<String>) {
        let driver = self.driver;
        let line = Some(node.line);
        let names = &driver.performance;
        if !node.is_text() {
            let text = format!(
                "the value of {} is not a text, and Kubernetes takes only texts as parameters: put it in quotes",
                printable(key)
            );
            self.find("not-a-text", LintGrade::Refused, text, line);
        }
        let value = node.text().unwrap_or_default().trim();
        let given = driver.names().find(|name| driver.same(name, key));
        if names.kind.iter().any(|name| given == Some(name)) {
            self.kind = match value {
                "" | "available" | "dynamic" => DeclaredValue::Unknown(TRIED_IN_TURN),
                several if several.contains(',') => DeclaredValue::Unknown(TRIED_IN_TURN),
                kind => DeclaredValue::Is(kind.to_string()),
            };
        } else if given.is_some() && given == names.level.as_deref() {
            *level = match value {
                "" => DeclaredValue::Absent,
                several if several.contains(',') => DeclaredValue::Unknown(TRIED_IN_TURN),
                level => DeclaredValue::Is(level.to_string()),
            };
        } else if let Some(name) = given.filter(|name| *name == names.iops) {
            self.iops = self.whole(name, value, line);
        } else if let Some(name) = given.filter(|name| names.iops_per_gib.as_deref() == Some(name)) {
            self.iops_per_gib = self.whole(name, value, line);
        } else if given.is_some() && given == names.raise.as_deref() {
            self.raised = value.eq_ignore_ascii_case("true");
        } else if let Some(name) = given.filter(|name| names.throughput.as_deref() == Some(name)) {
            self.throughput = self.rate(name, value, line);
        } else if given.is_none() {
            self.other(key, line);
        }
    }

    /// A parameter that says nothing of performance, or is none.
    fn other(&mut self, key: &str, line: Option<usize>) {
        let driver = self.driver;
        let lower = key.to_ascii_lowercase();
        let mut prefixes = driver.prefixes.iter().map(|prefix| prefix.to_ascii_lowercase());
        if key.starts_with("csi.storage.k8s.io/") || prefixes.any(|prefix| lower.starts_with(&prefix)) {
            return;
        }
        let meant = nearest(&lower, driver.names().map(|n| (n.to_ascii_lowercase(), n)));
        let meant = meant.map(|name| format!("; did you mean {name}?")).unwrap_or_default();
        let (grade, what) = match driver.unknown {
            UnknownParameter::Refused => (LintGrade::Refused, "refuses"),
            UnknownParameter::Ignored => (LintGrade::Waste, "ignores"),
        };
        let text = format!("{} {what} the parameter {}{meant}", driver.name, printable(key));
        self.find("unknown-parameter", grade, text, line);
    }

    /// A whole number, as the drivers read them.
    fn whole(&mut self, name: &str, value: &str, line: Option<usize>) -> BoughtField {
        let figure = match value.parse::<u32>() {
            Ok(0) => DeclaredValue::Absent,
            Ok(n) => DeclaredValue::Is(f64::from(n)),
            Err(_) => {
                let text =
                    format!("{name} is no whole number without a unit, and the driver takes nothing else");
                self.find("not-a-number", LintGrade::Refused, text, line);
                DeclaredValue::Unknown("is no whole number")
            }
        };
        BoughtField { name: name.into(), figure, computed: false, line }
    }

    fn rate(&mut self, name: &str, value: &str, line: Option<usize>) -> BoughtField {
        if self.driver.performance.throughput_form != Some(ThroughputForm::Quantity) {
            return self.whole(name, value, line);
        }
        let figure = match Quantity::parse(value) {
            None => {
                let text = format!(
                    "{name} is no quantity of Kubernetes such as 250Mi, and the driver takes nothing else"
                );
                self.find("not-a-number", LintGrade::Refused, text, line);
                DeclaredValue::Unknown("is no quantity")
            }
            Some(quantity) => {
                let mib = quantity.round_up(Bytes::MIB);
                let given = grouped(quantity.bytes.0);
                match quantity.suffix {
                    QuantitySuffix::Bare if mib <= 1 => {
                        let text = format!(
                            "{name} is {given} bytes a second, and the driver makes 1 MiB/s of it: write {}Mi",
                            quantity.bytes.0.max(1)
                        );
                        self.find("throughput-unit", LintGrade::Waste, text, line);
                    }
                    QuantitySuffix::Decimal => {
                        let text = format!(
                            "{name} is a decimal quantity, {given} bytes a second: the driver buys {mib} MiB/s"
                        );
                        self.find("throughput-unit", LintGrade::Note, text, line);
                    }
                    _ => {}
                }
                DeclaredValue::Is(mib as f64)
            }
        };
        BoughtField { name: name.into(), figure, computed: false, line }
    }

    /// The volume that a claim of this size gets.
    pub fn volume(&self, gib: DeclaredValue<f64>) -> DeclaredVolume {
        let driver = self.driver;
        let iops = match (&self.iops_per_gib.figure, &gib) {
            (DeclaredValue::Is(n), DeclaredValue::Is(gib)) => {
                BoughtField { figure: DeclaredValue::Is(n * gib), ..self.iops_per_gib.clone() }
            }
            _ => self.iops.clone(),
        };
        let mut volume = DeclaredVolume {
            copies: 1,
            provider: driver.provider.clone(),
            kind: self.kind.clone(),
            gib,
            iops,
            throughput: self.throughput.clone(),
            above: Some(driver.above),
            raised: self.raised,
            quiet: driver.quiet,
            ..DeclaredVolume::default()
        };
        let bought = driver
            .defaults
            .iter()
            .find(|d| volume.kind.known().is_some_and(|k| k.eq_ignore_ascii_case(&d.kind)));
        if let Some(bought) = bought {
            for (field, figure) in
                [(&mut volume.iops, bought.iops), (&mut volume.throughput, bought.throughput)]
            {
                if field.figure == DeclaredValue::Absent {
                    *field = BoughtField {
                        name: "the driver's default".into(),
                        figure: DeclaredValue::Is(figure),
                        ..BoughtField::default()
                    };
                }
            }
        }
        volume
    }
}

/// Why a volume type is not known.
const TRIED_IN_TURN: &str = "is one of several that the driver tries in turn";
