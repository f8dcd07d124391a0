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
    caching: Option<String>,
    in_tree: bool,
}

impl StorageClass {
    /// Reads the parameters of a StorageClass.
    pub fn read(object: &YamlNode, driver: &'static CsiDriver, name: String, file: usize) -> StorageClass {
        let provisioner = object.get("provisioner").and_then(YamlNode::text);
        let plugin = driver.in_tree.as_ref().filter(|plugin| provisioner == Some(&plugin.provisioner));
        let kind =
            driver.default_kind.clone().map_or(DeclaredValue::Unknown(TRIED_IN_TURN), DeclaredValue::Is);
        let mut class = Self::empty(object, driver, name, file);
        (class.kind, class.in_tree) = (kind, plugin.is_some());
        // The driver raises what such a class asks for, where that is below the least.
        class.raised = plugin.is_some();
        if let Some(plugin) = plugin {
            let text = format!(
                "{} is a part of Kubernetes that version {} removed: {} makes the volume",
                plugin.provisioner, plugin.removed, driver.name
            );
            class.find("in-tree", LintGrade::Note, text, Some(object.line));
        }
        class.with_parameters(object, |key| key)
    }

    /// Reads the parameters of a VolumeAttributesClass: what it leaves out stays as the StorageClass has it.
    pub fn read_attributes(
        object: &YamlNode,
        driver: &'static CsiDriver,
        name: String,
        file: usize,
    ) -> StorageClass {
        let is = |name: &Option<String>, key: &str| name.as_ref().is_some_and(|name| driver.same(name, key));
        Self::empty(object, driver, name, file).with_parameters(object, |key| match key {
            key if is(&driver.modify_iops, key) => &driver.iops,
            key if is(&driver.modify_throughput, key) => driver.throughput.as_deref().unwrap_or(key),
            key => key,
        })
    }

    fn empty(object: &YamlNode, driver: &'static CsiDriver, name: String, file: usize) -> StorageClass {
        let annotation = [
            "storageclass.kubernetes.io/is-default-class",
            "storageclass.beta.kubernetes.io/is-default-class",
        ];
        let is_default = annotation
            .iter()
            .any(|key| object.at(&["metadata", "annotations", key]).and_then(YamlNode::text) == Some("true"));
        StorageClass {
            name,
            is_default,
            file,
            findings: Vec::new(),
            driver,
            kind: DeclaredValue::Absent,
            iops: BoughtField::default(),
            iops_per_gib: BoughtField::default(),
            throughput: BoughtField::default(),
            raised: false,
            caching: None,
            in_tree: false,
        }
    }

    /// With the parameters of an object, each under the name that a StorageClass has for it.
    fn with_parameters<'k>(
        mut self,
        object: &'k YamlNode,
        name: impl Fn(&'k str) -> &'k str,
    ) -> StorageClass {
        let class = &mut self;
        let mut level = DeclaredValue::Absent;
        for (key, node) in object.get("parameters").map_or(&[][..], YamlNode::entries) {
            class.parameter(name(key), node, &mut level);
        }
        class.kind = with_level(std::mem::take(&mut class.kind), level);
        if class.iops.figure.known().is_some() && class.iops_per_gib.figure.known().is_some() {
            let (a, b) = (class.iops.name.clone(), class.iops_per_gib.name.clone());
            let text = format!(
                "{a} and {b} are both set: the driver takes one or the other, and refuses the two together"
            );
            class.find("both-iops", LintGrade::Refused, text, class.iops_per_gib.line);
            class.iops.figure = DeclaredValue::Unknown("is refused beside iopsPerGB");
            class.iops_per_gib.figure = DeclaredValue::Absent;
        }
        self
    }

    fn find(&mut self, code: &'static str, grade: LintGrade, text: String, line: Option<usize>) {
        self.findings.push(LintFinding::about(code, grade, text).on(line));
    }

    fn parameter(&mut self, key: &str, node: &YamlNode, level: &mut DeclaredValue<String>) {
        let driver = self.driver;
        let line = Some(node.line);
        let is = |name: &Option<String>| name.as_ref().is_some_and(|name| driver.same(name, key));
        if !node.is_text() {
            let text = format!(
                "the value of {} is not a text, and Kubernetes takes only texts as parameters: put it in quotes",
                printable(key)
            );
            self.find("not-a-text", LintGrade::Refused, text, line);
        }
        let value = node.text().unwrap_or_default().trim();
        if driver.kind.iter().any(|name| driver.same(name, key)) {
            self.kind = match value {
                "" | "available" | "dynamic" => DeclaredValue::Unknown(TRIED_IN_TURN),
                several if several.contains(',') => DeclaredValue::Unknown(TRIED_IN_TURN),
                kind => DeclaredValue::Is(kind.to_string()),
            };
        } else if is(&driver.level) {
            *level = match value {
                "" => DeclaredValue::Absent,
                several if several.contains(',') => DeclaredValue::Unknown(TRIED_IN_TURN),
                level => DeclaredValue::Is(level.to_string()),
            };
        } else if driver.same(&driver.iops, key) {
            self.iops = self.whole(&driver.iops, value, line);
        } else if is(&driver.iops_per_gib) {
            self.iops_per_gib = self.whole(driver.iops_per_gib.as_deref().unwrap_or(key), value, line);
        } else if is(&driver.raise) {
            self.raised = value.eq_ignore_ascii_case("true");
        } else if is(&driver.caching) {
            self.caching = (!value.is_empty()).then(|| value.to_string());
        } else if is(&driver.throughput) {
            self.throughput = self.rate(driver.throughput.as_deref().unwrap_or(key), value, line);
        } else {
            self.other(key, line);
        }
    }

    /// A parameter that says nothing of performance, or is none.
    fn other(&mut self, key: &str, line: Option<usize>) {
        let driver = self.driver;
        let begins = |prefix: &String| key.to_ascii_lowercase().starts_with(&prefix.to_ascii_lowercase());
        let of_plugin = driver.in_tree.iter().filter(|_| self.in_tree).flat_map(|p| &p.parameters);
        let known = driver.names().chain(of_plugin.map(String::as_str)).any(|name| driver.same(name, key));
        if known || key.starts_with("csi.storage.k8s.io/") || driver.prefixes.iter().any(begins) {
            return;
        }
        let meant = nearest(&key.to_ascii_lowercase(), driver.names().map(|n| (n.to_ascii_lowercase(), n)));
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
        if self.driver.throughput_form != Some(ThroughputForm::Quantity) {
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

    /// The volume that a claim of this size gets, with the figures of its VolumeAttributesClass.
    pub fn volume(&self, gib: DeclaredValue<f64>, attributes: Option<&StorageClass>) -> DeclaredVolume {
        let driver = self.driver;
        let attributes = attributes.filter(|a| a.driver.name == driver.name);
        let kind = attributes.map(|a| &a.kind).filter(|kind| **kind != DeclaredValue::Absent);
        let kind = kind.unwrap_or(&self.kind);
        let set = |field: fn(&StorageClass) -> &BoughtField| {
            attributes.map(field).filter(|field| field.figure != DeclaredValue::Absent)
        };
        let per_gib = match (&self.iops_per_gib.figure, &gib) {
            (DeclaredValue::Is(n), DeclaredValue::Is(gib)) => Some(n * gib),
            _ => None,
        };
        let mut volume = DeclaredVolume {
            copies: 1,
            provider: driver.provider.clone(),
            kind: kind.clone(),
            gib,
            iops: match per_gib.filter(|_| set(|a| &a.iops).is_none()) {
                Some(iops) => BoughtField { figure: DeclaredValue::Is(iops), ..self.iops_per_gib.clone() },
                None => set(|a| &a.iops).unwrap_or(&self.iops).clone(),
            },
            throughput: set(|a| &a.throughput).unwrap_or(&self.throughput).clone(),
            caching: self.caching.clone(),
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
