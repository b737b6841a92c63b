//! Generates inputs that are nearly valid: samples with changes.

use arbitrary::Unstructured;
use serde_json::{Number, Value};

/// Joins pieces of samples, and changes a few bytes.
pub fn changed(samples: &[Vec<u8>], random: &mut fastrand::Rng) -> Vec<u8> {
    let mut bytes = Vec::new();
    for _ in 0..random.usize(1..4) {
        let sample = &samples[random.usize(..samples.len())];
        let start = random.usize(..=sample.len()) * random.usize(..2);
        bytes.extend_from_slice(&sample[start..random.usize(start..=sample.len())]);
    }
    for _ in 0..random.usize(..8) {
        let start = random.usize(..=bytes.len());
        let end = (start + random.usize(..12)).min(bytes.len());
        let mut with = vec![0; random.usize(..6)];
        match random.u8(..3) {
            0 => random.fill(&mut with),
            1 => with.fill(b'9'),
            _ => with.fill(*random.choice(b"\n\r\t ,;.-:0x\"").expect("there are some")),
        }
        bytes.splice(start..end, with);
    }
    bytes
}

/// Changes bytes according to `script`: each step replaces a few bytes at one offset.
pub(crate) fn edit_bytes(sample: &[u8], script: &mut Unstructured<'_>) -> Vec<u8> {
    let mut bytes = sample.to_vec();
    while !script.is_empty() && bytes.len() < 2 * sample.len() + 64 {
        let start = pick(script, bytes.len());
        let end = (start + pick(script, 8)).min(bytes.len());
        let len = pick(script, 8).min(script.len());
        let with = script.bytes(len).unwrap_or_default();
        bytes.splice(start..end, with.iter().copied());
    }
    bytes
}

/// Changes values of a JSON document according to `script`. The result stays JSON, which lets
/// fuzzing reach the checks behind the parser.
pub(crate) fn edit_json(value: &mut Value, script: &mut Unstructured<'_>) {
    for _ in 0..16 {
        if script.is_empty() {
            return;
        }
        let (at, from) = (pick(script, count(value) - 1), pick(script, count(value) - 1));
        let other = nth(value, &mut { from }).expect("a value").clone();
        // A document inserted into itself repeatedly would grow too large.
        let other = if count(&other) > 400 { Value::Null } else { other };
        let place = nth(value, &mut { at }).expect("a value");
        replace(place, other, script);
    }
}

fn replace(place: &mut Value, other: Value, script: &mut Unstructured<'_>) {
    match (pick(script, 9), place) {
        (0..=3, place @ (Value::Number(_) | Value::Null)) => *place = number(place, script),
        (4, place) => *place = Value::Null,
        (5, place) => *place = other,
        (0..=6, Value::Array(list)) => match list.len() {
            0 => list.push(other),
            len => {
                let (at, to) = (pick(script, len - 1), pick(script, len - 1));
                match pick(script, 3) {
                    0 => drop(list.remove(at)),
                    1 => list.insert(to, list[at].clone()),
                    2 => list.swap(at, to),
                    _ => list.clear(),
                }
            }
        },
        (0..=6, Value::Object(map)) => {
            let at = pick(script, map.len().saturating_sub(1));
            if let Some(key) = map.keys().nth(at).cloned() {
                map.remove(&key);
            }
        }
        (0..=6, Value::Bool(flag)) => *flag = !*flag,
        (_, place) => {
            let len = pick(script, 12).min(script.len());
            let text = String::from_utf8_lossy(script.bytes(len).unwrap_or_default());
            *place = Value::String(text.into_owned());
        }
    }
}

/// Returns a number at a limit of a range, a float, or a number derived from the old one.
fn number(old: &Value, script: &mut Unstructured<'_>) -> Value {
    let ends = [u64::MAX, 1 << 63, (1 << 53) + 1, u32::MAX.into(), 1 << 32, 0, 1, 2, 3, 64, 4096];
    let floats = [-1.0, 0.5, 1e300, -1e300, 1e-300, f64::from(u32::MAX), 1.0, -0.0];
    let value = old.as_u64().unwrap_or_default();
    match pick(script, 4) {
        0 => ends[pick(script, ends.len() - 1)].into(),
        1 => Number::from_f64(floats[pick(script, floats.len() - 1)]).into(),
        2 => value.wrapping_add(1).into(),
        3 => value.wrapping_sub(1).into(),
        _ => value.wrapping_mul(pick(script, 600) as u64).into(),
    }
}

/// Returns a number from 0 to `most`, or 0 if the script is used up.
pub fn pick(script: &mut Unstructured<'_>, most: usize) -> usize {
    script.int_in_range(0..=most).unwrap_or_default()
}

/// Counts the values of a document, including the document itself.
fn count(value: &Value) -> usize {
    1 + match value {
        Value::Array(list) => list.iter().map(count).sum(),
        Value::Object(map) => map.values().map(count).sum(),
        _ => 0,
    }
}

/// Returns the nth value of a document, in depth-first order.
fn nth<'a>(value: &'a mut Value, left: &mut usize) -> Option<&'a mut Value> {
    if *left == 0 {
        return Some(value);
    }
    *left -= 1;
    match value {
        Value::Array(list) => list.iter_mut().find_map(|inner| nth(inner, left)),
        Value::Object(map) => map.values_mut().find_map(|inner| nth(inner, left)),
        _ => None,
    }
}
