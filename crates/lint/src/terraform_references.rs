//! Which resource an expression of a Terraform configuration refers to: the way from an attachment to a volume whose id is known after apply only.
//!
//! References go through variables and outputs of modules. The plan tells nothing of `locals`: what goes through them stays unmatched.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// Modules that a reference is followed through at most.
const FARTHEST: usize = 16;

/// The configuration of a module.
#[derive(Deserialize)]
pub struct ModuleConfiguration<'a> {
    #[serde(default, borrow)]
    resources: Vec<ResourceConfiguration<'a>>,
    #[serde(default, borrow)]
    module_calls: BTreeMap<String, ModuleCall<'a>>,
    #[serde(default, borrow)]
    outputs: BTreeMap<String, OutputConfiguration<'a>>,
}

#[derive(Deserialize)]
struct ResourceConfiguration<'a> {
    #[serde(default, borrow)]
    address: Cow<'a, str>,
    #[serde(borrow)]
    expressions: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct ModuleCall<'a> {
    #[serde(borrow)]
    expressions: Option<&'a RawValue>,
    #[serde(borrow)]
    module: Option<Box<ModuleConfiguration<'a>>>,
}

#[derive(Deserialize)]
struct OutputConfiguration<'a> {
    #[serde(borrow)]
    expression: Option<&'a RawValue>,
}

/// A resource that an expression refers to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReferredResource {
    /// Its address without indexes.
    pub address: String,
    /// The index that the expression names: `[0]`.
    pub index: Option<String>,
}

impl<'a> ModuleConfiguration<'a> {
    /// The expressions of every resource of the module and of those that it calls, by address without indexes.
    pub fn expressions(&self) -> HashMap<String, Option<&'a RawValue>> {
        fn walk<'a>(
            module: &ModuleConfiguration<'a>,
            prefix: &str,
            all: &mut HashMap<String, Option<&'a RawValue>>,
        ) {
            all.extend(module.resources.iter().map(|r| (format!("{prefix}{}", r.address), r.expressions)));
            for (name, call) in &module.module_calls {
                if let Some(inner) = &call.module {
                    walk(inner, &format!("{prefix}module.{name}."), all);
                }
            }
        }
        let mut all = HashMap::new();
        walk(self, "", &mut all);
        all
    }

    /// The resource of one of `kinds` that a field of a resource refers to. `address` is that of the resource, without indexes.
    pub fn referred(&self, address: &str, field: &str, kinds: &[&str]) -> Option<ReferredResource> {
        let (path, name) = split_modules(address);
        let module = self.module(&path)?;
        let resource = module.resources.iter().find(|r| r.address == name)?;
        let expressions: Value = serde_json::from_str(resource.expressions?.get()).ok()?;
        let mut expression = &expressions;
        for key in field.split('.') {
            // Of several blocks the first stands for all: the caller asks for fields of single blocks or of lists with one origin.
            expression = match expression.get(key)? {
                Value::Array(blocks) => blocks.first()?,
                other => other,
            };
        }
        self.follow(&path, &references(expression), kinds, FARTHEST)
    }

    fn module(&self, path: &[&str]) -> Option<&ModuleConfiguration<'a>> {
        path.iter().try_fold(self, |module, name| module.module_calls.get(*name)?.module.as_deref())
    }

    fn follow(
        &self,
        path: &[&str],
        names: &[String],
        kinds: &[&str],
        hops: usize,
    ) -> Option<ReferredResource> {
        let hops = hops.checked_sub(1)?;
        let module = self.module(path)?;
        names.iter().find_map(|name| {
            let mut parts = name.split('.');
            let (first, second, third) = (parts.next()?, parts.next()?, parts.next());
            let bare = second.split('[').next().unwrap_or_default();
            match first {
                "var" => {
                    let (called, above) = path.split_last()?;
                    let call = self.module(above)?.module_calls.get(*called)?;
                    let inputs: Value = serde_json::from_str(call.expressions?.get()).ok()?;
                    self.follow(above, &references(inputs.get(bare)?), kinds, hops)
                }
                "module" => {
                    let inner: Vec<&str> = path.iter().copied().chain([bare]).collect();
                    let outputs = &module.module_calls.get(bare)?.module.as_ref()?.outputs;
                    let name = third?.split('[').next()?;
                    let output: Value = serde_json::from_str(outputs.get(name)?.expression?.get()).ok()?;
                    self.follow(&inner, &references(&output), kinds, hops)
                }
                "data" => {
                    kinds.contains(&second).then(|| self.found(path, &format!("data.{second}"), third?))?
                }
                kind if kinds.contains(&kind) => self.found(path, kind, second),
                _ => None,
            }
        })
    }

    fn found(&self, path: &[&str], kind: &str, name: &str) -> Option<ReferredResource> {
        let (bare, index) = match name.split_once('[') {
            Some((bare, index)) => (bare, Some(format!("[{index}"))),
            None => (name, None),
        };
        let modules: String = path.iter().map(|m| format!("module.{m}.")).collect();
        Some(ReferredResource { address: format!("{modules}{kind}.{bare}"), index })
    }
}

/// The names of modules in an address without indexes, and the rest.
fn split_modules(address: &str) -> (Vec<&str>, &str) {
    let (mut path, mut rest) = (Vec::new(), address);
    while let Some((name, more)) = rest.strip_prefix("module.").and_then(|r| r.split_once('.')) {
        path.push(name);
        rest = more;
    }
    (path, rest)
}

/// The references of an expression, as Terraform lists them: the longest of each first.
fn references(expression: &Value) -> Vec<String> {
    let list = expression.get("references").and_then(Value::as_array);
    list.into_iter().flatten().filter_map(|r| r.as_str().map(str::to_string)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_go_through_modules() {
        let text = r#"{
          "resources": [{"address": "aws_volume_attachment.a", "expressions": {
            "volume_id": {"references": ["module.disk.id", "module.disk"]},
            "instance_id": {"references": ["aws_instance.b[1].id", "aws_instance.b[1]", "aws_instance.b"]}}}],
          "module_calls": {"disk": {
            "expressions": {"host": {"references": ["aws_instance.b"]}},
            "module": {
              "resources": [{"address": "aws_volume_attachment.c", "expressions": {
                "instance_id": {"references": ["var.host"]}}}],
              "outputs": {"id": {"expression": {"references": ["aws_ebs_volume.d.id", "aws_ebs_volume.d"]}},
                          "loop": {"expression": {"references": ["module.disk.loop"]}}}}}}}"#;
        let root: ModuleConfiguration = serde_json::from_str(text).unwrap();
        let kinds = ["aws_ebs_volume", "aws_instance"];
        let referred = |address: &str, field: &str| {
            root.referred(address, field, &kinds).map(|r| r.address + r.index.as_deref().unwrap_or(""))
        };
        assert_eq!(
            referred("aws_volume_attachment.a", "volume_id").as_deref(),
            Some("module.disk.aws_ebs_volume.d")
        );
        assert_eq!(referred("aws_volume_attachment.a", "instance_id").as_deref(), Some("aws_instance.b[1]"));
        assert_eq!(
            referred("module.disk.aws_volume_attachment.c", "instance_id").as_deref(),
            Some("aws_instance.b")
        );
        assert_eq!(referred("aws_volume_attachment.a", "none"), None);
        assert_eq!(root.follow(&[], &["module.disk.loop".into()], &kinds, FARTHEST), None);
    }
}
