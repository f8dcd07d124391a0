//! Mutated Records: whatever is read as a Record becomes text, CSV, a page, fio's forms, and a verdict, without a panic,
//! and no form that programs read holds what is no number.
//!
//! The first byte of an input chooses the output, the second a Record of `fuzz/records`, every five further bytes are one edit of it.
//! Where the second byte is a brace, the text of a Record begins there.
#![no_main]

use std::path::Path;

use clap::{Parser, ValueEnum};
use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};
use volproof::convert::{self, ConvertArgs, Form};
use volproof::result_file;
use volproof::report::verdict_text;
use volproof::stored_verdict::{self, VerdictArgs};
use volproof::record::Record;
use volproof::report::{html, summary_text, text};

const RECORDS: [&str; 2] =
    [include_str!("../records/simulated.json"), include_str!("../records/of-fio.json")];

/// Edits repeat texts up to this length, and lists in Records of up to so many values: the target is to look at outputs, not at memory.
const LONGEST: usize = 256;
const MOST: usize = 20_000;

#[derive(Parser)]
struct Conversion {
    #[command(flatten)]
    arguments: ConvertArgs,
}

#[derive(Parser)]
struct Judgement {
    #[command(flatten)]
    arguments: VerdictArgs,
}

fn count(value: &Value) -> usize {
    1 + match value {
        Value::Array(list) => list.iter().map(count).sum(),
        Value::Object(map) => map.values().map(count).sum(),
        _ => 0,
    }
}

/// The value with a number, counted in the order of the text.
fn find<'a>(value: &'a mut Value, at: &mut usize) -> Option<&'a mut Value> {
    if *at == 0 {
        return Some(value);
    }
    *at -= 1;
    match value {
        Value::Array(list) => list.iter_mut().find_map(|v| find(v, at)),
        Value::Object(map) => map.values_mut().find_map(|v| find(v, at)),
        _ => None,
    }
}

fn number(n: u8) -> Value {
    let top = 1u64 << 63;
    match n % 16 {
        0 => json!(0),
        1 => json!(1),
        2 => json!(u64::MAX),
        3 => json!(u64::MAX - 1),
        4 => json!(top),
        5 => json!(top - 1),
        6 => json!(-1),
        7 => json!(1e308),
        8 => json!(-1e308),
        9 => json!(5e-324),
        10 => json!(0.1),
        11 => json!(1u64 << 32),
        12 => json!(u32::MAX),
        13 => json!(1u64 << 53),
        14 => json!(1_000_000_000),
        _ => json!(1e19),
    }
}

/// An edit of one value; most leave something that is still a Record.
fn edit(value: &mut Value, what: u8, with: u8) {
    match (value, what % 8) {
        (value @ Value::Number(_), _) => *value = number(with),
        (Value::String(text), 0..4) => {
            *text = ["", "\u{1b}[31m\u{202e}\r\n\0", "<script>&\"'", "a,b;c\t\"d\"", "%", "50"]
                [with as usize % 6]
                .into();
        }
        (Value::String(text), _) if text.len() < LONGEST => *text = text.repeat(with as usize + 1),
        (Value::String(_), _) => {}
        (Value::Array(list), 0) => list.clear(),
        (Value::Array(list), 1) => list.truncate(with as usize),
        (Value::Array(list), 2..5) => {
            if let Some(last) = list.last().cloned() {
                list.extend(std::iter::repeat_n(last, with as usize));
            }
        }
        (Value::Array(list), 5) => list.reverse(),
        (Value::Array(list), _) => list.iter_mut().filter(|v| v.is_number()).for_each(|v| *v = number(with)),
        (Value::Object(map), _) => {
            if let Some(key) = map.keys().nth(with as usize % map.len().max(1)).cloned() {
                map.remove(&key);
            }
        }
        (Value::Bool(b), _) => *b = !*b,
        (value @ Value::Null, _) => *value = number(with),
    }
}

fn edited(bytes: &[u8]) -> Option<Vec<u8>> {
    let (first, edits) = bytes.split_first()?;
    if *first == b'{' {
        return Some(bytes.to_vec());
    }
    let mut value: Value = serde_json::from_str(RECORDS[*first as usize % RECORDS.len()]).unwrap();
    for &[a, b, c, what, with] in edits.as_chunks().0.iter().take(24) {
        let values = count(&value);
        if values > MOST {
            break;
        }
        let mut at = u32::from_le_bytes([a, b, c, 0]) as usize % values;
        edit(find(&mut value, &mut at).unwrap(), what, with);
    }
    Some(value.to_string().into_bytes())
}

#[track_caller]
fn numbers_alone(text: &str) {
    let found = text
        .split(|c: char| !c.is_ascii_alphanumeric())
        .find(|word| matches!(*word, "NaN" | "inf" | "nan" | "Infinity"));
    assert!(found.is_none(), "{found:?} in\n{text}");
}

fn become_form(json: Vec<u8>, form: Form) {
    let name = form.to_possible_value().unwrap();
    let arguments = Conversion::parse_from(["convert", "fuzz.json", "--to", name.get_name()]).arguments;
    if let Ok(converted) = convert::of_bytes(json, &arguments) {
        let mut text = Vec::new();
        converted.write(&mut text).unwrap();
        numbers_alone(std::str::from_utf8(&text).unwrap());
    }
}

fn judged(mut record: Record, promise: &[&str]) {
    let line =
        ["verdict", "fuzz.json", "--json"].into_iter().chain(promise.iter().copied());
    if let Ok((text, _)) = stored_verdict::answer(&Judgement::parse_from(line).arguments, &mut record) {
        numbers_alone(&text);
        serde_json::from_str::<Value>(&text).unwrap();
    }
}

fuzz_target!(|bytes: &[u8]| {
    let Some((output, rest)) = bytes.split_first() else { return };
    let Some(json) = edited(rest) else { return };
    let path = Path::new("fuzz.json");
    let Ok(record) = result_file::one(&json, path) else { return };
    let forms = Form::value_variants();
    match *output as usize % (forms.len() + 3) {
        0 => [text::record(&record), summary_text::summary(&record), verdict_text::of_record(&record)].iter().for_each(|text| numbers_alone(text)),
        1 => {
            let mut page = Vec::new();
            html::write(&record, &mut page).unwrap();
            let page = String::from_utf8(page).unwrap();
            let parts = page
                .split_once(html::PLOTLY.as_str())
                .and_then(|(front, back)| Some((front, back.split_once(html::SCRIPT)?)));
            let (front, (between, back)) = parts.unwrap();
            [front, between, back].iter().for_each(|text| numbers_alone(text));
        }
        2 => {
            judged(record.clone(), &[]);
            judged(record, &["--promise", "alibaba:cloud_essd.PL0", "--volume-size", "40GiB", "--offline"]);
        }
        form => become_form(json, forms[form - 3]),
    }
});
