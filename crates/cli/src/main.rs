//! The command line of flashscope: parses, wires the crates together, and prints.

#![allow(clippy::print_stderr, reason = "this is where flashscope speaks")]

mod args;
mod attach;
mod bench;
mod demo;
mod devices;
mod drives;
mod names;
mod predict;
mod probe;
mod progress;
mod registry;
mod report;
mod runtime;
mod serve;
mod simulate;
mod stop;
mod sweep;
mod trace;

use std::io;
use std::process::ExitCode;

use args::{Args, Command};
use clap::Parser;

/// The encoder of records takes and gives back large buffers all the time; the C library's
/// allocator hands them to the kernel and faults them in again, which cost a fifth of the
/// processor time of recording.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Why a command did not do what was asked.
enum Failure {
    /// The request cannot be carried out as it stands: exit status 2.
    Usage(anyhow::Error),
    /// Something went wrong on the way: exit status 1.
    Failed(anyhow::Error),
}

impl<E: Into<anyhow::Error>> From<E> for Failure {
    fn from(error: E) -> Self {
        Failure::Failed(error.into())
    }
}

/// Marks an error as one of usage.
fn usage<E: Into<anyhow::Error>>(error: E) -> Failure {
    Failure::Usage(error.into())
}

fn main() -> ExitCode {
    let outcome = match Args::parse().command {
        Command::Devices(args) => devices::devices(&args),
        Command::Plan(args) => bench::plan(&args),
        Command::Bench(args) => bench::bench(&args),
        Command::Simulate(args) => simulate::simulate(&args),
        Command::Sweep(args) => sweep::sweep(&args),
        Command::Predict(args) => predict::predict(&args),
        Command::Probe(args) => probe::probe(&args),
        Command::Trace(args) => trace::trace(&args),
        Command::Report(args) => report::report(&args),
        Command::Serve(args) => serve::serve(&args),
        Command::Registry(args) => registry::registry(args),
        Command::Submit(args) => registry::submit(&args),
        Command::Attach(args) => attach::attach(&args),
        Command::Demo(args) => demo::demo(&args),
    };
    let (error, code) = match outcome {
        Ok(()) => return ExitCode::SUCCESS,
        Err(Failure::Failed(error)) => (error, 1),
        Err(Failure::Usage(error)) => (error, 2),
    };
    if is_broken_pipe(&error) {
        // Who read the output, such as `head`, has enough of it.
        return ExitCode::SUCCESS;
    }
    eprintln!("flashscope: {}", message(&error));
    ExitCode::from(code)
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let kind = |cause: &(dyn std::error::Error + 'static)| {
        let io = cause.downcast_ref::<io::Error>().map(io::Error::kind);
        io.or_else(|| cause.downcast_ref::<serde_json::Error>()?.io_error_kind())
    };
    error.chain().any(|cause| kind(cause) == Some(io::ErrorKind::BrokenPipe))
}

/// What an error says, and its causes where it does not say them itself.
fn message(error: &anyhow::Error) -> String {
    let mut text = error.to_string();
    for cause in error.chain().skip(1).map(ToString::to_string) {
        if !text.contains(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    text
}
