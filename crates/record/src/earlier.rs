//! Records with fields that volproof has removed. Such a Record is read where the removed fields hold nothing; else it is refused, and the
//! message names the field.

use serde_json::Value;

use volproof_plan::removed::{self, Holder};

/// The same Record without removed fields; absent where it has none.
///
/// # Errors
/// The field that holds something, and where it stands.
pub fn without_removed(text: &str) -> Result<Option<Value>, String> {
    let Ok(Value::Object(mut record)) = serde_json::from_str(text) else { return Ok(None) };
    let mut taken = removed::take_out(Holder::Record, &mut record).map_err(|key| format!("'{key}'"))?;
    let planned = record.get_mut("plan").and_then(|plan| plan.get_mut("steps"));
    taken += each(planned, Holder::PlanStep).map_err(|at| format!("{at} of its plan"))?;
    taken += each(record.get_mut("steps"), Holder::RecordStep)?;
    for at in QUESTIONS {
        let question = record
            .get_mut(at[0])
            .and_then(|value| at[1..].iter().try_fold(value, |value, key| value.get_mut(key)));
        if let Some(question) = question.and_then(Value::as_object_mut) {
            taken += removed::take_out(Holder::Question, question)
                .map_err(|key| format!("'{key}' of '{}'", at.join(".")))?;
        }
    }
    Ok((taken > 0).then_some(Value::Object(record)))
}

/// Where a Record keeps what it is asked.
const QUESTIONS: [&[&str]; 5] = [
    &["claimed"],
    &["asked"],
    &["plan", "question", "load"],
    &["plan", "question", "suite"],
    &["answer", "load"],
];

/// Takes removed fields out of all steps, and counts them.
fn each(steps: Option<&mut Value>, holder: Holder) -> Result<usize, String> {
    let mut taken = 0;
    for step in steps.and_then(Value::as_array_mut).into_iter().flatten().filter_map(Value::as_object_mut) {
        let name = step.get("name").and_then(Value::as_str).unwrap_or_default().to_string();
        taken += removed::take_out(holder, step).map_err(|key| format!("'{key}' of step '{name}'"))?;
    }
    Ok(taken)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn fields_of_before_are_taken_out_or_named() {
        let with = |field: &str, value: Value, planned: Value| {
            json!({
                "not_run": if field == "not_run" { value.clone() } else { json!([]) },
                "plan": { "steps": [{ "name": "a", "flow": planned }] },
                "steps": [{ "name": "a", "ended_by": if field == "ended_by" { value } else { Value::Null } }],
            })
        };
        let read = |record: &Value| without_removed(&record.to_string());
        let bare = json!({ "plan": { "steps": [{ "name": "a" }] }, "steps": [{ "name": "a" }] });
        assert_eq!(read(&with("", Value::Null, Value::Null)), Ok(Some(bare.clone())));
        assert_eq!(read(&bare), Ok(None), "nothing of it was removed: another error is told");
        let named = |record: &Value| read(record).unwrap_err();
        assert_eq!(named(&with("", Value::Null, json!({"weight": 1}))), "'flow' of step 'a' of its plan");
        assert_eq!(named(&with("ended_by", json!("b"), Value::Null)), "'ended_by' of step 'a'");
        assert_eq!(named(&with("not_run", json!([{"step": "c"}]), Value::Null)), "'not_run'");
        assert_eq!(without_removed("[1, 2"), Ok(None));
    }
}
