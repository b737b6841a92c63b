//! Tests `flashscope watch`.

use std::fmt::Write;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, SystemTime};

use flashscope_measure::{seconds_of, timestamp_of};
use serde_json::Value;

use crate::simulate::{assert_conforms, published};
use crate::watched::{Drive, get, write};
use crate::{Outcome, Scratch};

fn root() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Creates a folder with the SMART log of the test data. Programs in it find no attached drive of
/// other tests.
fn with_a_log() -> Scratch {
    let place = Scratch::in_memory();
    fs::copy(root().join("testdata/fio/after.json"), place.at("smart.json")).unwrap();
    place
}

fn command(place: &Scratch, arguments: &[&str]) -> Command {
    let mut command = place.command(arguments);
    command.env("XDG_RUNTIME_DIR", place.path());
    command
}

fn run(place: &Scratch, arguments: &[&str]) -> Outcome {
    Outcome::of(&mut command(place, arguments))
}

/// Returns the JSON of a watch that reads once, after checking it against the published schema.
fn once(place: &Scratch, arguments: &[&str]) -> Value {
    let outcome = run(place, &[&["watch", "--once", "--json"], arguments].concat()).ok();
    let value: Value = serde_json::from_str(&outcome.stdout).unwrap();
    let schema = published("watch");
    assert_conforms(&value, &schema, &schema, "watch");
    value
}

/// Returns the readings of a folder, after checking them against the published schemas.
fn readings(place: &Scratch, name: &str) -> Vec<Value> {
    let header = fs::read(place.at(name).join("watch.json")).unwrap();
    let schema = published("watch-folder");
    assert_conforms(&serde_json::from_slice(&header).unwrap(), &schema, &schema, "watch-folder");
    let schema = published("watch-reading");
    let text = fs::read_to_string(place.at(name).join("readings.jsonl")).unwrap();
    let reading = |line: &str| {
        let value: Value = serde_json::from_str(line).unwrap();
        assert_conforms(&value, &schema, &schema, "watch-reading");
        value
    };
    text.lines().map(reading).collect()
}

/// A watch that serves metrics, which is killed when it is dropped.
struct Server {
    process: Child,
    host: String,
}

impl Server {
    fn start(place: &Scratch, arguments: &[&str]) -> Server {
        let listen = ["watch", "--listen", "127.0.0.1:0", "--interval", "1s"];
        let mut command = command(place, &[&listen, arguments].concat());
        let mut process = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let host =
            line.trim().strip_prefix("http://").and_then(|line| line.strip_suffix("/metrics"));
        Server { process, host: host.unwrap_or_else(|| panic!("{line}")).to_owned() }
    }

    fn metrics(&self) -> String {
        get(&self.host, "/metrics")
    }

    /// Ends the process with a signal.
    fn end(&mut self, signal: &str) -> Option<i32> {
        let pid = self.process.id().to_string();
        assert!(Command::new("kill").args([signal, &pid]).status().unwrap().success());
        self.process.wait().unwrap().code()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Waits until `observed` is true.
fn wait_until(what: &str, mut observed: impl FnMut() -> bool) {
    for _ in 0..600 {
        if observed() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    panic!("no {what} in 30 seconds");
}

#[test]
fn an_attached_drive_is_watched_like_a_real_one() {
    let place = Scratch::in_memory();
    let drive = Drive::attach(&place);
    write(&place);
    let report = once(&place, &["attached"]);
    let watched = &report["drives"][0];
    assert_eq!(watched["drive"]["source"], "attached");
    assert_eq!(watched["health"]["host_bytes_written"], 512_000);
    assert_eq!(watched["health"]["ocp"]["media_bytes_written"], 4096);
    assert_eq!(watched["endurance"]["status"], "unknown");
    let table = run(&place, &["watch", "attached", "--once"]).ok().stdout;
    assert!(table.starts_with("DRIVE "), "{table}");
    assert!(table.contains("percentage used has not moved since 20"), "{table}");

    let mut server = Server::start(&place, &["attached"]);
    let metrics = server.metrics();
    assert!(metrics.contains("flashscope_watch_host_written_bytes_total{drive="), "{metrics}");
    drive.end("-INT");
    let is_down = || {
        let metrics = server.metrics();
        metrics
            .lines()
            .any(|line| line.starts_with("flashscope_watch_up{") && line.ends_with(" 0.0"))
    };
    wait_until("failed reading", is_down);
    assert_eq!(server.end("-INT"), Some(0));
}

#[test]
fn a_log_of_nvme_cli_is_published_and_kept() {
    let place = with_a_log();
    let mut server = Server::start(&place, &["smart.json", "--output", "w.flashscope"]);
    let metrics = server.metrics();
    for line in [
        "flashscope_watch_up{drive=\"smart.json\"} 1.0",
        "flashscope_watch_life_used_ratio{drive=\"smart.json\"} 0.02",
        "flashscope_watch_critical_warning{drive=\"smart.json\",warning=\"temperature\"} 1.0",
        "flashscope_watch_unsafe_shutdowns_total{drive=\"smart.json\"} 5.0",
    ] {
        assert!(metrics.contains(&format!("\n{line}\n")), "{line} in {metrics}");
    }
    assert_eq!(readings(&place, "w.flashscope").len(), 1, "the first reading is durable at once");
    // A second writer is refused.
    let busy = run(&place, &["watch", "smart.json", "--once", "--output", "w.flashscope"]);
    assert!(busy.message(2, &place).contains("another flashscope"));
    // A change is stored immediately, with the reading before it.
    let log = fs::read_to_string(place.at("smart.json")).unwrap();
    fs::write(place.at("smart.json"), log.replace("\"percent_used\":2", "\"percent_used\":3"))
        .unwrap();
    wait_until("change", || readings(&place, "w.flashscope").len() >= 2);
    assert_eq!(server.end("-INT"), Some(0));
    let kept = readings(&place, "w.flashscope");
    let used = |reading: &Value| reading["health"]["percentage_used"].as_u64();
    assert_eq!((used(&kept[0]), used(kept.last().unwrap())), (Some(2), Some(3)));
}

#[test]
fn a_killed_watch_leaves_a_folder_that_the_next_one_continues() {
    let place = with_a_log();
    let mut server = Server::start(&place, &["smart.json", "--output", "w.flashscope"]);
    assert_eq!(server.end("-KILL"), None);
    let file = place.at("w.flashscope").join("readings.jsonl");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, format!("{text}{}", &text[..100])).unwrap();
    let more = ["watch", "smart.json", "--once", "--output", "w.flashscope"];
    let log = fs::File::options().append(true).open(place.at("smart.json")).unwrap();
    let modify = |second: u64| {
        log.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(4_000_000_000 + second))
    };
    for second in [0, 0, 1] {
        modify(second).unwrap();
        run(&place, &more).ok();
    }
    let kept = readings(&place, "w.flashscope");
    assert_eq!(kept.len(), 3, "an unchanged file is no new reading");
    assert_eq!(kept[2]["at"], "2096-10-02T07:06:41Z");
    fs::write(&file, format!("{{}}\n{text}")).unwrap();
    let damaged = run(&place, &more).message(1, &place);
    assert!(damaged.contains("readings.jsonl is damaged: line 1: missing field"), "{damaged}");
}

/// Replaces the readings of a folder by one a day in the last 30 days, of a drive that used a
/// percent in `days` days. Returns the time of the first.
fn replace_readings(place: &Scratch, name: &str, days: u64) -> String {
    let file = place.at(name).join("readings.jsonl");
    let text = fs::read_to_string(&file).unwrap();
    let now: Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    let [written, used] = ["host_bytes_written", "percentage_used"]
        .map(|counter| now["health"][counter].as_u64().unwrap());
    let last = seconds_of(now["at"].as_str().unwrap()).unwrap();
    let at = |before: u64| timestamp_of(i64::try_from(last - 86_400 * before).unwrap());
    let mut text = String::new();
    for before in (0..30).rev() {
        let mut reading = now.clone();
        reading["at"] = at(before).into();
        reading["health"]["host_bytes_written"] = (written - 1_000_000_000 * before).into();
        reading["health"]["percentage_used"] = (used - before / days).into();
        writeln!(text, "{reading}").unwrap();
    }
    fs::write(&file, text).unwrap();
    at(29)
}

#[test]
fn readings_of_a_folder_give_a_forecast() {
    let place = with_a_log();
    let log = fs::read_to_string(place.at("smart.json")).unwrap();
    fs::write(place.at("smart.json"), log.replace("\"percent_used\":2", "\"percent_used\":9"))
        .unwrap();
    let output = ["smart.json", "--output", "w.flashscope"];
    once(&place, &output);
    let since = replace_readings(&place, "w.flashscope", 10);
    let text = run(&place, &[&["watch", "--once"], &output[..]].concat()).ok().stdout;
    let few =
        format!("percentage used has moved only twice since {since}; a forecast needs 3 steps");
    assert!(text.contains(&few), "{text}");

    replace_readings(&place, "w.flashscope", 5);
    let report = once(&place, &output);
    let endurance = &report["drives"][0]["endurance"];
    let forecast = &endurance["forecast"];
    assert_eq!((&forecast["counter"], &forecast["steps"]), (&"host".into(), &5.into()));
    let [low, left, high] = ["days_left_low", "days_left", "days_left_high"]
        .map(|name| forecast[name].as_f64().unwrap());
    assert!(0.0 < low && low <= left && left <= high, "{endurance}");
}

#[test]
fn a_watch_without_drives_says_so_and_waits_for_one() {
    let place = Scratch::in_memory();
    let listen = ["watch", "attached", "--listen", "127.0.0.1:0", "--interval", "1s"];
    let mut command = command(&place, &listen);
    let mut process = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(process.stderr.take().unwrap()).read_line(&mut line).unwrap();
    process.kill().unwrap();
    process.wait().unwrap();
    assert!(line.contains("there is no drive to watch"), "{line}");
}

#[test]
fn unusable_devices_and_options_are_named() {
    let place = with_a_log();
    let message = |arguments: &[&str], status| {
        run(&place, &[&["watch"], arguments].concat()).message(status, &place)
    };
    let missing = message(&["/dev/nvme77n1", "--once"], 2);
    assert!(missing.contains("device `/dev/nvme77n1` does not exist"), "{missing}");
    assert!(message(&["smart.json"], 2).contains("give --once for a table, --listen"));
    assert!(message(&["smart.json", "--json"], 2).contains("--once"));
    let short = message(&["smart.json", "--listen", "127.0.0.1", "--interval", "10ms"], 2);
    assert!(short.contains("the shortest interval is `1s`"), "{short}");
    assert!(message(&["smart.json", "--listen", "here"], 2).contains("127.0.0.1:9470"));
    assert!(message(&["attached", "--once"], 2).contains("no drive is attached"));
    fs::create_dir(place.at("other")).unwrap();
    let other = message(&["smart.json", "--once", "--output", "other"], 2);
    assert!(other.contains("other is not a watch"), "{other}");
    fs::write(place.at("bad.json"), "{\"critical_warning\": 0}").unwrap();
    let bad = run(&place, &["watch", "bad.json", "smart.json", "--once"]);
    assert!(bad.stdout.contains("cannot be read: bad.json"), "{}", bad.stdout);
    assert!(bad.stdout.contains("smart.json") && bad.message(1, &place).contains("temperature"));
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let busy = message(&["smart.json", "--listen", &address], 2);
    assert!(busy.contains("choose another address with --listen"), "{busy}");
}

#[test]
fn drives_that_are_not_nvme_are_refused_without_a_command() {
    let place = Scratch::in_memory();
    let entries = fs::read_dir("/sys/block").into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().into_string().unwrap());
    let other = names.map(|name| format!("/dev/{name}"));
    let Some(other) = other
        .into_iter()
        .find(|path| !path.contains("nvme") && !path.contains('!') && Path::new(path).exists())
    else {
        println!("skipped: this machine shows no other drive");
        return;
    };
    let message = run(&place, &["watch", &other, "--once"]).message(2, &place);
    let expected = "is not an NVMe drive: the health of other drives is not supported";
    assert!(message.contains(expected), "{message}");
}

#[test]
fn files_for_a_fleet_are_printed() {
    let place = Scratch::in_memory();
    let printed = |file: &str| run(&place, &["watch", "--print", file]).ok().stdout;
    let dashboard: Value = serde_json::from_str(&printed("dashboard")).unwrap();
    assert!(dashboard["panels"].as_array().unwrap().len() > 5);
    assert!(printed("alerts").contains("\n      - alert: DriveWearsOutSoon\n"));
    assert!(
        printed("systemd")
            .contains("\nExecStart=/usr/local/bin/flashscope watch --listen 127.0.0.1:9470 ")
    );
    assert!(place.names().is_empty());
}

/// Returns the calls in the documentation and in the help, split as by a shell.
fn calls(place: &Scratch) -> Vec<Vec<String>> {
    let page = fs::read_to_string(root().join("docs/watch.md")).unwrap();
    let help = run(place, &["watch", "--help"]).ok().stdout;
    let examples = help.split_once("\nExamples:\n").unwrap().1.to_owned();
    let lines = page.lines().chain(examples.lines()).filter(|line| line.starts_with("  "));
    let call = |line: &str| {
        let words = shlex::split(line)?;
        let end = words.iter().position(|word| [">", "&"].contains(&word.as_str()));
        let words = words[..end.unwrap_or(words.len())].to_vec();
        (words.len() > 1 && words[..2] == ["flashscope", "watch"]).then_some(words)
    };
    lines.filter_map(call).collect()
}

#[test]
fn every_call_in_help_and_documentation_works() {
    let place = with_a_log();
    let drive = Drive::attach(&place);
    let calls = calls(&place);
    assert!(calls.len() > 8, "{calls:?}");
    for call in calls {
        // Other tests may use the port.
        let words: Vec<String> = call[1..].iter().map(|word| word.replace(":9470", ":0")).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        println!("{words:?}");
        if words.iter().any(|word| word.starts_with("/dev/")) {
            if !words.iter().any(|word| Path::new(word).exists()) {
                assert!(run(&place, &words).message(2, &place).contains("does not exist"));
            }
        } else if words.contains(&"--listen") {
            let mut child = command(&place, &words).stdout(Stdio::piped()).spawn().unwrap();
            let mut line = String::new();
            BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
            assert!(line.starts_with("http://"), "{line}");
            let pid = child.id().to_string();
            assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
            assert!(child.wait().unwrap().success());
        } else {
            assert!(!run(&place, &words).ok().stdout.is_empty());
        }
    }
    drive.end("-INT");
}
