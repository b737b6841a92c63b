//! Reads the faults to inject, and writes a log of those that were.

#![cfg_attr(
    lint_writes,
    expect(
        clippy::disallowed_methods,
        reason = "the log of faults: guard::create_output, and only if no file has its name"
    )
)]

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};

use anyhow::anyhow;
use flashscope_attach::{FaultHook, FaultPlan, InjectedFault};
use flashscope_block::Bytes;
use flashscope_drive::guard;

use super::AttachArgs;
use crate::print::notice;
use crate::{Failure, usage};

/// Reads the plan of faults, and starts its log if there is one.
pub(super) fn read(
    path: &Path,
    args: &AttachArgs,
) -> Result<(FaultPlan, Option<FaultLog>), Failure> {
    let text = fs::read_to_string(path)
        .map_err(|error| usage(anyhow!("cannot read --faults {}: {error}", path.display())))?;
    let plan: FaultPlan =
        text.parse().map_err(|error| usage(anyhow!("--faults {}: {error}", path.display())))?;
    let log = args.fault_log.as_deref().map(FaultLog::start).transpose()?;
    let rules = plan.rules.len();
    let plural = if rules == 1 { "" } else { "s" };
    notice!("flashscope: injecting faults by {rules} rule{plural} of {}", path.display());
    Ok((plan, log))
}

/// Writes injected faults to a CSV file, on a thread of its own.
pub(super) struct FaultLog {
    sender: Sender<InjectedFault>,
    thread: JoinHandle<std::io::Result<()>>,
}

impl FaultLog {
    fn start(path: &Path) -> Result<FaultLog, Failure> {
        if fs::symlink_metadata(path).is_ok() {
            return Err(usage(anyhow!(
                "--fault-log {} exists: remove it, or choose another name",
                path.display()
            )));
        }
        let file = guard::create_output(path).map_err(usage)?;
        let (sender, faults) = channel();
        let thread = thread::Builder::new().name("fault-log".into());
        Ok(FaultLog { sender, thread: thread.spawn(move || write(&file, &faults))? })
    }

    /// Returns a callback for injected faults.
    pub(super) fn tell(&self) -> FaultHook {
        let sender = self.sender.clone();
        Box::new(move |fault| {
            let _ = sender.send(fault.clone());
        })
    }

    /// Writes the remaining faults. All callbacks must have been dropped.
    pub(super) fn finish(self) -> Result<(), Failure> {
        drop(self.sender);
        let written = self.thread.join().map_err(|_| anyhow!("the fault log panicked"))?;
        Ok(written.map_err(|error| anyhow!("cannot write the fault log: {error}"))?)
    }
}

fn write(file: &File, faults: &Receiver<InjectedFault>) -> std::io::Result<()> {
    let mut out = BufWriter::new(file);
    writeln!(out, "time_ns,rule,effect,op,offset,len")?;
    out.flush()?;
    while let Ok(first) = faults.recv() {
        for fault in std::iter::once(first).chain(faults.try_iter()) {
            let InjectedFault { at, rule, effect, request } = fault;
            let (op, offset, len) = match request {
                Some((op, Bytes(offset), Bytes(len))) => {
                    (op.to_string(), offset.to_string(), len.to_string())
                }
                None => Default::default(),
            };
            writeln!(out, "{},{rule},{effect},{op},{offset},{len}", at.0)?;
        }
        // A log that is read while faults are injected, or after a kill, is complete.
        out.flush()?;
    }
    Ok(())
}
