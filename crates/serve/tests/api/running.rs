//! Tests the API of a command that runs.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::body::Body;
use axum::http::{Request, header};
use flashscope_document::conclusion::EvidenceUnit;
use flashscope_document::running::{RunningCommand, RunningStatus};
use flashscope_serve::{Access, StateSource, running};
use serde_json::{Value, json};

use crate::{Answer, ask};

/// Returns the answer for `path` of a server whose command has these states in turn.
fn get(path: &str, states: Vec<RunningCommand>) -> Answer {
    let next = AtomicU64::new(0);
    let watched: Arc<StateSource> = Arc::new(move || {
        let nth = next.fetch_add(1, Ordering::Relaxed).min(states.len() as u64 - 1);
        (nth, states[usize::try_from(nth).unwrap()].clone())
    });
    let request = Request::get(path).header(header::HOST, "localhost").body(Body::empty());
    ask(&running(watched, Access::Loopback), request.unwrap())
}

fn states() -> Vec<RunningCommand> {
    let begun = RunningCommand::new("flashscope simulate\n--live".into());
    let mut measuring = begun.clone();
    measuring.phase = "measuring".into();
    measuring.plot("Latency", "IOs", EvidenceUnit::Nanoseconds, "mean", [1.0, 2.0]);
    let ended = RunningCommand { status: RunningStatus::Done, ..measuring.clone() };
    vec![begun, measuring, ended]
}

#[test]
fn events_are_complete_states_until_the_command_ends() {
    let answer = get("/api/running/events", states()).ok();
    assert_eq!(answer.headers[header::CONTENT_TYPE], "text/event-stream");
    let text = String::from_utf8(answer.body).unwrap();
    let events: Vec<Value> = text
        .split_terminator("\n\n")
        .map(|event| serde_json::from_str(event.strip_prefix("data: ").unwrap()).unwrap())
        .collect();
    let told: Vec<_> = events.iter().map(|event| (&event["status"], &event["phase"])).collect();
    let expected = [("running", ""), ("running", "measuring"), ("done", "measuring")];
    let expected = expected.map(|(status, phase)| (json!(status), json!(phase)));
    assert_eq!(told, expected.each_ref().map(|(status, phase)| (status, phase)));
    assert_eq!(events[2]["charts"][0]["series"][0]["points"], json!([[1.0, 2.0]]));
    assert_eq!(events[0]["command"], "flashscope simulate\n--live");
}

#[test]
fn a_reload_gets_the_state_at_once() {
    let last = states().pop().unwrap();
    let state = get("/api/running", vec![last.clone()]).ok().json();
    assert_eq!(state, serde_json::to_value(last).unwrap());
    let page = String::from_utf8(get("/", states()).ok().body).unwrap();
    assert!(page.contains("{\"running\":true}"));
}
