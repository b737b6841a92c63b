//! Measures a simulated drive for a test.

use std::sync::atomic::AtomicBool;

use flashscope_block::{Device, Nanos};
use flashscope_document::facts::Facts;
use flashscope_document::manifest::{Calibration, Manifest, MicroBenchmark, Options, Tool};
use flashscope_measure::{Bench, machine, timestamp};
use flashscope_result::ResultFolder;
use flashscope_sim::SimDevice;

/// A measurement.
pub(crate) struct MeasuredDrive {
    pub(crate) manifest: Manifest,
    pub(crate) facts: Facts,
}

impl MeasuredDrive {
    /// Executes a plan on a drive, and analyses the result.
    pub(crate) fn of(
        device: &mut SimDevice,
        options: Options,
        plan: Vec<MicroBenchmark>,
    ) -> MeasuredDrive {
        let calibration = Calibration {
            clock_resolution_ns: Nanos(1),
            clock_cost_ns: Nanos(0),
            harness_cost_ns: None,
        };
        let tool = Tool { version: "0".into(), commit: None };
        let info = device.info().clone();
        let mut manifest =
            Manifest::new(tool, machine::describe(), calibration, info, options, plan, timestamp());
        let parent = tempfile::tempdir().unwrap();
        let folder = ResultFolder::create(&parent.path().join("r.flashscope"), &manifest).unwrap();
        let bench = Bench {
            device,
            folder: &folder,
            manifest: &mut manifest,
            forgot: false,
            stop: &AtomicBool::new(false),
            observer: &mut (),
            surroundings: None,
        };
        { bench }.run().unwrap();
        let facts = flashscope_analysis::analyse(&folder, &manifest).unwrap();
        MeasuredDrive { manifest, facts }
    }
}
