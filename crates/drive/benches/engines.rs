//! What an IO costs through each engine, against fio with the same engine on the same file.
//!
//! `cargo bench -p flashscope-drive` prints a table: 4 KiB random reads on a file of 1 GiB in
//! memory (tmpfs, buffered) and on the disk that this is built on (direct), one pinned core, this
//! crate and fio alternating. CPU is that of the whole process, kernel workers included, without its
//! start and end. Own time is the user part of it here, where the times of each IO are kept. Words after `--` choose the cases whose names hold one of them.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use flashscope_block::{Bytes, Device, Io, Nanos, Op};
use flashscope_drive::{Access, EngineKind, Location, OpenOptions, open};

const SIZE: Bytes = Bytes::GIB;
const BLOCK: Bytes = Bytes::kib(4);
const ROUNDS: usize = 3;
/// The marker by which this binary, called by itself, knows that it is to run one case.
const CHILD: &str = "--one-case";

struct Case {
    place: &'static str,
    engine: &'static str,
    depth: u32,
    ios: u64,
}

const fn case(place: &'static str, engine: &'static str, depth: u32, ios: u64) -> Case {
    Case { place, engine, depth, ios }
}

const CASES: [Case; 9] = [
    case("tmpfs", "psync", 1, 1_500_000),
    case("tmpfs", "libaio", 1, 1_000_000),
    case("tmpfs", "libaio", 32, 1_500_000),
    case("tmpfs", "io_uring", 1, 400_000),
    case("tmpfs", "io_uring", 32, 800_000),
    case("disk", "psync", 1, 40_000),
    case("disk", "io_uring", 1, 40_000),
    case("disk", "libaio", 32, 200_000),
    case("disk", "io_uring", 32, 200_000),
];

/// What one run took.
#[derive(Clone, Copy)]
struct Cost {
    iops: f64,
    /// User and system time in microseconds an IO.
    cpu: f64,
    /// User time in microseconds an IO, where it is known.
    own: f64,
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.first().is_some_and(|first| first == CHILD) {
        return run_one_case(&arguments[1..]);
    }
    if !arguments.iter().any(|argument| argument == "--bench") {
        println!("measures only as `cargo bench`");
        return;
    }
    let chosen = |case: &Case| {
        let mut words = arguments.iter().filter(|word| !word.starts_with('-')).peekable();
        let name = format!("{} {} {}", case.place, case.engine, case.depth);
        words.peek().is_none() || words.any(|word| name.contains(word.as_str()))
    };
    println!(
        "place  engine    depth |  IOPS/1000 ours   fio  ratio | CPU us/IO ours   fio  ratio | own us/IO"
    );
    for case in CASES.iter().filter(|case| chosen(case)) {
        let path = prepare(case);
        let (ours, fio) = compare(case, &path);
        println!(
            "{:<6} {:<9} {:>5} | {:>15.0} {:>5.0} {:>6.2} | {:>14.3} {:>5.3} {:>6.2} | {:>9.3}",
            case.place,
            case.engine,
            case.depth,
            ours.iops / 1e3,
            fio.iops / 1e3,
            ours.iops / fio.iops,
            ours.cpu,
            fio.cpu,
            ours.cpu / fio.cpu,
            ours.own,
        );
    }
    for place in ["tmpfs", "disk"] {
        // Only where a case of that place ran is there anything to remove.
        let _ = fs::remove_file(path_in(place));
    }
}

fn path_in(place: &str) -> PathBuf {
    let directory = if place == "tmpfs" { "/dev/shm" } else { env!("CARGO_TARGET_TMPDIR") };
    Path::new(directory).join(format!("flashscope-bench-{}", std::process::id()))
}

fn options(path: &Path, place: &str) -> OpenOptions {
    let options = OpenOptions::new(Location::File(path.into()));
    OpenOptions { direct: place != "tmpfs", max_io: BLOCK, ..options }
}

/// A file whose every block was written.
fn prepare(case: &Case) -> PathBuf {
    let path = path_in(case.place);
    if fs::metadata(&path).is_ok_and(|metadata| metadata.size() == SIZE.0) {
        return path;
    }
    let mut device = open(&OpenOptions {
        access: Access::Write { confirmation: None },
        size: Some(SIZE),
        max_io: Bytes::MIB,
        ..options(&path, case.place)
    })
    .expect("the file can be made");
    for offset in (0..SIZE.0).step_by(1 << 20) {
        let at = device.now();
        let io = Io { op: Op::Write, stream: 0, offset: Bytes(offset), len: Bytes::MIB, at };
        device.submit(&io);
        assert_eq!(device.complete(Nanos::MAX).expect("in flight").result, Ok(()));
    }
    path
}

/// Medians of alternating rounds, per IO.
fn compare(case: &Case, path: &Path) -> (Cost, Cost) {
    let mut ours = Vec::new();
    let mut fio = Vec::new();
    for _ in 0..ROUNDS {
        ours.push(run_ours(case, path));
        fio.push(run_fio(case, path));
    }
    (median(&ours), median(&fio))
}

fn median(costs: &[Cost]) -> Cost {
    let middle = |value: fn(&Cost) -> f64| {
        let mut values: Vec<f64> = costs.iter().map(value).collect();
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    };
    Cost { iops: middle(|c| c.iops), cpu: middle(|c| c.cpu), own: middle(|c| c.own) }
}

fn pinned(program: &Path) -> Command {
    let mut command = Command::new("taskset");
    command.args(["-c", "1"]).arg(program).stdout(Stdio::piped());
    command
}

/// Runs a command; what it prints.
fn output(command: &mut Command) -> String {
    let output = command.output().expect("taskset and fio are installed");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("numbers")
}

/// User and system time in microseconds.
#[allow(clippy::cast_precision_loss)] // Microseconds of a process, far below 2^53.
fn cpu_time(who: libc::c_int) -> (f64, f64) {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::uninit();
    // SAFETY: the kernel fills the usage, and cannot fail for a valid `who`.
    let usage = unsafe {
        libc::getrusage(who, usage.as_mut_ptr());
        usage.assume_init()
    };
    let micros = |time: libc::timeval| time.tv_sec as f64 * 1e6 + time.tv_usec as f64;
    (micros(usage.ru_utime), micros(usage.ru_stime))
}

fn run_ours(case: &Case, path: &Path) -> Cost {
    let binary = std::env::current_exe().expect("this binary has a path");
    let printed = output(
        pinned(&binary)
            .args([CHILD, case.place, case.engine, &case.depth.to_string(), &case.ios.to_string()])
            .arg(path),
    );
    let numbers: Vec<f64> =
        printed.split_whitespace().map(|word| word.parse().expect("a number")).collect();
    Cost { iops: numbers[0], cpu: numbers[1], own: numbers[2] }
}

/// fio tells its CPU time only of the thread that submits, so it is taken of the process, and that
/// of a run with few IOs taken off for its start and end.
#[allow(clippy::cast_precision_loss)] // Counts far below 2^53.
fn run_fio(case: &Case, path: &Path) -> Cost {
    let few = 1000;
    let (_, start) = fio(case, path, few);
    let (iops, all) = fio(case, path, case.ios);
    Cost { iops, cpu: (all - start) / (case.ios - few) as f64, own: f64::NAN }
}

/// Its IOPS, and the CPU time of it and its children in microseconds.
fn fio(case: &Case, path: &Path, ios: u64) -> (f64, f64) {
    let mut command = pinned(Path::new("fio"));
    command.args(["--name=x", "--rw=randread", "--bs=4k", "--norandommap", "--size=1g"]);
    command.args(["--output-format=terse", "--invalidate=0"]);
    command.arg(format!("--filename={}", path.display()));
    command.arg(format!("--io_size={}", ios * BLOCK.0));
    command.arg(format!("--ioengine={}", case.engine));
    command.arg(format!("--iodepth={}", case.depth));
    command.arg(format!("--direct={}", u8::from(case.place != "tmpfs")));
    if case.engine == "io_uring" {
        command.args(["--fixedbufs", "--registerfiles"]);
    }
    let before = cpu_time(libc::RUSAGE_CHILDREN);
    let printed = output(&mut command);
    let after = cpu_time(libc::RUSAGE_CHILDREN);
    let iops = printed.split(';').nth(7).expect("field 8 of the terse format is the read IOPS");
    (iops.parse().expect("a number"), after.0 + after.1 - before.0 - before.1)
}

/// The child: one case; IOPS, CPU time and user time an IO on standard output.
#[allow(clippy::cast_precision_loss)] // Counts far below 2^53.
fn run_one_case(arguments: &[String]) {
    let [place, engine, depth, ios, path] = arguments else { panic!("five arguments") };
    let ios: u64 = ios.parse().expect("a number");
    let options = OpenOptions {
        engine: Some(engine.parse::<EngineKind>().expect("an engine")),
        queue_depth: depth.parse().expect("a number"),
        ..options(Path::new(path), place)
    };
    let mut device = open(&options).expect("the file was made");
    let mut records = vec![(Nanos(0), Nanos(0)); usize::try_from(ios).expect("fits")];
    records.fill((Nanos(1), Nanos(1)));
    let before = cpu_time(libc::RUSAGE_SELF);
    let start = Instant::now();
    read_at_random(&mut device, u64::from(options.queue_depth), &mut records);
    let wall = start.elapsed().as_secs_f64();
    let after = cpu_time(libc::RUSAGE_SELF);
    let (user, system) = (after.0 - before.0, after.1 - before.1);
    assert!(records.iter().all(|(submitted, completed)| submitted < completed));
    let ios = ios as f64;
    println!("{} {} {}", ios / wall, (user + system) / ios, user / ios);
}

fn read_at_random(device: &mut dyn Device, depth: u64, records: &mut [(Nanos, Nanos)]) {
    let blocks = SIZE.0 / BLOCK.0;
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut submit = |device: &mut dyn Device| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let offset = Bytes(state % blocks * BLOCK.0);
        device.submit(&Io { op: Op::Read, stream: 0, offset, len: BLOCK, at: Nanos(0) });
    };
    let mut left = records.len() as u64;
    for _ in 0..depth.min(left) {
        submit(device);
        left -= 1;
    }
    for record in records {
        let done = device.complete(Nanos::MAX).expect("in flight");
        assert_eq!(done.result, Ok(()));
        *record = (done.submitted, done.completed);
        if left > 0 {
            submit(device);
            left -= 1;
        }
    }
}
