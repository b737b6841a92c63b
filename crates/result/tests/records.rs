//! Round trips through result folders.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use flashscope_block::{Bytes, DeviceInfo, DeviceKind, Errno, Nanos, Op, Record};
use flashscope_document::manifest::{
    Calibration, Machine, Manifest, OnError, Options, Run, SCHEMA_VERSION, State, Tool,
};
use flashscope_document::marks::{Mark, Marks};
use flashscope_document::methodology::Methodology;
use flashscope_result::{Error, ResultFolder};
use flashscope_workload::pattern::Reference;
use flashscope_workload::uflip::Setup;
use proptest::prelude::*;

fn manifest() -> Manifest {
    let tool = Tool { version: "0.1.0".into(), commit: None };
    let machine = Machine {
        processor: "test".into(),
        processors: 2,
        memory_bytes: Bytes::gib(1),
        kernel: "Linux".into(),
    };
    let calibration = Calibration {
        clock_resolution_ns: Nanos(1),
        clock_cost_ns: Nanos(10),
        harness_cost_ns: None,
    };
    let device = DeviceInfo::new(("null:", DeviceKind::Null), (Bytes::gib(1), Bytes(512)), 1);
    let options = Options {
        setup: Setup::paper(Bytes::gib(1), 1),
        state: State::Keep,
        spare: None,
        run_pause_ns: Nanos(0),
        on_error: OnError::Continue,
        methodology: Methodology::default(),
        rounds: None,
        grid: None,
    };
    let started = "2026-01-01T00:00:00Z".into();
    Manifest::new(tool, machine, calibration, device, options, vec![], started)
}

#[test]
fn records_end_once_the_flag_of_their_folder_is_set() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/results/v1.flashscope");
    let (folder, manifest) = ResultFolder::open(&path).unwrap();
    let stop = Arc::<AtomicBool>::default();
    let folder = folder.stopped_by(&stop);
    let run = manifest.runs().next().unwrap();
    assert!(folder.records(run).unwrap().to_vec().is_ok());
    stop.store(true, Ordering::Relaxed);
    assert!(matches!(folder.records(run).unwrap().to_vec(), Err(Error::Stopped)));
}

// A result of version 1, whose records lack lateness, is readable.
#[test]
fn version_1_is_read() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/results/v1.flashscope");
    let (folder, manifest) = ResultFolder::open(&path).unwrap();
    assert_eq!(manifest.schema_version, 1);
    let mut ios = 0;
    for run in manifest.runs() {
        let records = folder.records(run).unwrap().to_vec().unwrap();
        assert_eq!(records.len() as u64, run.progress.ios());
        assert!(records.iter().all(|r| r.late == Nanos(0) && r.latency > Nanos(0)));
        ios += records.len();
    }
    assert_eq!(ios, 288);
}

fn create(parent: &tempfile::TempDir) -> ResultFolder {
    ResultFolder::create(&parent.path().join("r.flashscope"), &manifest()).unwrap()
}

fn write(folder: &ResultFolder, run: u32, records: &[Record]) -> u64 {
    let mut recorder = folder.recorder();
    recorder.begin(run).unwrap();
    for record in records {
        recorder.push(record).unwrap();
    }
    recorder.end().unwrap()
}

fn any_record() -> impl Strategy<Value = Record> {
    let result = prop_oneof![9 => Just(Ok(())), 1 => (1i32..200).prop_map(|e| Err(Errno(e)))];
    let time = 0..=u64::MAX >> 1;
    // In most runs no IO is late.
    let late = prop_oneof![9 => Just(0), 1 => time.clone()];
    (time.clone(), time.clone(), time, any::<u32>(), 0u8..4, any::<u16>(), result, late).prop_map(
        |(submitted, latency, offset, len, op, stream, result, late)| Record {
            submitted: Nanos(submitted),
            latency: Nanos(latency),
            offset: Bytes(offset),
            len: Bytes(u64::from(len)),
            op: Op::from_code(op).unwrap(),
            stream,
            result,
            late: Nanos(late),
        },
    )
}

/// Returns steady random reads, as in most runs.
fn reads(count: u64) -> Vec<Record> {
    (0..count)
        .map(|i| Record {
            submitted: Nanos(i * 1000),
            latency: Nanos(900 + i % 64),
            offset: Bytes((i * 0x9e37_79b9 % 262_144) * 4096),
            len: Bytes(4096),
            op: Op::Read,
            stream: 0,
            result: Ok(()),
            late: Nanos(0),
        })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    // Every field of every IO survives a round trip.
    #[test]
    fn records_round_trip(records in prop::collection::vec(any_record(), 0..300)) {
        let parent = tempfile::tempdir().unwrap();
        let folder = create(&parent);
        prop_assert_eq!(write(&folder, 7, &records), records.len() as u64);
        prop_assert_eq!(folder.rows(7).unwrap().to_vec().unwrap(), records);
    }
}

// Long runs keep every IO, over several row groups and files, in less than 6 bytes per row.
#[test]
fn long_runs_span_files() {
    let parent = tempfile::tempdir().unwrap();
    let folder = create(&parent);
    let records = reads(4_400_000);
    write(&folder, 1, &records);
    let rows = folder.rows(1).unwrap();
    assert_eq!(rows.total(), 4_400_000);
    let mut expected = records.iter();
    rows.for_each(|record| assert_eq!(Some(record), expected.next())).unwrap();
    assert_eq!(expected.next(), None);
    let files: Vec<_> = fs::read_dir(folder.path().join("records")).unwrap().flatten().collect();
    assert_eq!(files.len(), 2);
    let stored: u64 = files.iter().map(|file| file.metadata().unwrap().len()).sum();
    assert!(stored < 6 * 4_400_000, "{stored} bytes");
}

// A window returns its rows, whichever row groups and files it begins and ends in.
#[test]
fn windows_hold_the_ios_of_their_range() {
    let parent = tempfile::tempdir().unwrap();
    let folder = create(&parent);
    let group = 1 << 16;
    // A file has 64 row groups.
    let count = 64 * group + 70_000;
    let mut records = reads(count);
    for failed in [0, group - 1, 64 * group] {
        records[usize::try_from(failed).unwrap()].result = Err(Errno::EIO);
    }
    write(&folder, 1, &records);
    let rows = folder.rows(1).unwrap();
    let edges = [0, 1, 1000, group - 1, group, group + 1, 64 * group - 1, 64 * group, count];
    for (i, &from) in edges.iter().enumerate() {
        for to in edges[i..].iter().copied().filter(|to| to - from < 200_000) {
            let range = usize::try_from(from).unwrap()..usize::try_from(to).unwrap();
            let mut expected = (from..to).zip(&records[range.clone()]);
            rows.for_each_in(from..to, |position, record| {
                assert_eq!(expected.next(), Some((position, record)));
            })
            .unwrap();
            assert_eq!(expected.next(), None);
            let mut expected = records[range].iter();
            let latency = |record: &Record| record.result.is_ok().then_some(record.latency.0);
            rows.for_each_latency(from..to, |found| {
                assert_eq!(expected.next().map(latency), Some(found));
            })
            .unwrap();
            assert_eq!(expected.next(), None);
        }
    }
    rows.for_each_in(count..count + 10, |_, _| panic!("nothing is there")).unwrap();
}

// Threads that read one run concurrently each get the rows they request.
#[test]
fn threads_read_at_once() {
    let parent = tempfile::tempdir().unwrap();
    let folder = create(&parent);
    let part = 1 << 16;
    write(&folder, 1, &reads(6 * part));
    let rows = folder.rows(1).unwrap();
    let sum = |part_of: u64| {
        let mut sum = 0;
        let window = part_of * part..(part_of + 1) * part;
        rows.for_each_in(window, |position, record| sum += position * record.latency.0).unwrap();
        sum
    };
    let expected: Vec<u64> = (0..6).map(&sum).collect();
    std::thread::scope(|scope| {
        let sum = &sum;
        let threads: Vec<_> =
            (0..6).map(|part| scope.spawn(move || [0; 20].map(|_| sum(part)))).collect();
        for (thread, expected) in threads.into_iter().zip(expected) {
            assert_eq!(thread.join().unwrap(), [expected; 20]);
        }
    });
}

// Corrections survive a round trip, absent ones read as empty, and damaged ones are an error.
#[test]
fn marks_are_kept() {
    let parent = tempfile::tempdir().unwrap();
    let folder = create(&parent);
    assert_eq!(folder.marks().unwrap(), Marks::default());
    let mark = Mark {
        micro_benchmark: "mix".into(),
        experiment: "SR/RW".into(),
        interesting: true,
        note: "look".into(),
    };
    let marks = Marks { experiments: vec![mark] };
    folder.write_marks(&marks).unwrap();
    assert_eq!(folder.marks().unwrap(), marks);
    fs::write(folder.path().join("marks.json"), "[").unwrap();
    assert!(matches!(folder.marks(), Err(Error::Json { .. })));
}

// Writers do not follow a link in place of a temporary or final file.
#[test]
fn links_are_replaced() {
    let parent = tempfile::tempdir().unwrap();
    let folder = create(&parent);
    let elsewhere = parent.path().join("elsewhere");
    fs::write(&elsewhere, "untouched").unwrap();
    for name in ["marks.json.unfinished", "marks.json"] {
        std::os::unix::fs::symlink(&elsewhere, folder.path().join(name)).unwrap();
    }
    folder.write_marks(&Marks::default()).unwrap();
    assert_eq!(fs::read_to_string(&elsewhere).unwrap(), "untouched");
    assert_eq!(folder.marks().unwrap(), Marks::default());
    assert!(folder.path().join("marks.json").symlink_metadata().unwrap().is_file());
}

// An interrupted run leaves nothing that looks like a result, and the next run works.
#[test]
fn unfinished_runs_are_hidden() {
    let parent = tempfile::tempdir().unwrap();
    let folder = create(&parent);
    let mut recorder = folder.recorder();
    recorder.begin(1).unwrap();
    for record in &reads(200_000) {
        recorder.push(record).unwrap();
    }
    recorder.begin(2).unwrap();
    recorder.push(&reads(1)[0]).unwrap();
    recorder.end().unwrap();
    assert_eq!(folder.rows(1).unwrap().total(), 0);
    assert_eq!(folder.rows(2).unwrap().total(), 1);
    assert_eq!(fs::read_dir(folder.path().join("records")).unwrap().count(), 1);
}

// A failure of the writer surfaces at the end of the run at the latest, with the operation and the
// file.
#[test]
fn a_lost_folder_is_reported() {
    let parent = tempfile::tempdir().unwrap();
    let folder = create(&parent);
    let mut recorder = folder.recorder();
    fs::remove_dir(folder.path().join("records")).unwrap();
    recorder.begin(1).unwrap();
    recorder.push(&reads(1)[0]).unwrap();
    let message = recorder.end().unwrap_err().to_string();
    assert!(message.contains("cannot create") && message.contains("run-00001"), "{message}");
    assert!(matches!(recorder.begin(2), Err(Error::WriterGone)));
}

// A truncated file of records is refused with its name, wherever it is cut.
#[test]
fn damaged_records_are_refused() {
    let parent = tempfile::tempdir().unwrap();
    let folder = create(&parent);
    write(&folder, 1, &reads(5000));
    let file = folder.path().join("records/run-00001-000.parquet");
    let whole = fs::read(&file).unwrap();
    for keep in [0, 4, whole.len() / 2, whole.len() - 1] {
        fs::write(&file, &whole[..keep]).unwrap();
        let message = folder.rows(1).and_then(|rows| rows.to_vec()).unwrap_err().to_string();
        assert!(message.contains("run-00001-000.parquet"), "{message}");
    }
}

// The manifest survives a round trip; other folders and later versions are refused.
#[test]
fn manifests_are_checked() {
    let parent = tempfile::tempdir().unwrap();
    let folder = create(&parent);
    assert_eq!(ResultFolder::open(folder.path()).unwrap(), (folder.clone(), manifest()));
    let again = ResultFolder::create(folder.path(), &manifest()).unwrap_err();
    assert!(again.to_string().contains("exists already"));
    let none = ResultFolder::open(parent.path()).unwrap_err();
    assert!(none.to_string().contains("is not a result"));
    let later = Manifest { schema_version: SCHEMA_VERSION + 1, ..manifest() };
    folder.write_manifest(&later).unwrap();
    assert!(
        ResultFolder::open(folder.path()).unwrap_err().to_string().contains("update flashscope")
    );
    fs::write(folder.path().join("manifest.json"), b"{\"schema_version\": 1, \"tool\": 3").unwrap();
    assert!(ResultFolder::open(folder.path()).unwrap_err().to_string().contains("is damaged"));
}

// A manifest is refused if two runs share a number, or a run has too many patterns: the analysis
// would take unbounded time or memory.
#[test]
fn runs_with_the_same_number_are_analysed_once() {
    let v1 = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/results/v1.flashscope");
    let manifest = ResultFolder::open(&v1).unwrap().1;
    let parent = tempfile::tempdir().unwrap();
    let refused = |change: &dyn Fn(&mut Run)| {
        let mut changed = manifest.clone();
        changed.runs_mut().skip(1).take(1).for_each(change);
        let folder = create(&parent);
        folder.write_manifest(&changed).unwrap();
        let opened = ResultFolder::open(folder.path()).map_err(|error| error.to_string());
        fs::remove_dir_all(folder.path()).unwrap();
        opened.err()
    };
    assert_eq!(refused(&|_| {}), None);
    let first = manifest.runs().next().unwrap().id;
    assert!(refused(&|run| run.id = first).unwrap().contains("two runs have the number"));
    let sequence = |count: usize| {
        let pattern = *manifest.runs().next().unwrap().reference.patterns()[0];
        Reference::Sequence { patterns: vec![pattern; count] }
    };
    assert_eq!(refused(&|run| run.reference = sequence(64)), None);
    assert!(refused(&|run| run.reference = sequence(65)).unwrap().contains("more than 64"));
}
