//! Tests the program as a user runs it: its command line, its files and its output.
//!
//! Real drives are files below cargo's
//! folder for tests, which allows direct IO, and loop devices on such files. Tests that need root
//! print a note and are skipped without it.

#![allow(clippy::print_stdout, reason = "prints which tests are skipped, and why")]

mod automatic;
mod bench;
mod build;
mod collection;
mod compare;
mod devices;
mod documentation;
mod failing;
mod faults;
mod grid;
mod help;
mod hostile;
mod import;
mod inside;
mod interrupted;
mod live;
mod memory;
mod nvme;
mod options;
mod plan;
mod predict;
mod probe;
mod pts;
mod query;
mod record;
mod report;
mod reproduce;
mod resume;
mod serve;
mod simulate;
mod stat;
mod stores;
mod surroundings;
mod sweep;
mod terminal;
mod trace;
mod trust;
mod twin;
mod unprivileged;
mod verify;
mod watch;
mod watched;
mod what_if;
mod wrong;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use flashscope_block::Record;
use flashscope_document::manifest::{Manifest, Progress, Run};
use flashscope_result::{ResultFolder, Rows};
use tempfile::TempDir;

/// Options that make a benchmark as short as possible.
const QUICK: [&str; 10] = [
    "--repeats",
    "1",
    "--io-count",
    "16",
    "--preparation-io-count",
    "32",
    "--run-pause",
    "0ms",
    "--burst-pause",
    "1ms",
];

/// The exit status and the output of the program.
struct Outcome {
    status: i32,
    stdout: String,
    stderr: String,
}

impl Outcome {
    /// Runs a program to its end.
    fn of(command: &mut Command) -> Outcome {
        let output = command.output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Outcome {
            status: output.status.code().expect("ended by itself"),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }

    /// Returns standard error without the path of the test, after checking the exit status.
    fn message(&self, status: i32, place: &Scratch) -> String {
        assert_eq!(self.status, status, "{}{}", self.stdout, self.stderr);
        self.stderr.replace(place.path().to_str().unwrap(), "DIR").trim_end().to_string()
    }

    #[track_caller]
    fn ok(self) -> Outcome {
        assert_eq!(self.status, 0, "{}", self.stderr);
        self
    }
}

/// A folder for one test, in which the program runs.
struct Scratch(TempDir);

impl Scratch {
    /// Creates a folder on a disk, which allows direct IO.
    fn on_disk() -> Scratch {
        Scratch(TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap())
    }

    /// Creates a folder in memory if possible, where writing results is fast.
    fn in_memory() -> Scratch {
        let memory = TempDir::new_in("/dev/shm");
        memory.map_or_else(|_| Scratch::on_disk(), Scratch)
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    /// Returns the path of `name` in the folder.
    fn at(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    /// Returns the path of `name` in the folder, as an argument.
    fn arg(&self, name: &str) -> String {
        self.at(name).to_str().unwrap().to_string()
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_flashscope"));
        command.args(arguments).current_dir(self.path()).stdin(Stdio::null());
        // The configuration of the user who runs the tests must have no effect.
        command.env("FLASHSCOPE_CONFIG", "/dev/null");
        command
    }

    fn run(&self, arguments: &[&str]) -> Outcome {
        Outcome::of(&mut self.command(arguments))
    }

    /// Runs the shortest `bench` with `more` options, into the result `name`.
    fn bench(&self, drive: &str, name: &str, more: &[&str]) -> Outcome {
        let mut arguments = vec!["bench", drive, "--output", name];
        // clap refuses an option that is given twice: `more` replaces the default.
        for pair in QUICK.chunks(2).filter(|pair| !more.contains(&pair[0])) {
            arguments.extend(pair);
        }
        arguments.extend(more);
        self.run(&arguments)
    }

    fn start(&self, arguments: &[&str]) -> Running {
        let mut command = self.command(arguments);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        Running(Some(child.unwrap()))
    }

    /// Returns the names in the folder, sorted.
    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.path()).unwrap();
        let name = |entry: std::io::Result<fs::DirEntry>| entry.unwrap().file_name();
        let mut names: Vec<_> =
            entries.map(|entry| name(entry).to_str().unwrap().to_string()).collect();
        names.sort();
        names
    }

    fn result(&self, name: &str) -> OpenedResult {
        let (folder, manifest) = ResultFolder::open(&self.at(name)).unwrap();
        OpenedResult { folder, manifest }
    }
}

/// A running program, which is killed when it is dropped.
struct Running(Option<Child>);

impl Running {
    /// Waits for a condition while the program runs.
    #[track_caller]
    fn wait_until(&mut self, what: &str, observed: impl FnMut() -> bool) {
        if !self.reaches(what, observed) {
            let output = self.0.take().unwrap().wait_with_output().unwrap();
            panic!("ended before {what}: {}", String::from_utf8_lossy(&output.stderr));
        }
    }

    /// Waits for a condition while the program runs. Returns false if the program ended first, as
    /// may happen on a busy machine.
    #[track_caller]
    fn reaches(&mut self, what: &str, mut observed: impl FnMut() -> bool) -> bool {
        let child = self.0.as_mut().unwrap();
        for _ in 0..60_000 {
            if observed() {
                return true;
            }
            if child.try_wait().unwrap().is_some() {
                return false;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        panic!("no {what} in a minute");
    }

    /// Sends a signal, as `kill` names it.
    fn signal(&self, name: &str) {
        let id = self.0.as_ref().unwrap().id().to_string();
        assert!(Command::new("kill").args([name, &id]).status().unwrap().success());
    }

    /// Closes the pipe of its output, as a reader such as `head` does.
    fn wait_without_reading(mut self) -> (ExitStatus, String) {
        drop(self.0.as_mut().unwrap().stdout.take());
        self.wait()
    }

    fn wait(self) -> (ExitStatus, String) {
        let (status, _, stderr) = self.wait_with_output();
        (status, stderr)
    }

    /// Returns the exit status, standard output and standard error.
    fn wait_with_output(mut self) -> (ExitStatus, String, String) {
        let output = self.0.take().unwrap().wait_with_output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (output.status, text(output.stdout), text(output.stderr))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(mut child) = self.0.take() {
            // The program may have ended already.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// An opened result.
struct OpenedResult {
    folder: ResultFolder,
    manifest: Manifest,
}

impl OpenedResult {
    fn rows(&self, run: &Run) -> Rows {
        self.folder.rows(run.id).unwrap()
    }

    fn records(&self, run: &Run) -> Vec<Record> {
        self.rows(run).to_vec().unwrap()
    }

    /// Returns every record of every run.
    fn all_records(&self) -> Vec<Record> {
        self.manifest.runs().flat_map(|run| self.records(run)).collect()
    }

    /// Returns the runs of an experiment.
    fn experiment(&self, benchmark: &str, name: &str) -> &[Run] {
        let benchmark = self.manifest.micro_benchmarks.iter().find(|b| b.name == benchmark);
        let experiment = benchmark.unwrap().experiments.iter().find(|e| e.name == name);
        &experiment.unwrap().runs
    }

    fn done(&self) -> impl Iterator<Item = &Run> {
        self.manifest.runs().filter(|run| matches!(run.progress, Progress::Done { .. }))
    }

    /// Asserts that all records are readable, and that their number agrees with the manifest.
    fn assert_readable(&self) {
        for run in self.manifest.runs() {
            assert_eq!(self.records(run).len() as u64, run.progress.ios(), "run {}", run.id);
        }
    }

    fn json(&self, file: &str) -> serde_json::Value {
        serde_json::from_slice(&fs::read(self.folder.path().join(file)).unwrap()).unwrap()
    }
}

/// Returns the number of record files of the result at `path`.
fn files_of_records(path: &Path) -> usize {
    let complete = |entry: std::io::Result<fs::DirEntry>| {
        entry.is_ok_and(|entry| entry.path().extension().is_some_and(|e| e == "parquet"))
    };
    let entries = fs::read_dir(path.join("records")).into_iter().flatten();
    entries.map(complete).filter(|complete| *complete).count()
}

/// Returns true if a command could be run and succeeded.
fn succeeds(program: &str, arguments: &[&str]) -> bool {
    let output = Command::new(program).args(arguments).output();
    output.is_ok_and(|output| output.status.success())
}
