use flashscope_workload::Stream;
use flashscope_workload::pattern::Reference;
use flashscope_workload::synthetic::{self, Ios, Target, Workload, WorkloadError};

use super::{Error, replay};

/// Opens a workload or a trace, and checks the fields. Reads no file.
///
/// # Errors
/// The errors of [`synthetic::open`], or an invalid field of a trace.
pub fn open_workload(spec: &str, target: &Target) -> Result<Workload, WorkloadError> {
    let workload = synthetic::open(spec, target)?;
    if let Ios::Trace(playback) = &workload.ios {
        replay::spec(playback).map_err(|error| WorkloadError::Trace(error.to_string()))?;
    }
    Ok(workload)
}

/// Opens the concurrent streams of a run. The reference must be [valid](Reference::validate).
///
/// # Errors
/// If a trace cannot be opened.
pub fn streams(reference: &Reference) -> Result<Vec<Box<dyn Stream + Send>>, Error> {
    reference.streams(|playback| Ok(Box::new(replay(playback)?)))
}

#[cfg(test)]
mod tests {
    use flashscope_block::Bytes;

    use super::*;

    #[test]
    fn fields_of_traces_are_checked_without_the_trace() {
        let target =
            Target { capacity: Bytes::MIB, logical_block: Bytes(512), filled: true, seed: 1 };
        let error = |spec| open_workload(spec, &target).err().map(|error| error.to_string());
        assert_eq!(error("trace:absent?speed=2"), None);
        let speed = error("trace:absent?speed=x").expect("`x` is no speed");
        assert!(speed.starts_with("`speed` is `x`: "), "{speed}");
    }
}
