//! `flashscope query`: finds IOs by expression.

use serde_json::Value;

use crate::Scratch;
use crate::simulate::{assert_conforms, published};

/// Returns the matches of an expression as JSON.
fn json(place: &Scratch, expression: &str) -> Value {
    let printed = place.run(&["query", "a.flashscope", expression, "--json"]).ok().stdout;
    let found = serde_json::from_str(&printed).unwrap();
    let schema = published("matches");
    assert_conforms(&found, &schema, &schema, "matches");
    found
}

// The matches of an expression and of its opposite add up to all IOs, and the listed IOs match.
#[test]
fn expressions_select_ios_of_a_result() {
    let place = Scratch::in_memory();
    place.bench("sim:demo", "a.flashscope", &["--only", "order,locality"]).ok();
    let all = json(&place, "latency >= 0");
    let number = |found: &Value, field: &str| found[field].as_u64().unwrap();
    let total = number(&all, "ios");
    assert!(total > 0 && number(&all, "matched") == total, "{all}");
    assert_eq!((number(&all, "excluded"), number(&all, "unread")), (0, 0));
    let median = all["slowest"]["latency_ns"][19].as_u64().unwrap();
    for (one, other) in [
        ("op = write".to_string(), "op != write".to_string()),
        (format!("latency < {median} ns"), format!("latency >= {median} ns")),
        ("micro_benchmark = order".into(), "not (micro_benchmark = order)".into()),
        ("offset % 8 KiB = 0".into(), "offset % 8 KiB != 0".into()),
    ] {
        let (one, other) = (json(&place, &one), json(&place, &other));
        assert_eq!(number(&one, "matched") + number(&other, "matched"), total);
    }
    let of_order = json(&place, "micro_benchmark = order and op = write and latency > 100 us");
    assert!(number(&of_order, "excluded") > 0, "runs of locality are not read");
    let slowest = &of_order["slowest"];
    let latencies: Vec<u64> = serde_json::from_value(slowest["latency_ns"].clone()).unwrap();
    assert!(latencies.is_sorted_by(|a, b| a >= b) && latencies.iter().all(|ns| *ns > 100_000));
    assert_eq!(latencies.len(), 20, "the default of --limit");
    assert!(slowest["op"].as_array().unwrap().iter().all(|op| *op == 1));
    // Each run of the table has as many matches as the same search of that run alone.
    for run in of_order["runs"].as_array().unwrap() {
        let alone =
            json(&place, &format!("latency > 100us and op = write and run = {}", run["run"]));
        assert_eq!(alone["matched"], run["matched"]);
    }

    let text = place.run(&["query", "a.flashscope", "op=write and latency>0", "--limit", "3"]);
    let text = text.ok().stdout;
    assert!(text.contains("IOs match op = write and latency > 0 ns, in"), "{text}");
    assert_eq!(text.split("the slowest of these IOs\n").nth(1).unwrap().lines().count(), 4);
    let none = place.run(&["query", "a.flashscope", "errno = 5"]).ok().stdout;
    assert!(none.starts_with("0 of ") && none.lines().count() == 1, "{none}");
}

#[test]
fn problems_point_at_their_place() {
    let place = Scratch::in_memory();
    place.bench("null:", "a.flashscope", &["--only", "order", "--read-only"]).ok();
    let wrong = place.run(&["query", "a.flashscope", "op = read and latncy > 1ms"]);
    let message = wrong.message(2, &place);
    assert!(message.contains("did you mean `latency`?"), "{message}");
    assert!(
        message.contains("\n    op = read and latncy > 1ms\n                  ^^^^^^"),
        "{message}"
    );
    let nowhere = place.run(&["query", "none.flashscope", "run = 1"]).message(2, &place);
    assert!(nowhere.contains("none.flashscope"), "{nowhere}");
    let fields = place.run(&["query", "--list"]).ok().stdout;
    assert!(fields.starts_with("submitted ") && fields.contains("\nexperiment "), "{fields}");
    place.run(&["query", "a.flashscope"]).message(2, &place);
}
