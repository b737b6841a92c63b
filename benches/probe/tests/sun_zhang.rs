//! Does the probe find what Sun and Zhang found of their three drives (Table 3)?

use std::sync::atomic::AtomicBool;

use flashscope_block::{Bytes, Device, Nanos};
use flashscope_probe::{Budget, Event, Investigation, Knowledge, Lab, Parameter, investigate};

/// A drive of the paper: its segment in blocks of 4 KB and its log list.
const DRIVES: [(&str, u64, u64); 3] =
    [("sun-zhang-unknown", 64, 3), ("sun-zhang-kingston", 128, 4), ("sun-zhang-pny", 256, 4)];

/// What is found of a drive.
fn probed(name: &str, wanted: &[Parameter]) -> Knowledge {
    let mut drive = flashscope_sim::open(name).expect("it is among the profiles");
    let capacity = drive.info().capacity;
    let budget = Budget { bytes: Bytes(10 * capacity.0), time: Nanos::secs(48 * 3600) };
    let stop = AtomicBool::new(false);
    let mut keep = |_: &_| {};
    let mut lab = Lab::new(&mut drive, budget, 0, &stop, &mut keep);
    let mut tell = |_: &Event<'_>| {};
    let (knowledge, halt) = investigate(&mut lab, &mut Investigation { wanted, tell: &mut tell });
    assert_eq!(halt, None);
    knowledge
}

// Are the log block and the log list of each drive those of Table 3, and is its FTL of the kind that
// section 2.2 assumes?
#[test]
fn log_blocks_and_log_lists() {
    for (name, blocks, list) in DRIVES {
        let known = probed(name, &[Parameter::Segment, Parameter::FtlClass, Parameter::LogList]);
        assert_eq!(known.whole(Parameter::Segment), Some(4096 * blocks), "{name}");
        assert_eq!(known.class(Parameter::FtlClass), Some("bast"), "{name}");
        assert_eq!(known.whole(Parameter::LogList), Some(list), "{name}");
    }
}
