//! Tests `flashscope trace`, and the playback of traces.

use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use flashscope_block::{Bytes, Nanos, Op};
use insta::assert_snapshot;
use serde_json::Value;

use crate::Scratch;

/// Returns a trace of two thousand requests in two seconds over the first 64 MiB, with three writes
/// per read.
fn trace(name: &str) -> Scratch {
    let place = Scratch::on_disk();
    fs::write(place.at(name), lines(2000)).unwrap();
    place
}

fn lines(count: u64) -> String {
    let line = |i: u64| {
        let time = 128_166_372_003_061_629 + i * 10_000;
        let op = if i.is_multiple_of(4) { "Read" } else { "Write" };
        let offset = i * 0x9e37_79b9 % 16_384 * 4096;
        format!(
            "{time},hm,1,{op},{offset},{},413\n",
            if i.is_multiple_of(10) { 8192 } else { 4096 }
        )
    };
    (0..count).map(line).collect()
}

#[test]
fn traces_convert_to_each_format_and_back() {
    let place = trace("t.csv");
    let outcome = place.run(&["trace", "convert", "t.csv", "-o", "t.parquet"]).ok();
    assert_snapshot!(outcome.stdout, @"2,000 requests for 8.59 MiB, from msr to parquet: t.parquet");
    assert_eq!(outcome.stderr, "");
    for name in ["t.iolog", "t.mqsim", "t.csv.zst", "u.csv"] {
        place.run(&["trace", "convert", "t.parquet", "--output", name]).ok();
    }
    assert_eq!(fs::read(place.at("u.csv")).unwrap(), fs::read(place.at("t.csv")).unwrap());
    let mut piped = place
        .command(&["trace", "convert", "-", "-o", "-", "--output-format", "msr"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let text = fs::read(place.at("t.csv.zst")).unwrap();
    piped.stdin.take().unwrap().write_all(&text).unwrap();
    let output = piped.wait_with_output().unwrap();
    assert!(output.status.success());
    assert_eq!(output.stdout, fs::read(place.at("t.csv")).unwrap());
    let json = place.run(&["trace", "convert", "t.csv", "-o", "j.mqsim", "--json"]).ok();
    let json: Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(json["requests_written"], 2000);
    assert_eq!(json["notes"][0], "2000 latencies were left out: the format has none");
}

#[test]
fn broken_line_is_an_error_or_counted() {
    let place = trace("t.csv");
    let mut text = lines(10);
    text.insert_str(text.len() / 2, "rubbish\n");
    // The truncated line is invalid, too.
    fs::write(place.at("b.csv"), text).unwrap();
    let convert = |more: &[&str]| {
        let command = ["trace", "convert", "b.csv", "-o", "b.parquet"];
        place.run(&[&command[..], more].concat())
    };
    assert_snapshot!(convert(&[]).message(2, &place), @"flashscope: b.csv: line 6: the time is `128rubbish`, not a whole number (--on-bad-line skip ignores such lines)");
    assert!(!place.at("b.parquet").exists());
    let skipped = convert(&["--on-bad-line", "skip"]).ok();
    assert_snapshot!(skipped.stderr, @"note: 2 bad lines were skipped (line 6: the time is `128rubbish`, not a whole number; line 7: the time is not between 1970 and 2554: it counts units of 100 ns from 1601)");
    assert_snapshot!(skipped.stdout, @"9 requests for 40 KiB, from msr to parquet: b.parquet");
}

#[test]
fn invalid_requests_are_refused_with_advice() {
    let place = trace("t.csv");
    fs::write(place.at("none.txt"), "once upon a time\n").unwrap();
    let message = |arguments: &[&str]| {
        place.run(&[&["trace", "convert"], arguments].concat()).message(2, &place)
    };
    assert_snapshot!(message(&["t.csv", "-o", "t.xyz"]), @"flashscope: the name `t.xyz` does not determine the format: add --output-format, with one of parquet, fio, msr, mqsim");
    assert_snapshot!(message(&["t.csv", "-o", "t.xyz", "--output-format", "parket"]), @"flashscope: --output-format: `parket` cannot be written (did you mean `parquet`?); choose one of parquet, fio, msr, mqsim");
    assert_snapshot!(message(&["t.csv", "-o", "t.csv"]), @"flashscope: t.csv exists already: choose another name, or remove it");
    assert_snapshot!(message(&["t.csv", "-o", "o.csv", "--volumes", "hm_2"]), @"flashscope: the trace: it has no volume `hm_2`; it has hm_1");
    assert_snapshot!(message(&["t.csv", "-o", "o.csv", "--speed", "fast"]), @"flashscope: --speed is `fast`: it must be a number from 0.000001 to 1000000");
    assert_snapshot!(message(&["t.csv", "-o", "o.csv", "--remap", "fold"]), @"flashscope: the trace: `remap` needs the size of the drive: set `into`");
    let unknown = message(&["none.txt", "-o", "o.csv"]);
    assert!(unknown.starts_with("flashscope: the format of none.txt is unknown: it begins with `once upon a time`; the formats are "), "{unknown}");
    let gone = place.run(&["trace", "convert", "gone.csv", "-o", "o.csv"]).message(1, &place);
    assert_snapshot!(gone, @"flashscope: cannot open gone.csv: No such file or directory (os error 2)");
    assert_eq!(place.names(), ["none.txt", "t.csv"]);
}

/// Returns the IOs of fio's log without their times.
fn fio_log(path: &Path) -> Vec<(Op, u64, u64)> {
    let text = fs::read_to_string(path).unwrap();
    let field = |line: &str, nth| -> u64 {
        line.split(',').nth(nth).and_then(|field: &str| field.trim().parse().ok()).unwrap()
    };
    let op = |line: &str| [Op::Read, Op::Write, Op::Trim][usize::try_from(field(line, 2)).unwrap()];
    text.lines().map(|line| (op(line), field(line, 4), field(line, 3))).collect()
}

#[test]
fn fio_replays_the_written_trace() {
    let place = trace("t.csv");
    place.run(&["trace", "convert", "t.csv", "--until", "500ms", "-o", "t.iolog"]).ok();
    fs::File::create(place.at("drive.img")).unwrap().set_len(64 << 20).unwrap();
    let mut fio = Command::new("fio");
    fio.args(["--name=replay", "--thread", "--ioengine=psync", "--read_iolog=t.iolog"]).args([
        "--replay_redirect=drive.img",
        "--write_lat_log=fio",
        "--log_offset=1",
    ]);
    let output = match fio.current_dir(place.path()).output() {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return println!("skipped: there is no fio; scripts/install-tools installs it");
        }
        output => output.unwrap(),
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let expected = lines(500);
    let expected = expected.lines().map(|line| {
        let fields: Vec<_> = line.split(',').collect();
        let op = if fields[3] == "Read" { Op::Read } else { Op::Write };
        (op, fields[4].parse().unwrap(), fields[5].parse().unwrap())
    });
    assert_eq!(fio_log(&place.at("fio_lat.1.log")), expected.collect::<Vec<_>>());
    let stat = place.run(&["trace", "stat", "fio_lat.1.log", "--json"]).ok().stdout;
    let stat: Value = serde_json::from_str(&stat).unwrap();
    assert_eq!(
        (&stat["formats"][0], &stat["facts"]["requests"]["total"]),
        (&"fio-log".into(), &500.into())
    );
    // fio issues IOs at their time or later.
    assert!(stat["facts"]["time"]["span_ns"].as_u64().unwrap() >= 498_000_000);
}

#[test]
fn iozone_trace_of_agrawal_runs_to_its_end() {
    let Some(iozone) = reference("ssd-iozone-aligned2-100K.trace.zst") else { return };
    let place = Scratch::in_memory();
    let command = ["simulate", "--drive", "agrawal-2008", "--fill", "none", "--json", "--trace"];
    let found = place.run(&[&command[..], &[iozone.to_str().unwrap()]].concat()).ok().stdout;
    let found: Value = serde_json::from_str(&found).unwrap();
    assert_eq!((&found["ios"], &found["status"]), (&100_000.into(), &"complete".into()));
    // All sizes in the trace are multiples of the page.
    assert_eq!(
        found["bytes_written"].as_u64(),
        found["host_pages_written"].as_u64().map(|n| n * 4096)
    );
    assert_eq!(found["flash_programs"]["host"], found["host_pages_written"]);
    assert!(found["erases"]["cleaning"].as_u64().unwrap() > 10_000);
}

/// Returns a trace of the reference data in `$FLASHSCOPE_DATA`, or in `shared/data` beside the
/// checkout. If the trace is missing, prints a note and returns `None`. Fails if the variable names
/// a folder without the trace.
fn reference(name: &str) -> Option<PathBuf> {
    #[allow(clippy::disallowed_methods)] // the environment names the folder of the data
    let folder = std::env::var_os("FLASHSCOPE_DATA").map(PathBuf::from);
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let path = folder.clone().unwrap_or_else(beside).join("traces").join(name);
    if path.exists() {
        return Some(path.canonicalize().unwrap());
    }
    assert!(folder.is_none(), "FLASHSCOPE_DATA: there is no {}", path.display());
    println!("skipped: there is no {}; set FLASHSCOPE_DATA", path.display());
    None
}

#[test]
fn simulated_drive_plays_a_trace_at_each_pace() {
    let place = trace("t.csv");
    let simulate = |spec: &str, more: &[&str]| -> Value {
        let command = ["simulate", "--trace", spec, "--json"];
        let outcome = place.run(&[&command[..], more].concat()).ok();
        serde_json::from_str(&outcome.stdout).unwrap()
    };
    let timed = simulate("t.csv", &[]);
    assert_eq!((&timed["ios"], &timed["open_loop"]), (&2000.into(), &true.into()));
    let took = timed["simulated_ns"].as_u64().unwrap();
    assert!((1_999_000_000..2_010_000_000).contains(&took), "{took}");
    assert_eq!(
        timed["bytes_read"].as_u64().unwrap() + timed["bytes_written"].as_u64().unwrap(),
        2200 * 4096
    );
    let faster = simulate("t.csv?speed=2", &[])["simulated_ns"].as_u64().unwrap();
    assert!((999_000_000..1_010_000_000).contains(&faster), "{faster}");
    let asap = simulate("t.csv?pace=asap&queue_depth=8", &[]);
    assert_eq!((&asap["open_loop"], &asap["queue_depth"]), (&false.into(), &8.into()));
    assert!(asap["simulated_ns"].as_u64().unwrap() < took / 2);
    let converged = simulate("t.csv?pace=asap", &["--warmup", "steady"]);
    assert_eq!(converged["warm_up"]["steady"], true);
    let windows = converged["warm_up"]["window_write_amplification"].as_array().unwrap().len();
    assert_eq!(converged["warm_up"]["ios"], 2000 * windows as u64);
    assert_eq!(converged["ios"], 2000);
    let small = place.run(&["simulate", "--trace", "t.csv?space=1000"]);
    assert!(small.message(2, &place).contains("put it on the drive by `remap=fold`"));
}

#[test]
fn file_plays_a_trace_in_order_with_every_io_recorded() {
    let place = trace("t.csv");
    let bench = |spec: &str, name: &str, more: &[&str]| {
        let command = [
            "bench",
            "file:drive.img?size=64MiB",
            "--state",
            "keep",
            "--keep",
            "--trace",
            spec,
            "--output",
            name,
        ];
        place.run(&[&command[..], more].concat())
    };
    bench("t.csv?speed=4", "timed", &[]).ok();
    let result = place.result("timed");
    let run = result.done().next().unwrap();
    let records = result.folder.records(run).unwrap().to_vec().unwrap();
    assert_eq!(records.len(), 2000);
    assert_eq!(records.iter().filter(|r| r.op == Op::Read).count(), 500);
    assert_eq!(records.iter().fold(Bytes(0), |sum, r| sum + r.len), Bytes(2200 * 4096));
    let mut due: Vec<u64> = records.iter().map(|r| r.submitted.0 - r.late.0).collect();
    due.sort_unstable();
    let begun = due[0];
    let due: Vec<u64> = due.iter().map(|due| due - begun).collect();
    let planned: Vec<u64> = (0..2000).map(|i| i * Nanos::millis(1).0 / 4).collect();
    assert_eq!(due, planned);
    let facts = result.json("facts.json");
    assert!(facts["runs"][0]["open_loop"]["late_ns"]["max"].as_u64().is_some());

    bench("t.csv?pace=asap&queue_depth=4&ops=read", "asap", &["--read-only"]).ok();
    let facts = place.result("asap").json("facts.json");
    assert_eq!(
        (&facts["runs"][0]["ios"], &facts["runs"][0]["open_loop"]),
        (&500.into(), &Value::Null)
    );
    assert_snapshot!(bench("t.csv", "r", &["--read-only"]).message(2, &place), @"flashscope: the trace writes, and --read-only forbids it: `ops=read` plays only its reads");
    assert_snapshot!(bench("t.csv?pace=slow", "r", &[]).message(2, &place), @"flashscope: workload field `pace` is slow: it must be `timed` or `asap`");
    assert_snapshot!(bench("t.csv?space=2", "r", &["--destroy-data-on", "drive.img"]).message(2, &place), @"flashscope: t.csv: it reaches up to 128 MiB (134213632 B), and the drive has 64 MiB (67108864 B): put it on the drive by `remap=fold` or `remap=compact`, or scale it by `space`");
    assert!(!place.at("r").exists());
}

#[test]
fn each_trace_command_has_an_example() {
    let place = Scratch::in_memory();
    let overview = place.run(&["trace", "--help"]).ok().stdout;
    let (_, commands) = overview.split_once("Commands:\n").unwrap();
    // Continuation lines are indented further.
    let lines = commands.lines().take_while(|line| !line.is_empty());
    let names = lines.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    let names: Vec<&str> = names.filter(|name| !["", "help"].contains(name)).collect();
    assert!(names.len() >= 3, "{names:?}");
    for name in names {
        let help = place.run(&["trace", name, "--help"]).ok().stdout;
        let (_, examples) = help.split_once("\nExample").unwrap_or_else(|| panic!("{name}: none"));
        assert!(examples.contains(&format!("flashscope trace {name}")), "{examples}");
    }
}
