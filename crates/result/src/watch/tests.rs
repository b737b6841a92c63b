use std::os::unix::fs::symlink;

use flashscope_document::environment::Health;
use flashscope_document::manifest::Tool;
use flashscope_document::watch::{WatchSource, WatchedDrive};
use proptest::prelude::*;

use super::*;

fn header() -> WatchHeader {
    WatchHeader {
        schema_version: WATCH_VERSION,
        tool: Tool { version: "1".into(), commit: None },
        began: "2026-01-01T00:00:00Z".into(),
    }
}

fn reading(used: u8) -> WatchReading {
    let mut smart = [0; 512];
    (smart[3], smart[5]) = (100, used);
    let name = "/dev/nvme0n1".into();
    WatchReading {
        at: "2026-01-02T00:00:00Z".into(),
        drive: WatchedDrive { name, source: WatchSource::Nvme, model: None, serial: None },
        health: Health::decode(&smart, None).unwrap(),
        latency_monitor: None,
    }
}

/// Opens a folder and returns it with its readings.
fn open(path: &Path) -> Result<(WatchFolder, Vec<WatchReading>), Error> {
    let mut readings = Vec::new();
    let folder = WatchFolder::open(path, &header(), &mut |reading| readings.push(reading))?;
    Ok((folder, readings))
}

#[test]
fn readings_are_kept_in_order_over_several_openings() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("w.flashscope");
    for used in 0..3 {
        let (mut folder, before) = open(&path).unwrap();
        assert_eq!(before, (0..used).map(reading).collect::<Vec<_>>());
        assert!(matches!(open(&path), Err(Error::Busy(_))), "a second writer");
        folder.keep(&reading(used)).unwrap();
    }
    assert_eq!(read_header(&path).unwrap(), header());
}

#[test]
fn damaged_lines_are_named_and_later_versions_refused() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("w.flashscope");
    let (mut folder, _) = open(&path).unwrap();
    folder.keep(&reading(1)).unwrap();
    drop(folder);
    let file = path.join(READINGS);
    let good = fs::read_to_string(&file).unwrap();
    fs::write(&file, format!("{good}\n{{\"at\": 1}}\n{good}")).unwrap();
    let error = open(&path).unwrap_err().to_string();
    assert!(error.contains("readings.jsonl is damaged: line 3: "), "{error}");
    fs::write(&file, " ".repeat(2 << 20)).unwrap();
    assert!(open(&path).unwrap_err().to_string().contains("line 1: it is too long"));
    let later = WatchHeader { schema_version: WATCH_VERSION + 1, ..header() };
    fs::write(path.join(WATCH), serde_json::to_vec(&later).unwrap()).unwrap();
    assert!(matches!(open(&path), Err(Error::Version { .. })));
}

#[test]
fn other_folders_and_links_are_refused() {
    let place = tempfile::tempdir().unwrap();
    assert!(matches!(open(place.path()), Err(Error::NoWatch(_))));
    let path = place.path().join("w.flashscope");
    drop(open(&path).unwrap());
    let other = place.path().join("precious");
    fs::write(&other, "").unwrap();
    fs::remove_file(path.join(READINGS)).unwrap();
    symlink(&other, path.join(READINGS)).unwrap();
    assert!(matches!(open(&path), Err(Error::NoFile(_))));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    // A crash may cut the file anywhere. Complete lines stay, and the next reading begins a line.
    #[test]
    fn a_cut_loses_only_the_line_that_it_hits(cut in 0.0..1.0f64) {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("w.flashscope");
        let (mut folder, _) = open(&path).unwrap();
        (0..3).for_each(|used| folder.keep(&reading(used)).unwrap());
        drop(folder);
        let file = path.join(READINGS);
        let bytes = fs::read(&file).unwrap();
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)]
        let at = (cut * bytes.len() as f64) as usize;
        fs::write(&file, &bytes[..at]).unwrap();
        let complete = bytes[..at].iter().filter(|byte| **byte == b'\n').count();
        let (mut folder, left) = open(&path).unwrap();
        prop_assert_eq!(left.len(), complete);
        folder.keep(&reading(9)).unwrap();
        drop(folder);
        let (_, after) = open(&path).unwrap();
        prop_assert_eq!(after.len(), complete + 1);
        prop_assert_eq!(after.last(), Some(&reading(9)));
    }
}
