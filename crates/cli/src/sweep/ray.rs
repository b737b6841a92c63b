//! A sweep on a Ray cluster: the Python package does it, and this program shows what came of it.

#![cfg_attr(
    lint_writes,
    expect(
        clippy::disallowed_methods,
        reason = "starts Python for a sweep on Ray: the script is a part of the program"
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

/// What runs the package.
const PYTHON: &str = "python3";

/// How often Ctrl-C is heard.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// What the package says on its standard output.
#[derive(Deserialize)]
#[serde(untagged)]
enum Answer {
    /// Where the sweep lies.
    Done { folder: PathBuf },
    /// Why there is none, and whether that is a matter of what was asked for.
    Failed { error: String, usage: bool },
}

/// Explores a space on the cluster that the package finds.
///
/// # Errors
/// Where the package is not there, and what it says.
pub fn sweep(args: &SweepArgs, stop: &AtomicBool) -> Result<SweepResult, Failure> {
    let mut child = command(args).spawn().map_err(|error| missing(&error.to_string()))?;
    let said = hear(&mut child, stop)?;
    let status = child.wait()?;
    match serde_json::from_str(&said) {
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

/// What to say where the package does not run.
fn missing(why: &str) -> Failure {
    usage(anyhow!(
        "--engine ray: `{PYTHON} -m flashscope` did not run ({why}): install Ray and the wheel of \
         flashscope that came with this program where `{PYTHON}` finds them, on this machine and on those of the cluster"
    ))
}

fn command(args: &SweepArgs) -> Command {
    let mut command = Command::new(PYTHON);
    command.args(["-m", "flashscope", "sweep"]).args(words(args));
    // Only an installed package is meant, not what lies in the folder from where it is run.
    command.env("PYTHONSAFEPATH", "1");
    // Ctrl-C is for this program, which passes it on by ending the standard input.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    command
}

/// The options, but for who simulates and what is printed.
fn words(args: &SweepArgs) -> Vec<OsString> {
    let mut words: Vec<OsString> = Vec::new();
    let mut add = |option: &str, value: OsString| words.extend([option.into(), value]);
    let path = |path: &PathBuf| path.clone().into_os_string();
    args.output.folder.iter().for_each(|output| add("--output", path(output)));
    args.resume.iter().for_each(|resume| add("--resume", path(resume)));
    args.jobs.given().into_iter().for_each(|jobs| add("--jobs", jobs.to_string().into()));
    let memory = args.memory.given();
    memory.into_iter().for_each(|memory| add("--memory", format!("{}B", memory.0).into()));
    args.space.iter().for_each(|space| add("--", path(space)));
    words
}

/// All that a child says; once `stop` is set it is told to end.
fn hear(child: &mut Child, stop: &AtomicBool) -> io::Result<String> {
    let (mut input, output) = (child.stdin.take(), child.stdout.take());
    let (done, said) = channel();
    thread::spawn(move || {
        let mut text = String::new();
        let read = output.map_or(Ok(0), |mut output| output.read_to_string(&mut text));
        done.send(read.map(|_| text))
    });
    loop {
        match said.recv_timeout(LOOK_EVERY) {
            Ok(said) => return said,
            Err(RecvTimeoutError::Disconnected) => return Ok(String::new()),
            Err(RecvTimeoutError::Timeout) if stop.load(Ordering::Relaxed) => drop(input.take()),
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
}
