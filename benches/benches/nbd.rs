//! Compares the speed of an attached drive over NBD with nbdkit's memory drive, using fio as
//! client, and measures the lateness of answers in real time.

#![allow(clippy::print_stdout, reason = "a benchmark prints")]
#![allow(clippy::cast_precision_loss, reason = "counts are far below 2^53")]

#[path = "../../crates/attach/src/fixed.rs"]
mod fixed;

use std::path::Path;
use std::process::{Child, Command};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use flashscope_attach::{AttachedDrive, Export, Hooks, Lateness, Speed, Store, nbd};
use flashscope_benches::{Cost, main as bench_main, median, output, verdict};
use flashscope_block::{Bytes, Device, Nanos};
use flashscope_sim::SimDevice;

use fixed::FixedLatencyDrive;

const SIZE: Bytes = Bytes::mib(256);
const ROUNDS: usize = 5;
const SECONDS: u32 = 3;

/// The least speed relative to nbdkit.
const SPEED: f64 = 0.8;

/// The largest median and 99th percentile of the lateness in µs, on an otherwise idle core.
const LATENESS: [f64; 2] = [5.0, 50.0];

const PROFILE: &str = "agrawal-2008";

fn main() {
    bench_main(
        |_| Cost::default(),
        |selected| {
            println!(
                "4 KiB random IOs over NBD on a Unix socket, depth 32, of {PROFILE} at --speed max"
            );
            println!("operation       kIOPS   nbdkit's   ratio   at least {SPEED}");
            for operation in ["randread", "randwrite"] {
                if selected(operation) {
                    compare(operation);
                }
            }
            println!("lateness of answers to random reads of 4 KiB, in µs");
            println!(
                "drive              depth   answers   median           99 %   (at most {LATENESS:?})"
            );
            for depth in [1, 4, 32] {
                if selected(&format!("late fixed {depth}")) {
                    late(
                        "fixed, 100 µs",
                        Box::new(FixedLatencyDrive::new(SIZE, Nanos::micros(100))),
                        depth,
                    );
                }
                if selected(&format!("late sim {depth}")) {
                    late(PROFILE, Box::new(simulated()), depth);
                }
            }
            println!();
        },
    );
}

fn compare(operation: &str) {
    let folder = tempfile::tempdir().expect("a folder");
    let [ours_at, nbdkit_at] = ["ours", "nbdkit"].map(|name| folder.path().join(name));
    let ours = Server::start(Box::new(simulated()), &ours_at, Speed::Max);
    let nbdkit = Nbdkit::start(&nbdkit_at);
    for path in [&ours_at, &nbdkit_at] {
        fio(path, &["--rw=write", "--bs=1m"]);
    }
    let speed = |path: &Path| {
        let time = format!("--runtime={SECONDS}");
        let rw = format!("--rw={operation}");
        fio(path, &[&rw, "--bs=4k", "--norandommap", "--iodepth=32", "--time_based", &time])
    };
    let rounds: Vec<[f64; 2]> = (0..ROUNDS).map(|_| [speed(&ours_at), speed(&nbdkit_at)]).collect();
    drop((ours, nbdkit));
    let [our, their] = [0, 1].map(|which| median(rounds.iter().map(|round| round[which])));
    // The speed of the machine drifts. Ratios within a round are unaffected.
    let ratio = median(rounds.iter().map(|[ours, theirs]| ours / theirs));
    let [our, their] = [our, their].map(|iops| iops / 1e3);
    println!("{operation:<12} {our:>8.1} {their:>10.1} {ratio:>7.2}   {}", verdict(ratio >= SPEED));
}

fn late(name: &str, device: Box<dyn Device + Send>, depth: u32) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("socket");
    let server = Server::start(device, &path, Speed::Times(1.0));
    let [depth_is, time] = [format!("--iodepth={depth}"), format!("--runtime={SECONDS}")];
    fio(&path, &["--rw=randread", "--bs=4k", "--norandommap", "--time_based", &depth_is, &time]);
    let lateness = server.lateness();
    let [half, most] = [0.5, 0.99].map(|part| lateness.value_at_quantile(part) as f64 / 1e3);
    println!(
        "{name:<18} {depth:>5} {:>9} {half:>8.1} {:<6} {most:>8.1} {}",
        lateness.len(),
        verdict(half <= LATENESS[0]),
        verdict(most <= LATENESS[1]),
    );
}

/// Runs fio on the socket at `path`, and returns the IOPS.
fn fio(path: &Path, arguments: &[&str]) -> f64 {
    let mut command = Command::new("fio");
    command.args(["--name=x", "--ioengine=nbd", "--output-format=terse"]);
    command.arg(format!("--uri=nbd+unix:///?socket={}", path.display()));
    command.arg(format!("--size={}", SIZE.0));
    let printed = output(command.args(arguments));
    let fields: Vec<&str> = printed.trim().split(';').collect();
    // Fields 8 and 49 of the terse format are the IOPS of reads and writes.
    [7, 48].iter().map(|field| fields[*field].parse::<f64>().expect("a number")).sum()
}

fn simulated() -> SimDevice {
    let profile = flashscope_sim::setup::parse(PROFILE).expect("a built-in profile");
    SimDevice::new(PROFILE, &profile).expect("a valid profile")
}

/// A thread that serves an attached drive.
struct Server {
    drive: Arc<AttachedDrive<nbd::Recipient>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    fn start(device: Box<dyn Device + Send>, path: &Path, speed: Speed) -> Server {
        let info = device.info();
        let (name, logical_block) = (info.name.clone(), info.logical_block);
        let export = Export::new(name, (SIZE, logical_block));
        let store = Store::memory(SIZE).expect("there is memory");
        let drive = AttachedDrive::simulated(
            device,
            export,
            store,
            speed.into(),
            Hooks::default(),
            &mut |_, _| {},
        );
        let drive = Arc::new(drive.expect("an empty store can be read"));
        let address = nbd::Address::Unix(path.into());
        let listener = nbd::Listener::bind(&address).expect("no other program uses the folder");
        let stop = Arc::new(AtomicBool::new(false));
        let (its_drive, its_stop) = (Arc::clone(&drive), Arc::clone(&stop));
        let thread = std::thread::spawn(move || {
            nbd::serve(listener, its_drive, false, &its_stop).expect("the server accepts clients");
        });
        Server { drive, stop, thread: Some(thread) }
    }

    fn lateness(&self) -> Lateness {
        self.drive.snapshot().lateness_ns
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().expect("runs once").join().expect("the server ends");
    }
}

/// A process of nbdkit with a memory drive.
struct Nbdkit(Child);

impl Nbdkit {
    fn start(path: &Path) -> Nbdkit {
        let mut command = Command::new("nbdkit");
        command.args(["--foreground", "--unix"]).arg(path).args(["memory", &SIZE.0.to_string()]);
        let child = command.spawn().expect("nbdkit is installed");
        while !path.exists() {
            std::thread::sleep(Duration::from_millis(10));
        }
        Nbdkit(child)
    }
}

impl Drop for Nbdkit {
    fn drop(&mut self) {
        self.0.kill().expect("it was started");
        self.0.wait().expect("it ends");
    }
}
