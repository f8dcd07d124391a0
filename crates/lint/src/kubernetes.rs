//! The volumes that objects of Kubernetes declare: claims, templates of claims in a StatefulSet, and volumes, each through its StorageClass.
//!
//! A class may stand in another file than its claims. A claim whose class is in none of the files has no promise, and the answer
//! says why.

use std::collections::{BTreeMap, HashSet};
use std::rc::Rc;

use super::declared_volume::{DeclaredValue, DeclaredVolume, printable};
use super::field_names::FieldNames;
use super::lint_finding::{LintFinding, LintGrade};
use super::quantity::{Quantity, QuantitySuffix};
use super::storage_class::StorageClass;
use super::yaml_node::YamlNode;
use volproof_base::unit::{Bytes, grouped, significant};

/// A claim of a volume.
struct VolumeClaim {
    address: String,
    file: usize,
    line: usize,
    copies: u64,
    class: Option<String>,
    /// A VolumeAttributesClass stands above its StorageClass.
    has_attributes: bool,
    /// The PersistentVolume that it is bound to.
    bound: Option<String>,
    gib: DeclaredValue<f64>,
    findings: Vec<LintFinding>,
}

/// Where a claim says how much it asks for.
const REQUEST: [&str; 4] = ["spec", "resources", "requests", "storage"];

/// All objects of all files.
#[derive(Default)]
pub struct KubernetesObjects {
    claims: Vec<VolumeClaim>,
    /// Classes of the drivers that lint knows.
    pub classes: Vec<StorageClass>,
    /// Classes of other provisioners, by name.
    foreign_classes: Vec<String>,
    /// Kinds of objects that were skipped and how many there are.
    pub skipped: BTreeMap<String, u64>,
}

impl KubernetesObjects {
    /// Adds the documents of a file. Returns how many of its documents are objects of Kubernetes.
    pub fn add(&mut self, documents: &[Rc<YamlNode>], file: usize) -> usize {
        documents.iter().map(|document| self.object(document, file, 0)).sum()
    }

    fn object(&mut self, object: &YamlNode, file: usize, lists: usize) -> usize {
        let [kind, version] = ["kind", "apiVersion"].map(|key| object.get(key).and_then(YamlNode::text));
        let (Some(kind), Some(_)) = (kind, version) else { return 0 };
        let items = object.get("items").map(YamlNode::items);
        match (kind, items) {
            (list, Some(items)) if list.ends_with("List") && lists < 4 => {
                for item in items {
                    self.object(item, file, lists + 1);
                }
            }
            ("StorageClass", _) => self.class(object, file),
            ("PersistentVolumeClaim", _) => self.claim(object, file),
            ("PersistentVolume", _) => self.volume(object, file),
            ("StatefulSet", _) => self.templates(object, file),
            (kind, _) => self.skip(&printable(kind)),
        }
        1
    }

    fn skip(&mut self, kind: &str) {
        *self.skipped.entry(kind.to_string()).or_default() += 1;
    }

    fn class(&mut self, object: &YamlNode, file: usize) {
        let name = object.at(&["metadata", "name"]).and_then(YamlNode::text).unwrap_or_default().to_string();
        let provisioner = object.get("provisioner").and_then(YamlNode::text).unwrap_or_default();
        match FieldNames::shipped().driver(provisioner) {
            Some(driver) => self.classes.push(StorageClass::read(object, driver, name, file)),
            None => {
                self.skip("StorageClass of another provisioner");
                self.foreign_classes.push(name);
            }
        }
    }

    /// A volume as one object declares it, with its size at `request`.
    fn declared(object: &YamlNode, file: usize, address: String, request: &[&str]) -> VolumeClaim {
        let (gib, findings) = size(object.at(request));
        VolumeClaim {
            address,
            file,
            line: object.line,
            copies: 1,
            class: object.at(&["spec", "storageClassName"]).and_then(YamlNode::text).map(str::to_string),
            has_attributes: object
                .at(&["spec", "volumeAttributesClassName"])
                .and_then(YamlNode::text)
                .is_some(),
            bound: None,
            gib,
            findings,
        }
    }

    fn claim(&mut self, object: &YamlNode, file: usize) {
        let address = format!("PersistentVolumeClaim {}", full_name(object));
        let bound = object.at(&["spec", "volumeName"]).and_then(YamlNode::text).map(str::to_string);
        self.claims.push(VolumeClaim { bound, ..Self::declared(object, file, address, &REQUEST) });
    }

    fn templates(&mut self, object: &YamlNode, file: usize) {
        let templates = object.at(&["spec", "volumeClaimTemplates"]).map_or(&[][..], YamlNode::items);
        if templates.is_empty() {
            return self.skip("StatefulSet without a template of claims");
        }
        let replicas = object.at(&["spec", "replicas"]).and_then(YamlNode::text);
        let replicas = replicas.and_then(|n| n.parse().ok()).unwrap_or(1);
        for template in templates {
            let name = template.at(&["metadata", "name"]).and_then(YamlNode::text).unwrap_or("unnamed");
            let address = format!("StatefulSet {}: {}", full_name(object), printable(name));
            let claim = Self::declared(template, file, address, &REQUEST);
            self.claims.push(VolumeClaim { copies: replicas, ..claim });
        }
    }

    fn volume(&mut self, object: &YamlNode, file: usize) {
        let names = FieldNames::shipped();
        let driver = object.at(&["spec", "csi", "driver"]).and_then(YamlNode::text);
        if driver.is_none_or(|name| names.driver(name).is_none()) {
            return self.skip("PersistentVolume of another driver");
        }
        let address = format!("PersistentVolume {}", full_name(object));
        self.claims.push(Self::declared(object, file, address, &["spec", "capacity", "storage"]));
    }

    /// The volumes of all claims.
    pub fn volumes(&self) -> Vec<DeclaredVolume> {
        let bound = self.claims.iter().filter_map(|claim| claim.bound.as_deref());
        let bound: HashSet<String> =
            bound.map(|name| format!("PersistentVolume {}", printable(name))).collect();
        self.claims.iter().filter(|c| !bound.contains(&c.address)).map(|claim| self.of_claim(claim)).collect()
    }

    fn of_claim(&self, claim: &VolumeClaim) -> DeclaredVolume {
        let volume = match self.class_of(claim) {
            Ok(class) => {
                let mut volume = class.volume(claim.gib.clone());
                // A line is one of the claim's file.
                if class.file != claim.file {
                    (volume.iops.line, volume.throughput.line) = (None, None);
                }
                volume
            }
            Err(why) => DeclaredVolume {
                kind: DeclaredValue::Unknown(why),
                gib: claim.gib.clone(),
                ..DeclaredVolume::default()
            },
        };
        DeclaredVolume {
            address: claim.address.clone(),
            file: claim.file,
            line: Some(claim.line),
            copies: claim.copies,
            findings: claim.findings.clone(),
            ..volume
        }
    }

    /// The class that says of what type a claim's volume is; else what is known of the type, in words.
    fn class_of(&self, claim: &VolumeClaim) -> Result<&StorageClass, &'static str> {
        let class = match &claim.class {
            None => self.classes.iter().find(|c| c.is_default),
            Some(name) => self.classes.iter().find(|c| c.name == *name && !name.is_empty()),
        };
        match (class, &claim.class) {
            (Some(_), _) if claim.has_attributes => {
                Err("may be another by a VolumeAttributesClass, which lint does not read")
            }
            (Some(class), _) => Ok(class),
            (None, None) => Err("is that of the cluster's default class, which no file declares"),
            (None, Some(name)) if name.is_empty() => Err("is that of a volume that is made by hand"),
            (None, Some(name)) if self.foreign_classes.contains(name) => {
                Err("is that of a provisioner that is not known here")
            }
            (None, Some(_)) => Err("is that of a class that no file declares"),
        }
    }
}

/// `namespace/name`.
fn full_name(object: &YamlNode) -> String {
    let [name, generated, namespace] = ["name", "generateName", "namespace"]
        .map(|key| object.at(&["metadata", key]).and_then(YamlNode::text).map(printable));
    let name = name.or(generated).unwrap_or_else(|| "unnamed".into());
    match namespace {
        Some(namespace) => format!("{namespace}/{name}"),
        None => name,
    }
}

/// A size in GiB, rounded up as the drivers do, and findings about its unit.
fn size(node: Option<&YamlNode>) -> (DeclaredValue<f64>, Vec<LintFinding>) {
    let Some((text, line)) = node.and_then(|n| Some((n.text()?, n.line))) else {
        return (DeclaredValue::Unknown("is not set"), Vec::new());
    };
    let Some(quantity) = Quantity::parse(text.trim()) else {
        let finding = LintFinding::about(
            "not-a-number",
            LintGrade::Refused,
            "the size is no quantity of Kubernetes such as 100Gi",
        );
        return (DeclaredValue::Unknown("is no quantity"), vec![finding.on(Some(line))]);
    };
    let gib = quantity.round_up(Bytes::GIB);
    let exact = significant(quantity.bytes.0 as f64 / Bytes::GIB.0 as f64);
    let finding = match quantity.suffix {
        QuantitySuffix::Bare if quantity.bytes < Bytes::MIB => Some(LintFinding::about(
            "size-unit",
            LintGrade::Waste,
            format!(
                "the size is {} bytes, which the driver rounds up to 1 GiB: a size in GiB ends with Gi, as in {}Gi",
                grouped(quantity.bytes.0),
                quantity.bytes.0
            ),
        )),
        QuantitySuffix::Decimal => Some(LintFinding::about(
            "size-unit",
            LintGrade::Note,
            format!("the size is decimal, {exact} GiB: the driver makes a volume of {} GiB", grouped(gib)),
        )),
        _ => None,
    };
    let findings = finding.into_iter().map(|f| f.on(Some(line))).collect();
    (DeclaredValue::Is(gib.max(1) as f64), findings)
}
