//! Does the probe find what Sun and Zhang found of their three drives, every entry of Table 3?

use flashscope_probe::{Answer, Finding, Parameter};
use flashscope_probe_bench::trial::probe;

/// A drive of the paper: the columns of Table 3.
struct Drive {
    name: &'static str,
    groups: u64,
    /// The log block, in blocks of 4 KB.
    log_block: u64,
    log_list: u64,
    /// "0==1?": none where it says yes.
    content: &'static str,
    /// What a merge takes, where the paper prints it.
    merge_ms: Option<f64>,
}

const UNKNOWN: Drive = Drive {
    name: "sun-zhang-unknown",
    groups: 4,
    log_block: 64,
    log_list: 3,
    content: "zeros-cost-less",
    merge_ms: Some(120.0), // section 3.4
};
const KINGSTON: Drive = Drive {
    name: "sun-zhang-kingston",
    groups: 2,
    log_block: 128,
    log_list: 4,
    content: "none",
    merge_ms: None,
};
const PNY: Drive = Drive {
    name: "sun-zhang-pny",
    groups: 2,
    log_block: 256,
    log_list: 4,
    content: "none",
    merge_ms: None,
};

/// Fails unless a time, in nanoseconds, is within 5 % of the one that the paper prints.
fn close(what: &str, found: Option<f64>, printed: f64) {
    let found = found.unwrap_or_default();
    assert!((found / printed - 1.0).abs() <= 0.05, "{what} is {found} ns, printed {printed}");
}

fn as_the_paper_says(drive: &Drive) {
    let mut device = flashscope_sim::open(drive.name).expect("it is among the profiles");
    let found = probe(&mut device, 0, &[], &mut |_| {}).expect("nothing ends it early");
    let known = found.knowledge;
    let whole = |parameter| known.whole(parameter);
    assert_eq!(whole(Parameter::Groups), Some(drive.groups));
    assert_eq!(whole(Parameter::Segment), Some(4096 * drive.log_block));
    assert_eq!(whole(Parameter::LogList), Some(drive.log_list));
    assert_eq!(known.class(Parameter::ContentEffect), Some(drive.content));
    // What the text says of the first drive, and assumes of all.
    assert_eq!(known.class(Parameter::Medium), Some("flash"));
    assert_eq!(known.class(Parameter::FtlClass), Some("bast"), "section 2.2");
    assert_eq!(whole(Parameter::PageSize), Some(2048), "section 4.2");
    assert_eq!(whole(Parameter::LargestRequest), Some(30 * 4096), "section 4.4");
    let value = |parameter| known.value(parameter);
    let read = value(Parameter::RequestCost);
    close("a read of 4 KB, section 3.3,", read, 0.75e6);
    // Figure 17 has the average over the blocks of the longest request, with what a request costs.
    let further = value(Parameter::BlockCost).map(|block| 29.0 * block);
    let average = read.zip(further).map(|(first, further)| (first + further) / 30.0);
    close("a block of a read of 30, section 4.4,", average, 0.25e6);
    close("a switch of groups, section 4.1,", value(Parameter::GroupSwitch), 0.25e6);
    if let Some(merge) = drive.merge_ms {
        close("a merge, section 3.4,", value(Parameter::MergeCost), 1e6 * merge);
    }
    // All of that is stated as nearly certain, and nothing that such a drive lacks is made up.
    let stated =
        |finding: &&Finding| matches!(finding.answer, Answer::Value { .. } | Answer::Class { .. });
    for finding in known.findings().filter(stated) {
        assert!(finding.probability > 0.9, "{finding:?}");
    }
    for parameter in [Parameter::WriteBuffer, Parameter::SlcCache, Parameter::OverProvisioning] {
        assert!(!known.finding(parameter).is_some_and(|f| stated(&f)), "{parameter:?}");
    }
    assert!(found.drive_writes < 10.0, "{} drive-writes", found.drive_writes);
}

// Is all found that the paper prints of the drive of unknown make?
#[test]
fn unknown() {
    as_the_paper_says(&UNKNOWN);
}

// And of the Kingston Data Traveler?
#[test]
fn kingston() {
    as_the_paper_says(&KINGSTON);
}

// And of the PNY attache?
#[test]
fn pny() {
    as_the_paper_says(&PNY);
}
