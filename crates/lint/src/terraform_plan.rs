//! The JSON of a plan or a state that `terraform show -json` prints, as far as lint reads it.
//!
//! The form is that of <https://developer.hashicorp.com/terraform/internals/json-format> (format version 1). Of resources that lint does not know
//! only the type is read; the text of all others is skipped where it stands and never built. Nothing here knows what a volume is.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::terraform_references::ModuleConfiguration;

/// The most resources of known types in a file. Each takes some KiB with its promise.
pub const MOST_RESOURCES: usize = 20_000;

/// The whole file.
#[derive(Deserialize)]
pub(super) struct PlanDocument<'a> {
    #[serde(default, borrow)]
    pub format_version: Cow<'a, str>,
    #[serde(borrow)]
    planned_values: Option<StateValues<'a>>,
    #[serde(borrow)]
    values: Option<StateValues<'a>>,
    #[serde(borrow)]
    prior_state: Option<PriorState<'a>>,
    #[serde(borrow)]
    configuration: Option<ConfigurationDocument<'a>>,
    #[serde(default, borrow)]
    resource_changes: Vec<ResourceChange<'a>>,
    /// Set in objects of Kubernetes, which are JSON too.
    #[serde(default, borrow, rename = "apiVersion")]
    pub api_version: Cow<'a, str>,
}

#[derive(Deserialize)]
struct PriorState<'a> {
    #[serde(borrow)]
    values: Option<StateValues<'a>>,
}

#[derive(Deserialize)]
struct StateValues<'a> {
    #[serde(borrow)]
    root_module: Option<StateModule<'a>>,
}

#[derive(Deserialize)]
struct StateModule<'a> {
    #[serde(default, borrow)]
    resources: Vec<StateResource<'a>>,
    #[serde(default, borrow)]
    child_modules: Vec<StateModule<'a>>,
}

#[derive(Deserialize)]
struct StateResource<'a> {
    #[serde(default, borrow)]
    address: Cow<'a, str>,
    #[serde(default, borrow)]
    mode: Cow<'a, str>,
    #[serde(default, borrow, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    values: Option<&'a RawValue>,
    #[serde(borrow)]
    sensitive_values: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct ResourceChange<'a> {
    #[serde(default, borrow)]
    address: Cow<'a, str>,
    #[serde(borrow)]
    change: Option<ResourceAction<'a>>,
}

#[derive(Deserialize)]
struct ResourceAction<'a> {
    #[serde(borrow)]
    after_unknown: Option<&'a RawValue>,
    #[serde(borrow)]
    after_sensitive: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct ConfigurationDocument<'a> {
    #[serde(borrow)]
    root_module: Option<ModuleConfiguration<'a>>,
}

/// A resource of a type that lint knows.
#[derive(Debug, Default)]
pub struct PlannedResource {
    /// The address, with the indexes of modules and of the resource.
    pub address: String,
    /// The type.
    pub kind: String,
    /// A data source: it exists, and nothing is made of it.
    pub is_data: bool,
    values: Value,
    sensitive: Value,
    unknown: Value,
    /// The expressions of its configuration; `None` where the file has no configuration.
    configuration: Option<Value>,
}

/// The resources of a file that lint knows, and the number of the others by type.
#[derive(Default)]
pub struct TerraformPlan {
    /// Resources as they will be.
    pub resources: Vec<PlannedResource>,
    /// Types of all other managed resources and how many there are.
    pub skipped: BTreeMap<String, u64>,
}

static NULL: Value = Value::Null;
static TRUE: Value = Value::Bool(true);

fn parsed(raw: Option<&RawValue>) -> Value {
    raw.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default()
}

impl PlanDocument<'_> {
    /// Whether this is what `terraform show -json` prints.
    pub fn is_terraform(&self) -> bool {
        self.planned_values.is_some() || self.values.is_some()
    }

    /// The resources that `knows` wants; `None` where there are more than [`MOST_RESOURCES`].
    pub fn plan(&self, knows: &dyn Fn(&str) -> bool) -> Option<TerraformPlan> {
        let mut plan = TerraformPlan::default();
        let expressions = self.configuration().map(ModuleConfiguration::expressions);
        let changes: HashMap<&str, &ResourceAction> = self
            .resource_changes
            .iter()
            .filter_map(|c| Some((c.address.as_ref(), c.change.as_ref()?)))
            .collect();
        let planned = self.planned_values.as_ref().or(self.values.as_ref());
        // Data sources that are read already stand in the prior state; they tell ids and types of instances.
        let prior = self.prior_state.as_ref().and_then(|p| p.values.as_ref());
        let managed = resources(planned).into_iter().filter(|r| r.mode != "data");
        let data = resources(prior.or(planned)).into_iter().filter(|r| r.mode == "data" && knows(&r.kind));
        for resource in managed.chain(data) {
            if !knows(&resource.kind) {
                *plan.skipped.entry(resource.kind.to_string()).or_default() += 1;
                continue;
            }
            if plan.resources.len() == MOST_RESOURCES {
                return None;
            }
            let is_data = resource.mode == "data";
            let action = changes.get(resource.address.as_ref()).filter(|_| !is_data);
            let marked = parsed(resource.sensitive_values);
            let sensitive =
                if marked.is_null() { parsed(action.and_then(|a| a.after_sensitive)) } else { marked };
            plan.resources.push(PlannedResource {
                address: resource.address.to_string(),
                kind: resource.kind.to_string(),
                is_data,
                values: parsed(resource.values),
                sensitive,
                unknown: parsed(action.and_then(|a| a.after_unknown)),
                configuration: expressions.as_ref().map(|all| {
                    let raw = all.get(&without_indexes(&resource.address)).copied().flatten();
                    parsed(raw)
                }),
            });
        }
        Some(plan)
    }

    /// The configuration of the root module.
    pub fn configuration(&self) -> Option<&ModuleConfiguration<'_>> {
        self.configuration.as_ref()?.root_module.as_ref()
    }
}

/// The resources of all modules: those of a module before those of the modules that it calls.
fn resources<'s, 'a>(values: Option<&'s StateValues<'a>>) -> Vec<&'s StateResource<'a>> {
    let mut found = Vec::new();
    let mut modules: Vec<&StateModule> = values.and_then(|v| v.root_module.as_ref()).into_iter().collect();
    while let Some(module) = modules.pop() {
        found.extend(&module.resources);
        modules.extend(module.child_modules.iter().rev());
    }
    found
}

/// An address without the indexes of modules and of the resource: `module.a[0].aws_instance.b["x"]` is `module.a.aws_instance.b`.
pub fn without_indexes(address: &str) -> String {
    let mut out = String::with_capacity(address.len());
    let mut chars = address.chars();
    while let Some(c) = chars.next() {
        if c != '[' {
            out.push(c);
            continue;
        }
        let (mut quoted, mut escaped) = (false, false);
        for c in chars.by_ref() {
            match c {
                _ if escaped => escaped = false,
                '\\' if quoted => escaped = true,
                '"' => quoted = !quoted,
                ']' if !quoted => break,
                _ => {}
            }
        }
    }
    out
}

/// A resource, or a block of one, with what is known of its fields.
#[derive(Clone, Copy)]
pub struct FieldView<'v> {
    values: &'v Value,
    sensitive: &'v Value,
    unknown: &'v Value,
    configuration: Option<&'v Value>,
}

/// A field of a resource.
pub enum PlannedField<'v> {
    /// Not set.
    Absent,
    /// Set, and not told.
    Unknown(&'static str),
    /// The value, and whether the configuration leaves it to the provider.
    Is(&'v Value, bool),
}

impl PlannedResource {
    /// The whole resource.
    pub fn view(&self) -> FieldView<'_> {
        let Self { values, sensitive, unknown, configuration, .. } = self;
        FieldView { values, sensitive, unknown, configuration: configuration.as_ref() }
    }

    /// The texts by which other resources may refer to this one once it exists.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        ["id", "self_link", "name"].into_iter().filter_map(|key| self.values.get(key)?.as_str())
    }
}

/// The marks of a field or block in a tree of marks: a mark on the whole is one on each part.
fn marked_below(tree: &Value, place: impl serde_json::value::Index) -> &Value {
    if *tree == TRUE { tree } else { tree.get(place).unwrap_or(&NULL) }
}

impl<'v> FieldView<'v> {
    /// The blocks at a path, each with the text that names it: `ebs_block_device[1]`. An empty path is the view itself.
    pub fn blocks(self, path: &str) -> Vec<(String, FieldView<'v>)> {
        let mut found = vec![(String::new(), self)];
        for key in path.split('.').filter(|key| !key.is_empty()) {
            found = found
                .into_iter()
                .flat_map(|(name, view)| {
                    let dot = if name.is_empty() { "" } else { "." };
                    let label = format!("{name}{dot}{key}");
                    let inner = view.inner(key);
                    match inner.values {
                        Value::Array(items) => (0..items.len())
                            .map(|i| (format!("{label}[{i}]"), inner.item(i)))
                            .collect::<Vec<_>>(),
                        Value::Object(_) => vec![(label, inner)],
                        _ => Vec::new(),
                    }
                })
                .collect();
        }
        found
    }

    fn inner(self, key: &str) -> FieldView<'v> {
        FieldView {
            values: self.values.get(key).unwrap_or(&NULL),
            sensitive: marked_below(self.sensitive, key),
            unknown: marked_below(self.unknown, key),
            configuration: self.configuration.map(|c| c.get(key).unwrap_or(&NULL)),
        }
    }

    fn item(self, index: usize) -> FieldView<'v> {
        // Blocks of a set are in another order in the configuration: all of them together tell which fields are set.
        FieldView {
            values: self.values.get(index).unwrap_or(&NULL),
            sensitive: marked_below(self.sensitive, index),
            unknown: marked_below(self.unknown, index),
            configuration: self.configuration,
        }
    }

    /// A field.
    pub fn field(self, key: &str) -> PlannedField<'v> {
        let FieldView { values, sensitive, unknown, .. } = self.inner(key);
        let configured = self.configuration.map(|c| match c {
            Value::Array(blocks) => blocks.iter().any(|b| b.get(key).is_some()),
            Value::Null => true,
            block => block.get(key).is_some(),
        });
        match (values, unknown) {
            _ if *sensitive == TRUE => PlannedField::Unknown("is marked as sensitive"),
            (Value::Null, Value::Bool(true)) if configured == Some(false) => PlannedField::Absent,
            (Value::Null, Value::Bool(true)) => PlannedField::Unknown("is known after apply only"),
            (Value::Null, _) => PlannedField::Absent,
            (value, _) => PlannedField::Is(value, configured != Some(true)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indexes_may_hold_anything() {
        for (address, bare) in [
            ("aws_instance.a", "aws_instance.a"),
            ("aws_instance.a[0]", "aws_instance.a"),
            (r#"module.m["x].y"].aws_instance.a["q\"]z"]"#, "module.m.aws_instance.a"),
            ("aws_instance.a[", "aws_instance.a"),
        ] {
            assert_eq!(without_indexes(address), bare);
        }
    }
}
