//! Tests the memory limit of simulated drives, and traces with long gaps.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::{Value, json};

use super::Scratch;
use super::serve::{get, start};

/// An array of 256 drives that need tens of GiB of memory each, more than any machine has in total.
const HUGE: &str = "sim:demo?flash.pages_per_block=400000&raid.drives=256";

/// A drive that needs a few MiB.
const SMALL: &str = "sim:demo?flash.packages=1&flash.dies_per_package=1&flash.planes_per_die=1";

#[test]
fn drive_larger_than_memory_is_refused_by_every_command() {
    let place = Scratch::in_memory();
    for command in [
        &["plan", HUGE][..],
        &["bench", HUGE],
        &["probe", HUGE],
        &["simulate", "--drive", HUGE],
        &["what-if", "--drive", HUGE, "--change", "seed=3"],
        &["attach", HUGE],
        &["predict", "--drive", "sim:demo?flash.pages_per_block=400000", "--memory", "1GiB"],
    ] {
        let outcome = place.run(command);
        assert!(matches!(outcome.status, 1 | 2), "{command:?}: {}", outcome.stderr);
        for part in [" of memory", "the limit is", "--memory"] {
            assert!(outcome.stderr.contains(part), "{command:?}: {}", outcome.stderr);
        }
        assert!(fs::read_dir(place.path()).unwrap().count() == 0, "{command:?} leaves something");
    }
}

#[test]
fn memory_option_sets_the_limit_and_its_advice_suffices() {
    let place = Scratch::in_memory();
    let quick = ["--fill", "none", "--warmup", "none", "--ios", "10"];
    let run = |memory: &str| {
        place.run(&[&["simulate", "--drive", SMALL, "--memory", memory], &quick[..]].concat())
    };
    let refused = run("100KiB").message(2, &place);
    assert!(refused.contains("the limit is 100 KiB (set by `--memory`)"), "{refused}");
    let suggested = refused.split("--memory ").nth(1).unwrap().split('`').next().unwrap();
    run(suggested).ok();
}

#[test]
fn drives_of_a_sweep_wait_for_memory() {
    let place = Scratch::in_memory();
    let space = format!(
        "drive = '{SMALL}'\nios = 200\nwarm_up = 'none'\n[factors]\n\
         flash.blocks_per_plane = [64, 65, 66, 67, 100000]\n"
    );
    fs::write(place.at("space.toml"), space).unwrap();
    let sweep = |jobs: &str, name: &str| {
        let more = ["--jobs", jobs, "--output", name, "--memory", "2MiB", "--json"];
        let swept = place.run(&[&["sweep", "space.toml"], &more[..]].concat()).ok();
        serde_json::from_str::<Value>(&swept.stdout).unwrap()
    };
    let (one, many) = (sweep("1", "one"), sweep("16", "many"));
    assert_eq!(one, many);
    assert_eq!(one["counts"]["done"], 4, "{one}");
    assert!(one["skipped"][0]["reason"].as_str().unwrap().contains("of memory"), "{one}");
}

/// Posts a question to the server, and returns the response.
fn ask(address: &str, question: &Value) -> String {
    let body = question.to_string();
    let mut stream = TcpStream::connect(address).unwrap();
    let head = format!(
        "POST /api/what-if HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all((head + &body).as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn what_if_beyond_memory_is_refused_and_the_server_lives() {
    let place = Scratch::in_memory();
    let (mut server, output) = start(&place, &["--memory", "64MiB"]);
    let address = output["address"].as_str().unwrap();
    let changes = json!([{ "changes": "flash.pages_per_block=400000" }]);
    let question = |drive: &str| json!({ "drive": drive, "workload": "uniform?trims=0.1", "ios": 100, "repeats": 1, "variants": changes });
    let refused = ask(address, &question(HUGE));
    assert!(refused.starts_with("HTTP/1.1 4"), "{refused}");
    for part in ["of memory", "32 MiB", "one request to this server"] {
        assert!(refused.contains(part), "{part}: {refused}");
    }
    let answered = ask(address, &question(SMALL));
    assert!(answered.starts_with("HTTP/1.1 200"), "{answered}");
    assert!(answered.contains("\"impossible\"") && answered.contains("of memory"), "{answered}");
    assert!(get(address, "/api/shelf").starts_with("HTTP/1.1 200"));
    assert!(server.try_wait().unwrap().is_none(), "the server is gone");
    server.kill().unwrap();
    server.wait().unwrap();
}

#[test]
fn traces_with_gaps_of_years_play_to_the_end() {
    let place = Scratch::in_memory();
    let play = |times: &[u64]| {
        let lines = times.iter().enumerate().map(|(nth, at)| format!("{at} 0 {} 8 0\n", nth * 8));
        fs::write(place.at("gap.trace"), lines.collect::<String>()).unwrap();
        let trace = ["--fill", "none", "--workload", "trace:gap.trace?format=mqsim", "--json"];
        place.run(&[&["simulate", "--drive", "sim:demo"], &trace[..]].concat())
    };
    const YEAR: u64 = 365 * 86_400_000_000_000;
    let played: Value = serde_json::from_str(&play(&[0, YEAR, 300 * YEAR]).ok().stdout).unwrap();
    assert_eq!(played["ios"], 3);
    assert!(played["simulated_ns"].as_u64().unwrap() > 300 * YEAR);
    let played: Value =
        serde_json::from_str(&play(&[0, u64::MAX - 5, u64::MAX]).ok().stdout).unwrap();
    assert_eq!(played["ios"], 3);
    let many: Vec<u64> = (0..500).map(|nth| nth * YEAR).collect();
    let played: Value = serde_json::from_str(&play(&many).ok().stdout).unwrap();
    assert_eq!(played["ios"], 500);
}
