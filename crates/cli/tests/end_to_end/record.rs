//! Tests `flashscope trace record`, which needs root and a kernel that traces block devices.
//! Without them, the tests print a note and are skipped.
//!
//! A single test uses the tracer, because the system has only one.

use std::fs;
use std::path::Path;
use std::time::Duration;

use flashscope_block::{Bytes, Data, Device, Io, Nanos, Op};
use flashscope_drive::{Access, EngineKind, Location, OpenOptions, RealDevice, open};
use flashscope_trace::{Reader, Request, Spec};
use serde_json::Value;

use crate::bench::Loop;
use crate::{Running, Scratch, succeeds};

/// The requests of the test, at offsets and in sizes that no other program uses.
const ASKED: [(Op, u64, u64); 7] = [
    (Op::Write, 8 << 20, 4096),
    (Op::Read, 3 << 20, 8192),
    (Op::Write, 512, 512),
    (Op::Flush, 0, 0),
    (Op::Trim, 16 << 20, 1 << 20),
    (Op::Read, 8 << 20, 4096),
    (Op::Write, (32 << 20) - 65_536, 65_536),
];

/// Returns the settings of the tracer, and whether the device is traced.
fn settings(device: &str) -> Vec<String> {
    let tracefs = "/sys/kernel/tracing";
    let names = ["current_tracer", "tracing_on", "trace_clock", "buffer_size_kb", "trace_options"];
    let names = names.map(|name| format!("{tracefs}/{name}"));
    let enabled = format!("/sys/block/{}/trace/enable", device.trim_start_matches("/dev/"));
    names.iter().chain([&enabled]).map(|path| fs::read_to_string(path).unwrap()).collect()
}

/// Starts a recording, and returns once the device is traced; `None` if this machine cannot trace.
fn start(place: &Scratch, device: &str, output: &str) -> Option<Running> {
    let enabled = format!("/sys/block/{}/trace/enable", device.trim_start_matches("/dev/"));
    for _ in 0..600 {
        let mut running = place.start(&["trace", "record", device, "--output", output, "--json"]);
        loop {
            if fs::read_to_string(&enabled).is_ok_and(|text| text.trim() == "1") {
                return Some(running);
            }
            if running.0.as_mut().unwrap().try_wait().unwrap().is_some() {
                break;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        let message = running.wait().1;
        let missing =
            ["with `sudo`", "locked down", "tracefs is not mounted", "CONFIG_BLK_DEV_IO_TRACE"];
        if missing.iter().any(|missing| message.contains(missing)) {
            println!("skipped: {message}");
            return None;
        }
        assert!(message.contains("the kernel's tracer is in use"), "{message}");
        std::thread::sleep(Duration::from_millis(100));
    }
    println!("skipped: somebody else uses the kernel's tracer all the time");
    None
}

fn ask(device: &mut RealDevice) {
    for (op, offset, len) in ASKED {
        let (offset, len, at) = (Bytes(offset), Bytes(len), device.now());
        device.submit(&Io { op, stream: 0, offset, len, at, data: Data::Random });
        let completion = device.complete(Nanos::MAX).expect("one is in flight");
        assert_eq!(completion.result, Ok(()), "{op:?}");
    }
}

fn requests(path: &Path) -> Vec<Request> {
    let mut trace = Spec::default().open(&[path.to_str().unwrap()]).unwrap();
    let (mut all, mut batch) = (Vec::new(), Vec::new());
    loop {
        trace.read(&mut batch).unwrap();
        if batch.is_empty() {
            return all;
        }
        all.append(&mut batch);
    }
}

/// Asserts that these are the issued requests, with latencies and current times.
fn assert_requested(requests: &[Request]) {
    let seen: Vec<_> = requests.iter().map(|r| (r.op, r.offset.0, r.len.0)).collect();
    assert_eq!(seen, ASKED);
    for pair in requests.windows(2) {
        let answered = pair[0].at + pair[0].latency.expect("it was answered");
        assert!(
            answered <= pair[1].at,
            "an IO was submitted before the previous one completed: {pair:?}"
        );
    }
    let year = 365 * 24 * 3_600 * 1_000_000_000;
    assert!(requests.iter().all(|r| r.at.0 / year >= 50), "since 1970: {:?}", requests[0].at);
}

// A recording restores the settings of the kernel's tracer.
#[test]
fn recordings_contain_exactly_the_requests() {
    let place = Scratch::on_disk();
    let Some(block) = Loop::new(&place) else { return };
    let confirmation = Some(block.device.clone());
    let options = OpenOptions {
        access: Access::Write { confirmation },
        engine: Some(EngineKind::Psync),
        ..OpenOptions::new(Location::BlockDevice(block.device.clone().into()))
    };
    let mut device = open(&options).unwrap_or_else(|error| panic!("{error}"));
    // Waits until services that inspect new devices, such as udev, have finished.
    succeeds("udevadm", &["settle"]);
    for output in ["r.blktrace", "r.parquet"] {
        let Some(running) = start(&place, &block.device, output) else { return };
        ask(&mut device);
        running.signal("-INT");
        let (status, stdout, stderr) = running.wait_with_output();
        assert!(status.success(), "{stderr}");
        assert_requested(&requests(&place.at(output)));
        let summary: Value = serde_json::from_str(&stdout).unwrap();
        assert_eq!(
            (&summary["requests"], &summary["events_lost"]),
            (&7.into(), &0.into()),
            "{stdout}"
        );
        let bytes: u64 = ASKED.iter().map(|(_, _, len)| len).sum();
        assert_eq!(summary["bytes"], bytes);
    }
    place.run(&["trace", "convert", "r.blktrace", "--output", "c.parquet"]).ok();
    place.run(&["trace", "convert", "r.blktrace", "--output", "c.iolog"]).ok();
    let recorded = requests(&place.at("r.blktrace"));
    assert_eq!(requests(&place.at("c.parquet")), recorded);
    let place_of = |r: &Request| (r.op, r.offset, r.len);
    let replayed = requests(&place.at("c.iolog"));
    assert!(replayed.iter().map(place_of).eq(recorded.iter().map(place_of)));
    every_end_is_clean(&place, &block.device, &mut device);
}

/// Asserts that the settings are restored, however a recording ends.
fn every_end_is_clean(place: &Scratch, device: &str, drive: &mut RealDevice) {
    let before = settings(device);
    let enough = ["trace", "record", device, "--duration", "50ms", "--output", "d.parquet"];
    place.run(&enough).ok();
    assert_eq!(settings(device), before, "after its time");
    for signal in ["-INT", "-TERM"] {
        let output = format!("end{signal}.csv");
        let Some(running) = start(place, device, &output) else { return };
        ask(drive);
        running.signal(signal);
        assert!(running.wait().0.success());
        assert_eq!(settings(device), before, "after {signal}");
        assert!(place.at(&output).exists());
    }
    if Path::new("/dev/full").exists() {
        let full = ["trace", "record", device, "--duration", "50ms", "--output-format", "blktrace"];
        let full = place.command(&full).args(["--output", "-"]).stdout(full_device()).output();
        assert!(!full.unwrap().status.success());
        assert_eq!(settings(device), before, "after a failure");
    }
}

fn full_device() -> fs::File {
    fs::OpenOptions::new().write(true).open("/dev/full").unwrap()
}

#[test]
fn impossible_recordings_are_refused_with_advice() {
    let place = Scratch::on_disk();
    for (device, expected) in [
        ("/dev/null", "`/dev/null` is not a block device"),
        ("/dev/there-is-none", "device `/dev/there-is-none` does not exist"),
    ] {
        let outcome = place.run(&["trace", "record", device, "--output", "r.csv"]);
        assert!(outcome.message(2, &place).contains(expected));
    }
    let outcome = place.run(&["trace", "record", "/dev/null", "--output", "r.rubbish"]);
    assert!(outcome.message(2, &place).contains("does not determine the format"));
    assert_eq!(place.names(), [""; 0], "nothing is left");
}
