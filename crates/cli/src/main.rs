//! The command line of flashscope: parses, wires the crates together, and prints.

mod args;
#[cfg(feature = "attach")]
mod attach;
mod bench;
mod compare;
mod defaults;
mod demo;
#[cfg(feature = "attach")]
mod devices;
mod import;
mod left_out;
#[cfg(feature = "serve")]
mod listen;
mod manual;
mod predict;
mod print;
mod probe;
mod progress;
mod query;
#[cfg(feature = "serve")]
mod registry;
mod report;
#[cfg(feature = "papers")]
mod reproduce;
#[cfg(feature = "serve")]
mod running;
#[cfg(feature = "attach")]
mod runtime;
#[cfg(feature = "serve")]
mod serve;
mod simulate;
mod stop;
mod sweep;
mod trace;
mod twin;
#[cfg(target_os = "linux")]
mod verify;
#[cfg(feature = "attach")]
mod watch;
mod what_if;

use std::io;
use std::process::ExitCode;

use args::{Args, Command};
use clap::{CommandFactory, FromArgMatches};
use flashscope_command::{Failure, interrupted, names, usage};
use print::notice;

/// The allocator. The encoder of records continually allocates and frees large buffers. The C
/// library's allocator returns the buffers to the kernel and faults them in again, which took a
/// fifth of the processor time of recording.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    flashscope_command::panics::hide_caught();
    let args = match parsed() {
        Ok(args) => args,
        Err(status) => std::process::exit(status),
    };
    print::set(&args.terminal);
    #[cfg(feature = "serve")]
    if let Err(failure) = running::start(args.terminal.live, args.command.output()) {
        print::failure(&failure.message());
        return ExitCode::from(2);
    }
    let outcome = run(args.command);
    #[cfg(feature = "serve")]
    running::finish(&outcome);
    let Err(failure) = outcome else { return ExitCode::SUCCESS };
    if is_broken_pipe(failure.error()) {
        // The reader of the output, such as `head`, has closed it.
        return ExitCode::SUCCESS;
    }
    print::failure(&failure.message());
    match failure {
        Failure::Failed(_) => ExitCode::from(1),
        Failure::Usage(_) => ExitCode::from(2),
        Failure::Finding(_) => ExitCode::from(3),
        Failure::Interrupted(_) => ExitCode::from(130),
    }
}

/// Runs a command.
fn run(command: Command) -> Result<(), Failure> {
    match command {
        #[cfg(feature = "attach")]
        Command::Devices(args) => devices::devices(&args),
        Command::Plan(args) => bench::plan(&args),
        Command::Bench(args) => bench::bench(&args),
        Command::Simulate(args) => simulate::simulate(&args),
        Command::WhatIf(args) => what_if::what_if(&args),
        Command::Sweep(args) => sweep::sweep(&args),
        Command::Predict(args) => predict::predict(&args),
        #[cfg(feature = "papers")]
        Command::Reproduce(args) => reproduce::reproduce(&args),
        Command::Probe(args) => probe::probe(&args),
        Command::Twin(args) => twin::twin(&args),
        #[cfg(target_os = "linux")]
        Command::Verify(args) => verify::verify(&args),
        #[cfg(feature = "attach")]
        Command::Watch(args) => watch::watch(&args),
        Command::Trace(args) => trace::trace(&args),
        Command::Report(args) => report::report(&args),
        Command::Compare(args) => compare::compare(&args),
        Command::Query(args) => query::query(&args),
        Command::Import(args) => import::import(&args),
        #[cfg(feature = "serve")]
        Command::Serve(args) => serve::serve(&args),
        #[cfg(feature = "serve")]
        Command::Registry(args) => registry::registry(args),
        #[cfg(feature = "serve")]
        Command::Submit(args) => registry::submit(&args),
        #[cfg(feature = "attach")]
        Command::Attach(args) => attach::attach(&args),
        Command::Demo(args) => demo::demo(&args),
        Command::Completions(args) => manual::completions(&args),
        Command::Man(args) => manual::man(&args),
    }
}

/// Returns the options of the command line, with the defaults of the user. The error is the exit
/// status: 0 after the help, or 2 for invalid
/// options.
fn parsed() -> Result<Args, i32> {
    #[allow(clippy::disallowed_methods, reason = "the command line reads the environment")]
    let environment = |name: &str| std::env::var(name).ok();
    let command = Args::command().color(print::typed_color());
    let command = defaults::apply(command, &environment).map_err(|error| {
        print::failure(&usage(error).message());
        2
    })?;
    let refused = |error: clap::Error| {
        let status = print::options(&error);
        left_out::notice(&error);
        if let Some(file) = defaults::file(&environment).filter(|_| status != 0) {
            notice!("flashscope: {} sets defaults of options", file.display());
        }
        status
    };
    let matches = command.try_get_matches().map_err(refused)?;
    Args::from_arg_matches(&matches).map_err(refused)
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let kind = |cause: &(dyn std::error::Error + 'static)| {
        let io = cause.downcast_ref::<io::Error>().map(io::Error::kind);
        io.or_else(|| cause.downcast_ref::<serde_json::Error>()?.io_error_kind())
    };
    error.chain().any(|cause| kind(cause) == Some(io::ErrorKind::BrokenPipe))
}
