//! A step as JSON: the keys that a Record holds, their schema, and what a file says of a key that no step has.

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::{DeserializeSeed, Error, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use super::given_options::keys;
use super::key::Key;
use super::{Step, WordError, removed};
use volproof_base::misspelling::nearest;

impl Serialize for Step {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let default = Step::default();
        let mut map = serializer.serialize_map(None)?;
        for key in Step::KEYS {
            if let Some(value) = (key.show)(self).filter(|value| key.is_kept(value, &default)) {
                map.serialize_entry(key.field, &value)?;
            }
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Step {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Step, D::Error> {
        let mut step = Step::default();
        let put = |key: &'static Key, value: Value| (key.read)(&mut step, &value);
        each_key(deserializer, |name| Step::KEYS.iter().find(|key| key.field == name), put)?;
        Ok(step)
    }
}

impl JsonSchema for Step {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Step".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut properties = serde_json::Map::new();
        for (key, mut schema) in Step::KEYS.iter().zip(Step::schemas(generator)) {
            let about: Vec<&str> = key.about.lines().map(str::trim).collect();
            schema.insert("description".into(), about.join(" ").trim().into());
            properties.insert(key.field.into(), schema.to_value());
        }
        schemars::json_schema!({
            "description": "One measured load.",
            "type": "object",
            "properties": properties,
            "additionalProperties": false
        })
    }
}

/// Reads a table of keys: `find` says what a name means, `put` takes each value. An error stands at the line and column of its value,
/// where the format has lines.
///
/// # Errors
/// An unknown name, with the nearest one; a value that its key does not take.
pub(super) fn each_key<'de, D: Deserializer<'de>>(
    deserializer: D,
    find: impl Fn(&str) -> Option<&'static Key>,
    put: impl FnMut(&'static Key, Value) -> Result<(), WordError>,
) -> Result<(), D::Error> {
    struct Keys<F, P>(F, P);
    struct Name<'a, F>(&'a F);
    struct GivenValue<'a, P>(&'static Key, &'a mut P);

    impl<'de, F: Fn(&str) -> Option<&'static Key>> DeserializeSeed<'de> for Name<'_, F> {
        type Value = &'static Key;
        fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<&'static Key, D::Error> {
            let name = String::deserialize(deserializer)?;
            (self.0)(&name).ok_or_else(|| D::Error::custom(unknown(&name)))
        }
    }
    impl<'de, P: FnMut(&'static Key, Value) -> Result<(), WordError>> DeserializeSeed<'de> for GivenValue<'_, P> {
        type Value = ();
        fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
            let value = Value::deserialize(deserializer)?;
            self.1(self.0, value).map_err(|e| D::Error::custom(format!("{}: {e}", self.0.name())))
        }
    }
    impl<'de, F, P> Visitor<'de> for Keys<F, P>
    where
        F: Fn(&str) -> Option<&'static Key>,
        P: FnMut(&'static Key, Value) -> Result<(), WordError>,
    {
        type Value = ();
        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("the options of a step")
        }
        fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
            while let Some(key) = map.next_key_seed(Name(&self.0))? {
                map.next_value_seed(GivenValue(key, &mut self.1))?;
            }
            Ok(())
        }
    }
    deserializer.deserialize_map(Keys(find, put))
}

/// The message about an unknown key: the way out for a removed key, otherwise the nearest name.
pub(crate) fn unknown(name: &str) -> String {
    if let Some(instead) = removed::instead(name) {
        return format!("'{name}' is no key of a step any more: {instead}");
    }
    let names =
        keys().flat_map(|key| [key.name()].into_iter().chain(key.aliases.iter().map(|a| a.to_string())));
    match nearest(name, names.map(|known| (known.clone(), known))) {
        Some(near) => {
            format!("unknown key `{name}`: did you mean `{near}`? docs/plan.md lists all keys")
        }
        None => format!("unknown key `{name}`: docs/plan.md lists all keys"),
    }
}
