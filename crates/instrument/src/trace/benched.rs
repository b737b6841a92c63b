//! A trace that is played on any drive, with every IO recorded.

use std::sync::atomic::AtomicBool;

use anyhow::anyhow;
use flashscope_block::{Bytes, DeviceInfo};
use flashscope_workload::pattern::Reference;
use flashscope_workload::synthetic::{self, Ios, Target};
use flashscope_workload::trace::{Pace, Playback};

use super::playback::survey;
use crate::{Failure, Onlooker, usage};

/// How many IOs a timed trace has in flight at most, unless it says.
const TIMED_DEPTH: u32 = 64;

/// Longer reads and writes are issued in parts: about where the kernel itself cuts them.
pub const LONGEST_IO: Bytes = Bytes::MIB;

/// A trace to be played, before the drive is open.
pub struct Benched {
    spec: String,
    /// How many IOs are in flight at most, if that is asked for.
    asked: Option<u32>,
    /// How many are to be, on a drive that takes them.
    pub queue_depth: u32,
}

impl Benched {
    /// A trace as it is named on the command line.
    ///
    /// # Errors
    /// Where it is none, or a field of it cannot be.
    pub fn parse(trace: &str) -> Result<Benched, Failure> {
        let spec = format!("trace:{trace}");
        let anywhere = Bytes(u64::MAX);
        let (playback, asked) = open(&spec, anywhere, Bytes(512))?;
        let usual = if playback.pace == Pace::Timed { TIMED_DEPTH } else { 1 };
        Ok(Benched { spec, asked, queue_depth: asked.unwrap_or(usual) })
    }

    /// What is played on a drive, once the trace is known to fit it.
    ///
    /// # Errors
    /// Where it does not fit, cannot be read, or writes although that is forbidden.
    pub fn reference(
        &self,
        device: &DeviceInfo,
        read_only: bool,
        stop: &AtomicBool,
        onlooker: &mut dyn Onlooker,
    ) -> Result<Reference, Failure> {
        let (mut playback, _) = open(&self.spec, device.capacity, device.logical_block)?;
        playback.longest = LONGEST_IO;
        let found = survey(&playback, stop, onlooker)?;
        if read_only && found.modifies() {
            return Err(usage(anyhow!(
                "the trace writes, and --read-only forbids it: `ops=read` plays its reads alone"
            )));
        }
        let queue_depth = self.asked.unwrap_or(self.queue_depth.min(device.queue_depth));
        if queue_depth > device.queue_depth {
            return Err(usage(anyhow!(
                "{} IOs in flight are more than `{}` takes, {}: set `queue_depth` of the trace",
                queue_depth,
                device.name,
                device.queue_depth
            )));
        }
        Ok(Reference::Trace { playback, queue_depth, ios: found.ios, modifies: found.modifies() })
    }
}

fn open(
    spec: &str,
    capacity: Bytes,
    logical_block: Bytes,
) -> Result<(Playback, Option<u32>), Failure> {
    let target = Target { capacity, logical_block, filled: true, seed: 1 };
    let workload = synthetic::open(spec, &target).map_err(usage)?;
    match workload.ios {
        Ios::Trace(playback) => Ok((playback, workload.queue_depth)),
        _ => unreachable!("a workload whose name begins with `trace:` is a trace"),
    }
}
