use std::collections::BTreeMap;

use super::*;
use flashscope_document::sweep::{Counts, Goal, Level, Objective, RowStatus, SweepStatus};

fn sweep() -> Sweep {
    Sweep {
        schema_version: SWEEP_VERSION,
        status: SweepStatus::Unfinished,
        conclusions: Vec::new(),
        space: "drive = \"demo\"".into(),
        factors: vec!["ftl".into(), "flash.packages".into()],
        objectives: Vec::new(),
        repeats: 1,
        counts: Counts::default(),
        skipped: Vec::new(),
        front: Vec::new(),
        effects: Vec::new(),
        interactions: Vec::new(),
        regressions: Vec::new(),
    }
}

/// Returns a row for each status, with and without the optional values.
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

// Rows survive a round trip, from parts and from a full table of several row groups.
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
    // The unfinished part that a killed process leaves.
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

// A sweep that claims too many factors is refused, because each row allocates room for every
// factor.
#[test]
fn rows_hold_any_number_of_factors() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("a.flashscope");
    let mut folder = SweepFolder::create(&path, &sweep()).unwrap();
    folder.finish(&sweep(), &rows()).unwrap();
    let factors = |count| Sweep { factors: vec!["ftl".into(); count], ..sweep() };
    folder.write(&factors(1025)).unwrap();
    drop(folder);
    assert!(matches!(SweepFolder::resume(&path), Err(Error::Records { .. })));
}

// Charts show points with the means of their objectives, from parts and from the full table, and
// omit points whose simulation did not finish.
#[test]
fn points_are_shown() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("s");
    let objective = |field: &str| Objective { goal: Goal::Minimize, field: field.into() };
    let objectives = vec![objective("ios"), objective("none")];
    let sweep = Sweep { repeats: 2, objectives, ..sweep() };
    let of = |point, repeat, ios: f64| Row {
        point,
        repeat,
        numbers: BTreeMap::from([("ios".to_owned(), ios), ("other".into(), 1.0)]),
        ..rows()[0].clone()
    };
    // The second repeat of the last point is missing.
    let done = [of(1, 1, 9.0), of(1, 0, 7.0), of(4, 0, 1.0)];
    let mut folder = SweepFolder::create(&path, &sweep).unwrap();
    folder.keep(&sweep.factors, &done).unwrap();
    for _ in 0..2 {
        let shown = read_explored(&path).unwrap();
        let points: Vec<_> = shown.points.iter().map(|point| point.point).collect();
        assert_eq!((points, shown.simulated), (vec![1], 1));
        let [Some(ios), None] = shown.points[0].values[..] else { panic!("{shown:?}") };
        assert!(ios.value == 8.0 && ios.covers(7.0), "{ios:?}");
        assert_eq!(shown.points[0].levels, rows()[0].levels);
        folder.finish(&sweep, &done).unwrap();
    }
}

// A folder that cannot be created completely is removed. This path is too long for the files
// inside.
#[test]
fn a_file_that_cannot_be_created_is_absent() {
    let place = tempfile::tempdir().unwrap();
    let mut path = place.path().to_path_buf();
    while path.as_os_str().len() < 4085 {
        let room = 4085 - path.as_os_str().len();
        path.push("s".repeat(room.saturating_sub(1).clamp(1, 200)));
    }
    assert!(matches!(SweepFolder::create(&path, &sweep()), Err(Error::Io { .. })));
    assert!(!path.exists() && path.parent().unwrap().exists());
}

// A folder that is not a sweep, is damaged or has a later version is refused.
#[test]
fn damage_is_reported() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path();
    let read = || read_sweep(path).unwrap_err().to_string();
    assert!(read().contains("is not a sweep"), "{}", read());
    for (text, says) in [
        ("{", "damaged"),
        ("{}", "damaged"),
        (r#"{"schema_version":3}"#, "format version 3; this flashscope reads up to 2"),
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
