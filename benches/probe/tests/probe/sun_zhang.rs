//! Compares the findings about the three drives of Sun and Zhang with every entry of their Table 3.

use flashscope_document::probe::{Answer, Finding, Parameter};
use flashscope_probe_bench::trial::probe;

/// A drive of the paper, with the columns of Table 3.
struct Drive {
    name: &'static str,
    groups: u64,
    /// The log block, in units of 4 KB.
    log_block: u64,
    log_list: u64,
    /// "0==1?": `none` stands for yes.
    content: &'static str,
    /// The time of a merge in ms, if the paper prints it.
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

/// Fails unless a measured time in nanoseconds is within 5 % of the printed one.
fn assert_close(what: &str, measured: Option<f64>, printed: f64) {
    let measured = measured.unwrap_or_default();
    assert!((measured / printed - 1.0).abs() <= 0.05, "{what} is {measured} ns, printed {printed}");
}

fn assert_as_printed(drive: &Drive) {
    let mut device = flashscope_sim::open(drive.name).expect("a built-in profile");
    let outcome = probe(&mut device, 0, &[], &mut |_| {}).expect("the probe is not interrupted");
    let known = outcome.knowledge;
    let whole = |parameter| known.whole(parameter);
    assert_eq!(whole(Parameter::Groups), Some(drive.groups));
    assert_eq!(whole(Parameter::Segment), Some(4096 * drive.log_block));
    assert_eq!(whole(Parameter::LogList), Some(drive.log_list));
    assert_eq!(known.class(Parameter::ContentEffect), Some(drive.content));
    // The paper's text states these values for the first drive, and assumes them for all three.
    assert_eq!(known.class(Parameter::Medium), Some("flash"));
    assert_eq!(known.class(Parameter::FtlClass), Some("bast"), "section 2.2");
    assert_eq!(whole(Parameter::PageSize), Some(2048), "section 4.2");
    assert_eq!(whole(Parameter::LargestRequest), Some(30 * 4096), "section 4.4");
    let value = |parameter| known.value(parameter);
    let read = value(Parameter::RequestCost);
    assert_close("a read of 4 KB, section 3.3,", read, 0.75e6);
    // Figure 17 averages the largest request over its blocks, including the fixed cost of the
    // request.
    let further = value(Parameter::BlockCost).map(|block| 29.0 * block);
    let average = read.zip(further).map(|(first, further)| (first + further) / 30.0);
    assert_close("a block of a read of 30, section 4.4,", average, 0.25e6);
    assert_close("a switch of groups, section 4.1,", value(Parameter::GroupSwitch), 0.25e6);
    if let Some(merge) = drive.merge_ms {
        assert_close("a merge, section 3.4,", value(Parameter::MergeCost), 1e6 * merge);
    }
    // Every answer is nearly certain, and the probe reports no feature that these drives lack.
    let stated =
        |finding: &&Finding| matches!(finding.answer, Answer::Value { .. } | Answer::Class { .. });
    for finding in known.findings().filter(stated) {
        assert!(finding.probability > 0.9, "{finding:?}");
    }
    for parameter in [Parameter::WriteBuffer, Parameter::SlcCache, Parameter::OverProvisioning] {
        assert!(!known.finding(parameter).is_some_and(|f| stated(&f)), "{parameter:?}");
    }
    assert!(outcome.drive_writes < 10.0, "{} drive-writes", outcome.drive_writes);
}

#[test]
fn the_drive_of_unknown_make_has_the_printed_parameters() {
    assert_as_printed(&UNKNOWN);
}

#[test]
fn the_kingston_data_traveler_has_the_printed_parameters() {
    assert_as_printed(&KINGSTON);
}

#[test]
fn the_pny_attache_has_the_printed_parameters() {
    assert_as_printed(&PNY);
}
