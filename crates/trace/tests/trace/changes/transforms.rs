use flashscope_block::{Bytes, Nanos, Op};
use flashscope_trace::{Reader, Request, Spec};
use flashscope_workload::playback::FIELDS;
use proptest::prelude::*;

use super::{Folder, all, spec, write_at};

const SECOND: u64 = 1_000_000_000;

/// Returns a trace of ten seconds with a request each half second. It cycles through three volumes
/// and all operations, with addresses throughout the first 20 MiB.
fn story() -> Vec<Request> {
    (0..20)
        .map(|i| Request {
            at: Nanos(100 * SECOND + i * SECOND / 2),
            volume: u32::try_from(i % 3).unwrap(),
            op: Op::ALL[usize::try_from(i % 4).unwrap()],
            len: if i % 4 == 3 { Bytes(0) } else { Bytes(8192) },
            offset: if i % 4 == 3 { Bytes(0) } else { Bytes(i * 1024 * 1024 + 3584) },
            ..write_at(0, 0)
        })
        .collect()
}

const VOLUMES: [&str; 3] = ["a", "b", "c"];

fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("t.parquet", &VOLUMES, &story());
    folder
}

fn changed(fields: &[(&str, &str)]) -> Vec<Request> {
    folder().read(&["t.parquet"], fields)
}

// Each selection returns exactly the requests that it names.
#[test]
fn selections_keep_what_they_name() {
    let of = |keep: fn(&&Request) -> bool| story().iter().filter(keep).copied().collect::<Vec<_>>();
    assert_eq!(changed(&[]), story());
    assert_eq!(changed(&[("volumes", "c,a")]), of(|r| r.volume != 1));
    assert_eq!(changed(&[("ops", "trim,read")]), of(|r| matches!(r.op, Op::Trim | Op::Read)));
    assert_eq!(changed(&[("from", "9s")]), story()[18..]);
    assert_eq!(changed(&[("from", "1s"), ("until", "2s")]), story()[2..4]);
    let cut = changed(&[("range", "3MiB..4MiB"), ("ops", "read,write,trim")]);
    assert!(cut.is_empty(), "only a flush lies at 3 MiB: {cut:?}");
    let cut = changed(&[("range", "4MiB..4201984"), ("ops", "read")]);
    let [read] = cut[..] else { panic!("{cut:?}") };
    assert_eq!((read.offset, read.len), (Bytes(4 * 1024 * 1024 + 3584), Bytes(4096)));
}

// An error names a missing volume and the existing ones.
#[test]
fn an_unknown_volume_is_named() {
    let folder = folder();
    let mut trace = folder.open(&["t.parquet"], &[("volumes", "a,d")]).unwrap();
    let error = all(&mut trace).unwrap_err().to_string();
    assert_eq!(error, "the trace: it has no volume `d`; it has a, b, c");
}

// Times scale from the first request, addresses from 0, and offsets within a page stay unchanged.
#[test]
fn times_and_addresses_scale() {
    let times = |fields: &[(&str, &str)]| -> Vec<u64> {
        changed(fields).iter().map(|r| r.at.0 - 100 * SECOND).collect()
    };
    let original = times(&[]);
    let half: Vec<u64> = original.iter().map(|at| at / 2).collect();
    assert_eq!(times(&[("speed", "2")]), half);
    // After a selection, times are relative to the first remaining request.
    assert_eq!(times(&[("from", "1s"), ("speed", "0.5")])[..3], [SECOND, 2 * SECOND, 3 * SECOND]);
    for (scaled, original) in changed(&[("space", "0.5")]).iter().zip(story()) {
        let page = original.offset.0 / 4096 / 2;
        assert_eq!(scaled.offset.0, page * 4096 + original.offset.0 % 4096);
        assert_eq!(scaled.len, original.len);
    }
}

// A shared misalignment is corrected, and an aligned trace stays unchanged.
#[test]
fn a_shared_misalignment_is_corrected() {
    let mended = changed(&[("realign", "auto"), ("ops", "read,write,trim")]);
    assert!(mended.iter().all(|r| r.offset.is_multiple_of(Bytes(4096))), "{mended:?}");
    assert_eq!(mended[0].offset, Bytes(4096));
    let by_hand = changed(&[("realign", "512"), ("ops", "read,write,trim")]);
    assert_eq!(by_hand, mended);
    let folder = Folder::new();
    // One request in three is misaligned: there is no common shift.
    let mixed: Vec<Request> =
        (0..30).map(|i| write_at(i, i * 8192 + if i % 3 == 0 { 512 } else { 0 })).collect();
    folder.write("m.parquet", &["v"], &mixed);
    assert_eq!(folder.read(&["m.parquet"], &[("realign", "auto")]), mixed);
}

#[test]
fn times_scale_from_the_first_selected_request_even_in_a_later_batch() {
    let folder = Folder::new();
    let mut requests: Vec<Request> = (0..5000).map(|i| write_at(i * SECOND, 0)).collect();
    let last = requests.len() as u64;
    requests.extend((0..2).map(|i| Request { volume: 1, ..write_at((last + i) * SECOND, 0) }));
    folder.write("v.parquet", &["a", "b"], &requests);
    let scaled = folder.read(&["v.parquet"], &[("volumes", "b"), ("speed", "2")]);
    let times: Vec<u64> = scaled.iter().map(|request| request.at.0 / (SECOND / 2)).collect();
    assert_eq!(times, [2 * last, 2 * last + 1]);
}

#[test]
fn requests_before_damage_are_realigned_and_returned() {
    let folder = Folder::new();
    let lines = "128166372003061629,usr,0,Write,512,4096,9\n128166372003061639,usr,0,Write,8704,4096,9\nx,usr,0,Write,0,4096,9\n";
    std::fs::write(folder.at("d.csv"), lines).unwrap();
    let mut trace = folder.open(&["d.csv"], &[("realign", "auto")]).unwrap();
    let mut batch = Vec::new();
    trace.read(&mut batch).unwrap();
    let offsets: Vec<u64> = batch.iter().map(|request| request.offset.0).collect();
    assert_eq!(offsets, [4096, 12288]);
    let error = trace.read(&mut batch).unwrap_err().to_string();
    assert!(error.contains("line 3"), "{error}");
}

#[test]
fn a_drive_below_a_page_receives_no_addresses() {
    let folder = Folder::new();
    folder.write("s.parquet", &["v"], &[write_at(0, 0)]);
    let mut spec = spec(&[("remap", "fold")]);
    spec.fit(Bytes(2048));
    let error = spec.open(&[folder.at("s.parquet").to_str().unwrap()]).err().unwrap().to_string();
    assert!(error.contains("4 KiB or more, not 2 KiB"), "{error}");
}

// A sample keeps the requested share of whole regions, and reports its error.
#[test]
#[allow(clippy::cast_precision_loss)]
fn a_sample_keeps_the_requested_share_of_whole_regions() {
    let folder = Folder::new();
    let many: Vec<Request> = (0..20_000)
        .map(|i| write_at(i, i * 0x9e37_79b9 % 4096 * (1 << 20) + i % 256 * 4096))
        .collect();
    folder.write("m.parquet", &["v"], &many);
    let fields = [("sample", "0.1"), ("sample_seed", "7")];
    let mut trace = folder.open(&["m.parquet"], &fields).unwrap();
    let kept = all(&mut trace).unwrap();
    let region = |r: &Request| r.offset.0 >> 20;
    let regions: std::collections::BTreeSet<u64> = kept.iter().map(region).collect();
    assert_eq!(
        kept,
        many.iter().filter(|r| regions.contains(&region(r))).copied().collect::<Vec<_>>()
    );
    let expected = 409.6;
    assert!((regions.len() as f64 - expected).abs() < 4.0 * f64::sqrt(expected * 0.9));
    let off = 100.0 * (kept.len() as f64 / 0.1 / 20_000.0 - 1.0);
    let note = trace.notes().join("\n");
    assert!(note.contains(&format!("the sample has {} of 20000 requests", kept.len())), "{note}");
    assert!(note.contains(&format!("{off:+.1} % in requests")), "{note}");
    assert_ne!(kept, folder.read(&["m.parquet"], &[("sample", "0.1")]), "the seed decides");
    assert_eq!(folder.read(&["m.parquet"], &[("sample", "1")]), many);
}

// A remapped trace stays on the drive, follows the policy, and reports the moves.
#[test]
fn a_remapped_trace_stays_on_the_drive() {
    let into = 8 * 1024 * 1024;
    let folded = changed(&[("remap", "fold"), ("into", "8MiB")]);
    for (folded, original) in folded.iter().zip(story()) {
        assert_eq!(folded.offset.0, original.offset.0 % into);
        assert_eq!((folded.len, folded.volume), (original.len, original.volume));
    }
    // Each request accesses a separate region: the regions become consecutive.
    let compact = changed(&[("remap", "compact"), ("into", "32MiB"), ("ops", "write")]);
    let offsets: Vec<u64> = compact.iter().map(|r| r.offset.0).collect();
    assert_eq!(offsets, (0..5).map(|i| (i << 20) + 3584).collect::<Vec<u64>>());
    assert!(compact.iter().all(|r| r.volume == 0));
    // Adjacent regions stay together. A request past the end of the drive is moved back to end
    // there.
    let folder = Folder::new();
    let long = Request { len: Bytes::mib(3), ..write_at(0, 100 << 20) };
    folder.write(
        "l.parquet",
        &["v"],
        &[long, write_at(1, 102 << 20), write_at(2, (1 << 20) - 2048)],
    );
    let fields = [("remap", "compact"), ("into", "4MiB")];
    let mut trace = folder.open(&["l.parquet"], &fields).unwrap();
    let placed: Vec<u64> = all(&mut trace).unwrap().iter().map(|r| r.offset.0).collect();
    assert_eq!(placed, [0, 2 << 20, (4 << 20) - 4096]);
    let note = trace.notes().join("\n");
    assert!(note.contains("of 3 requests, 1 that would pass the end"), "{note}");
    assert!(note.contains("are more than the drive"), "{note}");
}

// Traces merge in time order with separate volumes; with `merge=start`, all begin at 0.
#[test]
fn traces_merge_in_time_order() {
    let folder = Folder::new();
    folder.write("x.parquet", &["v", "w"], &[write_at(10, 0), write_at(30, 1 << 20)]);
    let other = Request { volume: 1, ..write_at(25, 3 << 20) };
    folder.write("y.parquet", &["w", "v"], &[write_at(20, 2 << 20), other]);
    let mut trace = folder.open(&["x.parquet", "y.parquet"], &[]).unwrap();
    let merged: Vec<_> = all(&mut trace).unwrap().iter().map(|r| (r.at.0, r.volume)).collect();
    assert_eq!(merged, [(10, 0), (20, 2), (25, 3), (30, 0)]);
    let names: Vec<&str> = trace.volumes().names().collect();
    let y = folder.at("y.parquet");
    let y = y.to_str().unwrap();
    assert_eq!(names, ["v".into(), "w".into(), format!("{y}:w"), format!("{y}:v")]);
    let merged = folder.read(&["x.parquet", "y.parquet"], &[("merge", "start")]);
    assert_eq!(merged.iter().map(|r| r.at.0).collect::<Vec<_>>(), [0, 0, 5, 20]);
}

// Each pass of a repeated trace continues after the previous one; standard input cannot repeat.
#[test]
fn passes_follow_each_other() {
    let repeated = changed(&[("repeat", "3"), ("ops", "read")]);
    let once = changed(&[("ops", "read")]);
    assert_eq!(repeated.len(), 3 * once.len());
    // Reads are 2 s apart.
    let times: Vec<u64> = repeated.iter().map(|r| (r.at.0 - 100 * SECOND) / SECOND).collect();
    assert_eq!(times, (0..15).map(|i| 2 * i).collect::<Vec<u64>>());
    let places: Vec<_> = repeated.iter().map(|r| r.offset).collect();
    assert_eq!(places, once.iter().map(|r| r.offset).cycle().take(15).collect::<Vec<_>>());
    let error = spec(&[("repeat", "2")]).open(&["-"]).err().unwrap().to_string();
    assert!(error.contains("write it to a file first"), "{error}");
}

#[test]
fn every_field_changes_something() {
    const OTHERS: [(&str, &str); 23] = [
        ("format", "parquet"),
        ("on_bad_line", "skip"),
        ("sector", "4096"),
        ("time", "0:ms"),
        ("offset", "1:sectors"),
        ("size", "2"),
        ("op", "3:28"),
        ("latency", "4:us"),
        ("volume", "5"),
        ("merge", "start"),
        ("volumes", "a"),
        ("ops", "write"),
        ("from", "3s"),
        ("until", "3s"),
        ("range", "0..1MiB"),
        ("sample", "0.5"),
        ("sample_seed", "3"),
        ("realign", "512"),
        ("space", "2"),
        ("remap", "fold"),
        ("into", "4MiB"),
        ("region", "8MiB"),
        ("speed", "3"),
    ];
    let folder = folder();
    // Tests of formats cover the reader's options.
    let transforms = OTHERS.iter().skip_while(|(name, _)| *name != "merge");
    for (name, value) in transforms {
        let beside: &[(&str, &str)] = match *name {
            "remap" => &[("into", "8MiB")],
            "into" => &[("remap", "fold"), ("into", "8MiB")],
            "region" | "sample_seed" => &[("sample", "0.5")],
            _ => &[],
        };
        // Merging needs two traces.
        let files: &[&str] =
            if *name == "merge" { &["t.parquet", "u.parquet"] } else { &["t.parquet"] };
        if *name == "merge" {
            folder.write("u.parquet", &["d"], &[write_at(7, 0)]);
        }
        let fields: Vec<_> = beside.iter().copied().chain([(*name, *value)]).collect();
        assert_ne!(folder.read(files, &fields), folder.read(files, beside), "{name}");
    }
    let tested: Vec<&str> = OTHERS.iter().map(|(name, _)| *name).chain(["repeat"]).collect();
    assert_eq!(tested, FIELDS.iter().map(|field| field.name).collect::<Vec<_>>());
}

// Every invalid value is refused with the rule, and every default is valid.
#[test]
fn values_are_checked() {
    for (name, value) in [
        ("format", "msrr"),
        ("on_bad_line", "ignore"),
        ("sector", "0"),
        ("time", "0"),
        ("offset", "1:miles"),
        ("size", "256"),
        ("op", ""),
        ("latency", "4:filetime"),
        ("volume", "5:us"),
        ("merge", "both"),
        ("volumes", "a,,b"),
        ("ops", "reads"),
        ("from", "soon"),
        ("until", "5 parsecs"),
        ("range", "2MiB..1MiB"),
        ("sample", "0"),
        ("sample_seed", "-1"),
        ("realign", "automatic"),
        ("space", "0"),
        ("remap", "modulo"),
        ("into", "1KiB"),
        ("region", "1B"),
        ("speed", "NaN"),
        ("repeat", "0"),
    ] {
        let error = Spec::default().set(name, value).expect_err(name).to_string();
        assert!(error.starts_with(&format!("`{name}` is `{value}`: ")), "{error}");
    }
    let unknown = Spec::default().set("rangee", "a").unwrap_err().to_string();
    assert!(unknown.contains("did you mean `range`?"), "{unknown}");
    for field in FIELDS {
        for value in field.default.iter().chain(&field.alone) {
            assert_eq!(Spec::default().set(field.name, value), Ok(()), "{}", field.name);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    // For any remapping of any trace, the requests stay on the drive, in order and without loss.
    #[test]
    fn remapped_traces_fit(
        offsets in prop::collection::vec((any::<u64>(), 1u64..1 << 26, 0u32..3), 1..60),
        into in 4096u64..1 << 27,
        region in 4096u64..1 << 24,
        compact in any::<bool>(),
    ) {
        let requests: Vec<Request> = (0..)
            .zip(&offsets)
            .map(|(at, (offset, len, volume))| Request {
                len: Bytes(*len),
                volume: *volume,
                ..write_at(at, offset % (u64::MAX - len))
            })
            .collect();
        let folder = Folder::new();
        folder.write("p.parquet", &VOLUMES, &requests);
        let (into_text, region) = (into.to_string(), region.to_string());
        let rule = if compact { "compact" } else { "fold" };
        let fields = [("remap", rule), ("into", into_text.as_str()), ("region", region.as_str())];
        let placed = folder.read(&["p.parquet"], &fields);
        prop_assert_eq!(placed.len(), requests.len());
        for (placed, original) in placed.iter().zip(&requests) {
            prop_assert!(placed.end().0 <= into);
            prop_assert_eq!(placed.len.0, original.len.0.min(into / 4096 * 4096));
            prop_assert_eq!(placed.at, original.at);
        }
    }
}
