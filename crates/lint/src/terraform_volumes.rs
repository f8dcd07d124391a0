//! The volumes of a Terraform plan: resources and blocks that are volumes, and the instances that they are attached to.
//!
//! An attachment is matched by the id where the plan knows it, and else by what its configuration refers to. Where several resources may be
//! meant, the volume has no instance: no cap is better than a wrong one.

use std::collections::HashMap;

use serde_json::Value;

use super::declared_volume::{BoughtField, DeclaredInstance, DeclaredValue, DeclaredVolume, printable};
use super::field_names::{AboveMost, FieldNames, InstanceFields, VolumeFields};
use super::terraform_plan::{
    FieldView, PlanDocument, PlannedField, PlannedResource, TerraformPlan, without_indexes,
};
use super::terraform_references::ModuleConfiguration;

/// The volumes of a file, each with its instance, and the types of resources that were skipped; `None` where there are too many.
pub(super) fn read(document: &PlanDocument, file: usize) -> Option<(Vec<DeclaredVolume>, TerraformPlan)> {
    let names = FieldNames::shipped();
    let plan = document.plan(&|kind| names.knows(kind))?;
    let attached = Attachments { names, plan: &plan, configuration: document.configuration() }.all();
    let mut volumes = Vec::new();
    for resource in plan.resources.iter().filter(|r| !r.is_data) {
        for fields in names.volumes.iter().filter(|f| f.resource == resource.kind) {
            for (block, view) in resource.view().blocks(&fields.block) {
                let Some(mut volume) = volume(fields, view) else { continue };
                let address = printable(&resource.address);
                volume.instance = match names.instances.iter().find(|i| i.resource == resource.kind) {
                    Some(instance) => Some(declared(resource, instance)),
                    None => attached.get(resource.address.as_str()).cloned(),
                };
                volume.address = match (block.as_str(), fields.prefix.trim_end_matches('_')) {
                    ("", "") => address,
                    ("", prefix) => format!("{address}: {prefix}"),
                    (block, _) => format!("{address}: {block}"),
                };
                volume.file = file;
                volumes.push(volume);
            }
        }
    }
    Some((volumes, plan))
}

/// The volume that the fields of a resource or block declare. `None` for a disk that is not declared at all, but left to an image.
fn volume(fields: &VolumeFields, view: FieldView) -> Option<DeclaredVolume> {
    let kind = match (text(fields.field(view, &fields.kind)), &fields.default_kind) {
        (DeclaredValue::Absent, Some(default)) => DeclaredValue::Is(default.clone()),
        (DeclaredValue::Absent, None) => DeclaredValue::Unknown("is that of the image"),
        (kind, _) => kind,
    };
    let gib = number(fields.field(view, &fields.size)).0;
    if gib == DeclaredValue::Absent && matches!(kind, DeclaredValue::Unknown(_)) && !fields.prefix.is_empty()
    {
        return None;
    }
    let level = fields.level.as_ref().map_or(DeclaredValue::Absent, |name| text(fields.field(view, name)));
    let [iops, throughput] =
        [&fields.iops, &fields.throughput].map(|name| fields.bought(view, name.as_deref()?));
    Some(DeclaredVolume {
        copies: 1,
        provider: fields.provider.clone(),
        kind: with_level(kind, level),
        tier: fields.tier.as_ref().and_then(|name| text(fields.field(view, name)).known().cloned()),
        gib: match gib {
            DeclaredValue::Absent => DeclaredValue::Unknown("is not set: it is that of a snapshot or image"),
            gib => gib,
        },
        iops: iops.unwrap_or_default(),
        throughput: throughput.unwrap_or_default(),
        above: Some(AboveMost::Refused),
        ..DeclaredVolume::default()
    })
}

impl VolumeFields {
    fn field<'v>(&self, view: FieldView<'v>, name: &str) -> PlannedField<'v> {
        view.field(&format!("{}{name}", self.prefix))
    }

    /// A bought figure.
    fn bought(&self, view: FieldView, name: &str) -> Option<BoughtField> {
        let (figure, computed) = number(self.field(view, name));
        Some(BoughtField { name: format!("{}{name}", self.prefix), figure, computed, line: None })
    }
}

/// The type with its performance level: `cloud_essd` and `PL2` are `cloud_essd.PL2`. Google names types by the end of a URL.
pub fn with_level(kind: DeclaredValue<String>, level: DeclaredValue<String>) -> DeclaredValue<String> {
    match (kind, level) {
        (DeclaredValue::Is(kind), DeclaredValue::Unknown(why)) if kind == "cloud_essd" => {
            DeclaredValue::Unknown(why)
        }
        (DeclaredValue::Is(kind), DeclaredValue::Is(level)) if kind == "cloud_essd" => {
            DeclaredValue::Is(format!("{kind}.{level}"))
        }
        (DeclaredValue::Is(kind), _) => DeclaredValue::Is(last_part(&kind)),
        (kind, _) => kind,
    }
}

fn last_part(url: &str) -> String {
    url.rsplit('/').next().unwrap_or(url).to_string()
}

fn text(field: PlannedField) -> DeclaredValue<String> {
    match field {
        PlannedField::Is(Value::String(text), _) if !text.is_empty() => DeclaredValue::Is(text.clone()),
        PlannedField::Is(Value::String(_), _) | PlannedField::Absent => DeclaredValue::Absent,
        PlannedField::Is(..) => DeclaredValue::Unknown("is no text"),
        PlannedField::Unknown(why) => DeclaredValue::Unknown(why),
    }
}

/// A number, and whether the provider may have filled it in. 0 is how providers store a field that is not set.
fn number(field: PlannedField) -> (DeclaredValue<f64>, bool) {
    match field {
        PlannedField::Absent => (DeclaredValue::Absent, false),
        PlannedField::Unknown(why) => (DeclaredValue::Unknown(why), false),
        PlannedField::Is(value, computed) => {
            let number = value.as_f64().or_else(|| value.as_str()?.trim().parse().ok());
            match number.filter(|n: &f64| n.is_finite()) {
                Some(0.0) => (DeclaredValue::Absent, computed),
                Some(n) => (DeclaredValue::Is(n), computed),
                None => (DeclaredValue::Unknown("is no number"), computed),
            }
        }
    }
}

fn declared(resource: &PlannedResource, fields: &InstanceFields) -> DeclaredInstance {
    let size = text(resource.view().field(&fields.size));
    let size = size.known().map(|s| last_part(s));
    DeclaredInstance { address: printable(&resource.address), size }
}

/// The way from volumes to instances.
struct Attachments<'p> {
    names: &'static FieldNames,
    plan: &'p TerraformPlan,
    configuration: Option<&'p ModuleConfiguration<'p>>,
}

impl<'p> Attachments<'p> {
    /// The instance of each attached volume, by the volume's address.
    fn all(&self) -> HashMap<&'p str, DeclaredInstance> {
        let kinds_of_volumes: Vec<&str> = self.names.volumes.iter().map(|v| v.resource.as_str()).collect();
        let kinds_of_instances: Vec<&str> =
            self.names.instances.iter().map(|i| i.resource.as_str()).collect();
        let by_name = ByName::new(self.plan);
        let mut found = HashMap::new();
        for resource in self.plan.resources.iter().filter(|r| !r.is_data) {
            for attachment in self.names.attachments.iter().filter(|a| a.resource == resource.kind) {
                let volume = self.target(resource, &attachment.volume, &kinds_of_volumes, &by_name);
                let instance = self.target(resource, &attachment.instance, &kinds_of_instances, &by_name);
                if let (Some(volume), Some(instance)) = (volume, instance)
                    && let Some(fields) = self.names.instances.iter().find(|i| i.resource == instance.kind)
                {
                    found.insert(volume.address.as_str(), declared(instance, fields));
                }
            }
            for fields in self.names.instances.iter().filter(|i| i.resource == resource.kind) {
                for path in &fields.attached {
                    for volume in self.named_or_referred(resource, path, &kinds_of_volumes, &by_name) {
                        found.insert(volume.address.as_str(), declared(resource, fields));
                    }
                }
            }
        }
        found
    }

    /// The volumes that blocks of an instance name. A reference tells of one block only.
    fn named_or_referred(
        &self,
        resource: &PlannedResource,
        path: &str,
        kinds: &[&str],
        by_name: &ByName<'p>,
    ) -> Vec<&'p PlannedResource> {
        let (blocks, field) = path.rsplit_once('.').unwrap_or(("", path));
        let blocks = resource.view().blocks(blocks);
        let named: Vec<_> = blocks
            .iter()
            .filter_map(|(_, view)| by_name.find(text(view.field(field)).known()?, kinds))
            .collect();
        match blocks.len() {
            1 if named.is_empty() => self.referred(resource, path, kinds, by_name).into_iter().collect(),
            _ => named,
        }
    }

    fn target(
        &self,
        resource: &PlannedResource,
        field: &str,
        kinds: &[&str],
        by_name: &ByName<'p>,
    ) -> Option<&'p PlannedResource> {
        match text(resource.view().field(field)).known() {
            Some(name) => by_name.find(name, kinds),
            None => self.referred(resource, field, kinds, by_name),
        }
    }

    /// The resource that the configuration refers to; `None` where it may be one of several.
    fn referred(
        &self,
        resource: &PlannedResource,
        field: &str,
        kinds: &[&str],
        by_name: &ByName<'p>,
    ) -> Option<&'p PlannedResource> {
        let referred = self.configuration?.referred(&without_indexes(&resource.address), field, kinds)?;
        let all = by_name.of_configuration.get(&referred.address)?;
        // An instance of a module refers to its own resources.
        let module = module_of(resource);
        let own: Vec<_> = all.iter().copied().filter(|r| module_of(r) == module).collect();
        let all = if own.is_empty() { all.clone() } else { own };
        let index = referred.index.or_else(|| {
            let bare = resource.address.trim_end_matches(|c| c != '[').trim_end_matches('[');
            resource.address.ends_with(']').then(|| resource.address[bare.len()..].to_string())
        });
        match (all.as_slice(), index) {
            ([one], _) => Some(one),
            (several, Some(index)) => {
                let mut meant = several.iter().filter(|r| r.address.ends_with(&index));
                let first = meant.next()?;
                meant.next().is_none().then_some(*first)
            }
            _ => None,
        }
    }
}

/// The part of an address before the resource: `module.a[0].`.
fn module_of(resource: &PlannedResource) -> &str {
    let end = resource.address.rfind(&format!("{}.", resource.kind)).unwrap_or(0);
    &resource.address[..end]
}

/// The resources of a plan by the texts that name them.
struct ByName<'p> {
    of_configuration: HashMap<String, Vec<&'p PlannedResource>>,
    of_provider: HashMap<&'p str, Vec<&'p PlannedResource>>,
}

impl<'p> ByName<'p> {
    fn new(plan: &'p TerraformPlan) -> ByName<'p> {
        let mut names = ByName { of_configuration: HashMap::new(), of_provider: HashMap::new() };
        for resource in &plan.resources {
            names.of_configuration.entry(without_indexes(&resource.address)).or_default().push(resource);
            for name in resource.names() {
                names.of_provider.entry(name).or_default().push(resource);
            }
        }
        names
    }

    /// The only resource of these types with this id, link or name.
    fn find(&self, name: &str, kinds: &[&str]) -> Option<&'p PlannedResource> {
        let mut meant = self.of_provider.get(name)?.iter().filter(|r| kinds.contains(&r.kind.as_str()));
        let first = meant.next()?;
        meant.all(|other| other.address == first.address).then_some(*first)
    }
}
