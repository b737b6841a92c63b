use std::collections::BTreeMap;

use super::super::{Counts, Level, RowStatus, SweepStatus};
use super::*;

fn sweep() -> Sweep {
    Sweep {
        schema_version: SWEEP_VERSION,
        status: SweepStatus::Unfinished,
        space: "drive = \"demo\"".into(),
        factors: vec!["ftl".into(), "flash.packages".into()],
        objectives: Vec::new(),
        repeats: 1,
        counts: Counts::default(),
        skipped: Vec::new(),
        front: Vec::new(),
        effects: Vec::new(),
        interactions: Vec::new(),
    }
}

/// A row for each status, with everything there and left out that may be.
fn rows() -> Vec<Row> {
    let numbers = |n: f64| BTreeMap::from([("ios".to_owned(), n), ("latency_ns.p99".into(), 0.1)]);
    let row = |point, status, levels, reason: Option<&str>, numbers| Row {
        point,
        repeat: point * 7,
        levels,
        status,
        reason: reason.map(String::from),
        numbers,
    };
    let (text, number) = (Level::Text("page-map".into()), Level::Number(0.30000000000000004));
    vec![
        row(
            0,
            RowStatus::Done,
            vec![Some(text.clone()), Some(number.clone())],
            None,
            numbers(1e300),
        ),
        row(1, RowStatus::Impossible, vec![Some(text), None], Some("no"), BTreeMap::new()),
        row(2, RowStatus::Failed, vec![None, Some(number)], Some(""), numbers(-0.0)),
    ]
}

// Do rows come back as they were kept, from parts and from the table of all, of more groups than one?
#[test]
fn rows_come_back() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("a/b.flashscope");
    let mut folder = SweepFolder::create(&path, &sweep()).unwrap();
    assert!(matches!(SweepFolder::create(&path, &sweep()), Err(Error::Exists(_))));
    assert!(matches!(SweepFolder::resume(&path), Err(Error::Busy(_))));
    let [first, second] = [&rows()[..2], &rows()[2..]];
    folder.keep(&sweep().factors, first).unwrap();
    folder.keep(&sweep().factors, second).unwrap();
    // What a kill leaves of a part.
    fs::write(path.join("parts/part-00002.unfinished"), "PAR1").unwrap();
    drop(folder);
    let (mut folder, read, kept) = SweepFolder::resume(&path).unwrap();
    assert_eq!((read, &kept), (sweep(), &rows()));
    let many: Vec<Row> =
        (0..20_000).map(|n| Row { point: n, ..rows()[n as usize % 3].clone() }).collect();
    folder.finish(&sweep(), &many).unwrap();
    drop(folder);
    assert!(SweepFolder::resume(&path).unwrap().2 == many);
    assert_eq!(fs::read_dir(&path).unwrap().count(), 2, "sweep.json and points.parquet");
}

// Is what is no sweep, damaged, or of a later version refused?
#[test]
fn damage_is_said() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path();
    let read = || read_sweep(path).unwrap_err().to_string();
    assert!(read().contains("is no sweep"), "{}", read());
    for (text, says) in [
        ("{", "damaged"),
        ("{}", "damaged"),
        (r#"{"schema_version":2}"#, "format version 2; this flashscope reads up to 1"),
    ] {
        fs::write(path.join(SWEEP), text).unwrap();
        assert!(read().contains(says), "{}", read());
    }
    let written = place.path().join("s");
    let mut folder = SweepFolder::create(&written, &sweep()).unwrap();
    folder.keep(&sweep().factors, &rows()).unwrap();
    drop(folder);
    let part = written.join("parts/part-00000.parquet");
    let whole = fs::read(&part).unwrap();
    fs::write(&part, &whole[..whole.len() / 2]).unwrap();
    assert!(matches!(SweepFolder::resume(&written), Err(Error::Records { .. })));
}
