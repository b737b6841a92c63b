//! Runs a sweep on a Ray cluster through the Python package, and shows the result.

#![cfg_attr(
    lint_writes,
    expect(
        clippy::disallowed_methods,
        reason = "Python for a sweep on Ray: an installed package, no file of the current folder"
    )
)]

use std::ffi::OsString;
use std::io::{self, Read};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use anyhow::anyhow;
use flashscope_command::sweep::{SweepArgs, SweepResult};
use flashscope_result::sweep::read_sweep;
use serde::Deserialize;

use crate::{Failure, usage};

/// The Python interpreter.
const PYTHON: &str = "python3";

/// The interval at which the stop flag is checked.
const CHECK_EVERY: Duration = Duration::from_millis(50);

/// The answer of the Python package on its standard output.
#[derive(Deserialize)]
#[serde(untagged)]
enum Answer {
    /// The sweep is complete or was interrupted, and saved in this folder.
    Done { folder: PathBuf },
    /// The sweep failed and saved nothing. `usage` is true if the request was invalid.
    Failed { error: String, usage: bool },
}

/// Explores a space on the cluster that the package finds.
///
/// # Errors
/// If the package cannot be run, or reports an error.
pub(super) fn sweep(args: &SweepArgs, stop: &AtomicBool) -> Result<SweepResult, Failure> {
    let mut child = command(args).spawn().map_err(|error| missing(&error.to_string()))?;
    let answer = read_answer(&mut child, stop)?;
    let status = child.wait()?;
    match serde_json::from_str(&answer) {
        Ok(Answer::Done { folder: path }) => {
            let sweep = read_sweep(&path)?;
            Ok(SweepResult { sweep, path })
        }
        Ok(Answer::Failed { error, usage: true }) => Err(usage(anyhow!(error))),
        Ok(Answer::Failed { error, usage: false }) => Err(match stop.load(Ordering::Relaxed) {
            true => Failure::Interrupted(anyhow!(error)),
            false => Failure::Failed(anyhow!(error)),
        }),
        Err(_) => Err(missing(&status.to_string())),
    }
}

/// Returns the error that the Python package cannot be run.
fn missing(why: &str) -> Failure {
    usage(anyhow!(
        "--engine ray: `{PYTHON} -m flashscope` did not run ({why}): install Ray and the \
         flashscope wheel of this release for `{PYTHON}`, on this machine and on the machines of the cluster"
    ))
}

fn command(args: &SweepArgs) -> Command {
    let mut command = Command::new(PYTHON);
    command.args(["-m", "flashscope", "sweep"]).args(arguments(args));
    // Uses only an installed package, not a file of this name in the current folder.
    command.env("PYTHONSAFEPATH", "1");
    // Only this program receives Ctrl-C; it stops the package by closing its standard input.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    command
}

/// Returns the arguments for the package: all options except those for the engine and the output
/// format.
fn arguments(args: &SweepArgs) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = Vec::new();
    let mut add = |option: &str, value: OsString| arguments.extend([option.into(), value]);
    let path = |path: &PathBuf| path.clone().into_os_string();
    args.output.folder.iter().for_each(|output| add("--output", path(output)));
    args.resume.iter().for_each(|resume| add("--resume", path(resume)));
    args.jobs.given().into_iter().for_each(|jobs| add("--jobs", jobs.to_string().into()));
    let memory = args.memory.given();
    memory.into_iter().for_each(|memory| add("--memory", format!("{}B", memory.0).into()));
    args.space.iter().for_each(|space| add("--", path(space)));
    arguments
}

/// Reads the standard output of a child to its end. Once `stop` is set, closes the child's standard
/// input, which stops the child.
fn read_answer(child: &mut Child, stop: &AtomicBool) -> io::Result<String> {
    let (mut input, output) = (child.stdin.take(), child.stdout.take());
    let (sender, answer) = channel();
    thread::spawn(move || {
        let mut text = String::new();
        let read = output.map_or(Ok(0), |mut output| output.read_to_string(&mut text));
        sender.send(read.map(|_| text))
    });
    loop {
        match answer.recv_timeout(CHECK_EVERY) {
            Ok(answer) => return answer,
            Err(RecvTimeoutError::Disconnected) => return Ok(String::new()),
            Err(RecvTimeoutError::Timeout) if stop.load(Ordering::Relaxed) => drop(input.take()),
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
}
