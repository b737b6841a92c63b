//! Plays a trace on any drive, with every IO recorded.

use std::sync::atomic::AtomicBool;

use anyhow::anyhow;
use flashscope_block::{Bytes, DeviceInfo};
use flashscope_workload::pattern::Reference;
use flashscope_workload::playback::{Pace, Playback};
use flashscope_workload::synthetic::{Ios, Target};

use super::playback::survey;
use crate::{Failure, Progress, usage};

/// The default number of IOs in flight of a timed trace.
const TIMED_DEPTH: u32 = 64;

/// The longest IO; longer requests are split. The kernel splits at about the same size.
pub(crate) const LONGEST_IO: Bytes = Bytes::MIB;

/// A trace to play, before the drive is open.
pub struct BenchTrace {
    spec: String,
    /// The IOs in flight that the user requested, if any.
    chosen_depth: Option<u32>,
    /// The maximum number of IOs in flight, unless the drive accepts fewer.
    pub queue_depth: u32,
}

impl BenchTrace {
    /// Parses a trace from the command line.
    ///
    /// # Errors
    /// If the trace or one of its fields is invalid.
    pub fn parse(trace: &str) -> Result<BenchTrace, Failure> {
        let spec = format!("trace:{trace}");
        let anywhere = Bytes(u64::MAX);
        let (playback, chosen_depth) = open(&spec, anywhere, Bytes(512))?;
        let usual = if playback.pace == Pace::Timed { TIMED_DEPTH } else { 1 };
        Ok(BenchTrace { spec, chosen_depth, queue_depth: chosen_depth.unwrap_or(usual) })
    }

    /// Checks that the trace fits the drive, and returns the reference to play it.
    ///
    /// # Errors
    /// If the trace does not fit on the drive, cannot be read, or writes although `read_only` is
    /// set.
    pub fn reference(
        &self,
        device: &DeviceInfo,
        read_only: bool,
        stop: &AtomicBool,
        sink: &mut dyn Progress,
    ) -> Result<Reference, Failure> {
        let (mut playback, _) = open(&self.spec, device.capacity, device.logical_block)?;
        playback.longest = LONGEST_IO;
        let survey = survey(&playback, stop, sink)?;
        if read_only && survey.modifies() {
            return Err(usage(anyhow!(
                "the trace writes, and --read-only forbids it: `ops=read` plays only its reads"
            )));
        }
        let queue_depth = self.chosen_depth.unwrap_or(self.queue_depth.min(device.queue_depth));
        if queue_depth > device.queue_depth {
            return Err(usage(anyhow!(
                "{} IOs in flight are more than `{}` accepts ({}): set a smaller `queue_depth` of the trace",
                queue_depth,
                device.name,
                device.queue_depth
            )));
        }
        Ok(Reference::Trace { playback, queue_depth, ios: survey.ios, modifies: survey.modifies() })
    }
}

fn open(
    spec: &str,
    capacity: Bytes,
    logical_block: Bytes,
) -> Result<(Playback, Option<u32>), Failure> {
    let target = Target { capacity, logical_block, filled: true, seed: 1 };
    let workload = flashscope_trace::open_workload(spec, &target).map_err(usage)?;
    match workload.ios {
        Ios::Trace(playback) => Ok((playback, workload.queue_depth)),
        _ => unreachable!("a workload whose name begins with `trace:` is a trace"),
    }
}
