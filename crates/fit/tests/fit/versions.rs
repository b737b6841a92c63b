//! Twins that earlier versions of flashscope wrote (`testdata/twins`).

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use flashscope_document::twin::{DepthSource, TwinPrediction};
use flashscope_fit::{PredictionOptions, predict, read_twin};
use flashscope_simulate::{Resources, Work};

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/twins").join(name)
}

fn predicted(name: &str) -> TwinPrediction {
    let twin = read_twin(&path(name)).unwrap();
    assert_eq!((twin.schema_version, twin.queue_depth), (1, None));
    let work = Work { ios: Some(1000), ..Work::default() };
    let stop = AtomicBool::new(false);
    let options = PredictionOptions { draws: Some(2), filled: None };
    predict(&twin, &work, options, &Resources::new(2, &stop), &mut ()).unwrap()
}

#[test]
fn version_1_of_a_fill_sweep_predicts_at_the_depth_of_its_drive() {
    let predicted = predicted("fill-v1.toml");
    let depth = (predicted.queue_depth, predicted.queue_depth_from);
    assert_eq!(depth, (256, DepthSource::Assumption));
    let rate = predicted.bytes_per_second.value / 65.7e6;
    assert!((0.9..1.1).contains(&rate), "{rate}");
}

#[test]
fn version_1_of_a_result_predicts_at_the_depth_of_its_runs() {
    let predicted = predicted("bench-v1.toml");
    let depth = (predicted.queue_depth, predicted.queue_depth_from);
    assert_eq!(depth, (1, DepthSource::Measurement));
}

// Response times do not show the writes of a drive in addition to data: its map, parity, or a first
// copy in SLC blocks.
#[test]
fn response_times_alone_do_not_identify_write_amplification() {
    let predicted = predicted("bench-v1.toml");
    assert!(!predicted.is_amplification_identified);
    let range = predicted.write_amplification.expect("the workload writes");
    assert!(range.low <= range.value && range.high >= 2.4 * range.value, "{range:?}");
    let lifetime = predicted.lifetime_bytes;
    assert!(lifetime.is_none_or(|range| range.low <= range.value / 2.4), "{lifetime:?}");
}
