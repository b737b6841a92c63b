//! The command line of flashscope: parses, wires the crates together, and prints.

mod args;
mod attach;
mod bench;
mod demo;
mod devices;
mod predict;
mod print;
mod probe;
mod progress;
mod registry;
mod report;
mod reproduce;
mod runtime;
mod serve;
mod simulate;
mod stop;
mod sweep;
mod trace;
mod twin;
mod what_if;

use std::io;
use std::process::ExitCode;

use args::{Args, Command};
use clap::Parser;
use flashscope_instrument::{Failure, drives, names, usage};
use print::notice;

/// The encoder of records takes and gives back large buffers all the time; the C library's
/// allocator hands them to the kernel and faults them in again, which cost a fifth of the
/// processor time of recording.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    flashscope_instrument::panics::hide_caught();
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) => std::process::exit(print::options(&error)),
    };
    let outcome = match args.command {
        Command::Devices(args) => devices::devices(&args),
        Command::Plan(args) => bench::plan(&args),
        Command::Bench(args) => bench::bench(&args),
        Command::Simulate(args) => simulate::simulate(&args),
        Command::WhatIf(args) => what_if::what_if(&args),
        Command::Sweep(args) => sweep::sweep(&args),
        Command::Predict(args) => predict::predict(&args),
        Command::Reproduce(args) => reproduce::reproduce(&args),
        Command::Probe(args) => probe::probe(&args),
        Command::Twin(args) => twin::twin(&args),
        Command::Trace(args) => trace::trace(&args),
        Command::Report(args) => report::report(&args),
        Command::Serve(args) => serve::serve(&args),
        Command::Registry(args) => registry::registry(args),
        Command::Submit(args) => registry::submit(&args),
        Command::Attach(args) => attach::attach(&args),
        Command::Demo(args) => demo::demo(&args),
    };
    let Err(failure) = outcome else { return ExitCode::SUCCESS };
    if is_broken_pipe(failure.error()) {
        // Who read the output, such as `head`, has enough of it.
        return ExitCode::SUCCESS;
    }
    notice!("flashscope: {}", failure.message());
    match failure {
        Failure::Failed(_) => ExitCode::from(1),
        Failure::Usage(_) => ExitCode::from(2),
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let kind = |cause: &(dyn std::error::Error + 'static)| {
        let io = cause.downcast_ref::<io::Error>().map(io::Error::kind);
        io.or_else(|| cause.downcast_ref::<serde_json::Error>()?.io_error_kind())
    };
    error.chain().any(|cause| kind(cause) == Some(io::ErrorKind::BrokenPipe))
}
