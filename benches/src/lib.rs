//! Shared code of the benchmarks: running a case in its own process, and measuring its cost.
//!
//! A benchmark starts itself as a child process for each case. The processor time of the child then
//! belongs to the case alone. Runs of other programs can alternate with the case, and be measured
//! in the same way.

#![allow(unsafe_code, reason = "asks the kernel for the processor time of the process")]
#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a benchmark reads clocks and arguments, and prints"
)]
#![allow(clippy::cast_precision_loss, reason = "counts and microseconds are far below 2^53")]

pub mod scripted;

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use flashscope_block::{Bytes, Data, Device, Io, Nanos, Op, Record};
use flashscope_drive::{Access, Location, OpenOptions, open};
use flashscope_measure::execute;
use flashscope_result::{Error, Recorder};
use flashscope_workload::Stream;
use flashscope_workload::pattern::{Address, Pattern, Timing};

/// The allocator of the flashscope program, which affects its speed.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The argument with which a child process runs one case.
const CHILD: &str = "--one-case";

/// The cost of a case.
#[derive(Debug, Clone, Copy, Default)]
pub struct Cost {
    /// IOs per second.
    pub iops: f64,
    /// User and system time of the whole process, in µs per IO.
    pub cpu: f64,
    /// User time, in µs per IO.
    pub user: f64,
    /// Wall-clock time, in ns per IO.
    pub wall: f64,
    /// Stored bytes per IO.
    pub stored: f64,
    /// Peak memory, in MiB.
    pub memory: f64,
}

impl Cost {
    fn to_text(self) -> String {
        let Cost { iops, cpu, user, wall, stored, memory } = self;
        format!("{iops} {cpu} {user} {wall} {stored} {memory}")
    }

    fn from_text(text: &str) -> Cost {
        let mut numbers = text.split_whitespace().map(|word| word.parse().expect("a number"));
        let mut next = || numbers.next().expect("six numbers");
        Cost {
            iops: next(),
            cpu: next(),
            user: next(),
            wall: next(),
            stored: next(),
            memory: next(),
        }
    }

    /// Returns the median of each field over several rounds.
    pub fn median(rounds: &[Cost]) -> Cost {
        let middle = |value: fn(&Cost) -> f64| median(rounds.iter().map(value));
        Cost {
            iops: middle(|c| c.iops),
            cpu: middle(|c| c.cpu),
            user: middle(|c| c.user),
            wall: middle(|c| c.wall),
            stored: middle(|c| c.stored),
            memory: middle(|c| c.memory),
        }
    }
}

/// Returns the median of an odd number of values.
pub fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Creates a file of 1 GiB at `path` and writes every block, with direct IO if `direct` is true.
pub fn written_file(path: &Path, direct: bool) {
    let mut device = open(&OpenOptions {
        access: Access::Write { confirmation: None },
        size: Some(Bytes::GIB),
        direct,
        ..OpenOptions::new(Location::File(path.into()))
    })
    .expect("the file can be created");
    for offset in (0..Bytes::GIB.0).step_by(1 << 20) {
        let at = device.now();
        let io = Io {
            op: Op::Write,
            stream: 0,
            offset: Bytes(offset),
            len: Bytes::MIB,
            at,
            data: Data::Random,
        };
        device.submit(&io);
        assert_eq!(device.complete(Nanos::MAX).expect("in flight").result, Ok(()));
    }
}

/// Runs `case` if this process is the child process of a case, and `all` if it is not.
///
/// Words on the command line select cases by a part of their name. `all` receives a function that
/// returns true if a case is selected.
pub fn main(case: impl Fn(&[String]) -> Cost, all: impl Fn(&dyn Fn(&str) -> bool)) {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.first().is_some_and(|first| first == CHILD) {
        println!("{}", case(&arguments[1..]).to_text());
    } else if arguments.iter().any(|argument| argument == "--bench") {
        let words: Vec<&String> = arguments.iter().filter(|word| !word.starts_with('-')).collect();
        all(&|name| words.is_empty() || words.iter().any(|word| name.contains(word.as_str())));
    } else {
        println!("not measured: run `cargo bench`");
    }
}

/// Runs one case of this benchmark in a child process, on core `core` if one is given.
pub fn run_case(core: Option<u32>, arguments: &[&str]) -> Cost {
    let binary = std::env::current_exe().expect("this binary has a path");
    let mut command = match core {
        Some(core) => pinned(core, &binary),
        None => Command::new(binary),
    };
    Cost::from_text(&output(command.arg(CHILD).args(arguments)))
}

/// Returns a command that runs `program` on one core.
pub fn pinned(core: u32, program: &Path) -> Command {
    let mut command = Command::new("taskset");
    command.args(["-c", &core.to_string()]).arg(program);
    command
}

/// Runs a command that must succeed, and returns its output.
pub fn output(command: &mut Command) -> String {
    let output = command.stdout(Stdio::piped()).output().expect("the program is installed");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

/// Returns the user and the system time in µs, of this process or of its finished children.
pub fn cpu_time(who: libc::c_int) -> (f64, f64) {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::uninit();
    // SAFETY: the kernel fills the usage, and cannot fail for a valid `who`.
    let usage = unsafe {
        libc::getrusage(who, usage.as_mut_ptr());
        usage.assume_init()
    };
    let micros = |time: libc::timeval| time.tv_sec as f64 * 1e6 + time.tv_usec as f64;
    (micros(usage.ru_utime), micros(usage.ru_stime))
}

/// Returns the memory of this process in MiB: `VmRSS` is the current value, `VmHWM` the peak.
pub fn memory(line: &str) -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find_map(|text| text.strip_prefix(line)?.strip_prefix(':'));
    let kibibytes = line.expect("the status has this line").trim().trim_end_matches(" kB");
    kibibytes.parse::<f64>().expect("a number") / 1024.0
}

/// Returns a pattern of `ios` random reads of 4 KiB over `space`.
pub fn random_reads(ios: u64, space: Bytes) -> Pattern {
    Pattern {
        op: Op::Read,
        address: Address::Random,
        timing: Timing::Consecutive,
        io_size: Bytes::kib(4),
        io_shift: Bytes(0),
        target_offset: Bytes(0),
        target_size: space,
        io_count: ios,
        io_ignore: 0,
        seed: 1,
    }
}

/// Runs `pattern` on `device` like a benchmark, with every IO recorded in the folder `records`.
/// Returns the cost, including the cost of storing the records.
pub fn measure(device: &mut dyn Device, pattern: &Pattern, depth: u32, records: &Path) -> Cost {
    let before = cpu_time(libc::RUSAGE_SELF);
    let start = Instant::now();
    let mut recorder = Recorder::start(records.to_path_buf());
    recorder.begin(1).expect("the folder is writable");
    let mut streams: Vec<Box<dyn Stream + Send>> = vec![Box::new(pattern.stream(0))];
    let begin = device.now();
    execute(device, &mut streams, depth, &AtomicBool::new(false), |_, completion| {
        completion.result.expect("every IO succeeds");
        recorder.push(&Record::new(completion, begin))?;
        Ok::<(), Error>(())
    })
    .expect("the folder is writable");
    let ios = recorder.end().expect("the folder is writable") as f64;
    let wall = start.elapsed().as_secs_f64();
    let after = cpu_time(libc::RUSAGE_SELF);
    let stored: u64 = std::fs::read_dir(records)
        .expect("the folder exists")
        .map(|file| file.and_then(|file| file.metadata()).expect("a file of records").len())
        .sum();
    Cost {
        iops: ios / wall,
        cpu: (after.0 + after.1 - before.0 - before.1) / ios,
        user: (after.0 - before.0) / ios,
        wall: wall * 1e9 / ios,
        stored: stored as f64 / ios,
        memory: memory("VmHWM"),
    }
}

/// Returns `ok` or `MISSED` for a comparison with a limit.
pub fn verdict(met: bool) -> &'static str {
    if met { "ok" } else { "MISSED" }
}
