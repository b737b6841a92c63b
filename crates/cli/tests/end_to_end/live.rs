//! Tests `--live`: the page of a command that runs.

use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;

use serde_json::Value;

use super::Scratch;
use super::serve::get;

/// Runs a command with `--live`, and returns its exit status, its standard output, and the events
/// that a browser gets.
fn run(place: &Scratch, arguments: &[&str]) -> (Option<i32>, String, Vec<Value>) {
    let mut command = place.command(&[arguments, &["--live"]].concat());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    stderr.read_line(&mut line).unwrap();
    let address = line.trim().strip_prefix("flashscope: the progress is at http://").expect(&line);
    let answer = get(address.trim_end_matches('/'), "/api/running/events");
    let events = answer.lines().filter_map(|line| line.strip_prefix("data: "));
    let events = events.map(|event| serde_json::from_str(event).expect(event)).collect();
    let mut stdout = String::new();
    child.stdout.take().unwrap().read_to_string(&mut stdout).unwrap();
    // The pipe stays open, so that notes do not fail.
    let mut rest = String::new();
    stderr.read_to_string(&mut rest).unwrap();
    (child.wait().unwrap().code(), stdout, events)
}

fn titles(event: &Value) -> Vec<&str> {
    let charts = event["charts"].as_array().unwrap();
    charts.iter().map(|chart| chart["title"].as_str().unwrap()).collect()
}

#[test]
fn simulation_shows_its_latency_while_it_runs_and_its_end() {
    let place = Scratch::in_memory();
    let arguments = ["simulate", "--ios", "200k", "--warmup", "0", "--seed", "3", "--json"];
    let (status, stdout, events) = run(&place, &arguments);
    assert_eq!(status, Some(0));
    let last = events.last().unwrap();
    assert_eq!((&last["status"], &last["error"]), (&"done".into(), &Value::Null));
    assert_eq!(last["command"], format!("flashscope {} --live", arguments.join(" ")));
    assert_eq!(titles(last), ["Mean latency"]);
    let points = last["charts"][0]["series"][0]["points"].as_array().unwrap();
    assert!(points.len() > 1, "{points:?}");
    // The page changes nothing: the same seed gives the same numbers without it.
    let alone = place.run(&arguments).ok().stdout;
    let mut alone: Value = serde_json::from_str(&alone).unwrap();
    let mut watched: Value = serde_json::from_str(&stdout).unwrap();
    for document in [&mut alone, &mut watched] {
        let fields = document.as_object_mut().unwrap();
        fields.retain(|name, _| !["wall_ns", "speed"].contains(&name.as_str()));
    }
    assert_eq!(alone, watched);
}

#[test]
fn benchmark_shows_each_run_that_ended() {
    let place = Scratch::in_memory();
    // Pauses between runs would take a minute.
    let arguments =
        ["bench", "null:", "--only", "parallelism", "--seed", "1", "--run-pause", "0ms"];
    let (status, _, events) = run(&place, &arguments);
    assert_eq!(status, Some(0));
    let last = events.last().unwrap();
    assert_eq!(titles(last), ["IOs per second of each run"]);
    let latest = last["latest"][0]["what"].as_str().unwrap();
    assert!(latest.starts_with("parallelism "), "{latest}");
}

#[test]
fn failure_is_shown_with_its_reason() {
    let place = Scratch::in_memory();
    let (status, _, events) = run(&place, &["simulate", "--drive", "sim:nothing"]);
    assert_eq!(status, Some(2));
    let last = events.last().unwrap();
    assert_eq!(last["status"], "failed");
    assert!(last["error"].as_str().unwrap().contains("nothing"), "{last}");
}

#[test]
fn busy_address_is_refused_with_advice() {
    let place = Scratch::in_memory();
    let busy = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = busy.local_addr().unwrap();
    let output = place.command(&["simulate", &format!("--live={address}")]).output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr.contains("choose another address with --live"), "{stderr}");
}
