use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;

use flashscope_block::Bytes;
use flashscope_document::collection::CollectionPlan;

use super::*;
use crate::statistics::partial::{Total, VolumePart};
use crate::{Error, Spec};

const LIMITS: PartLimits =
    PartLimits { sample_pages: 64, max_held: usize::MAX, separate_files: false };

/// Writes a trace of 7 volumes in Alibaba's format, and returns its path.
fn trace(folder: &tempfile::TempDir, lines: u64) -> String {
    let mut text = String::new();
    for i in 0..lines {
        let offset = i * 0x9e37 % 5_000 * 4096;
        let op = if i % 3 == 0 { 'R' } else { 'W' };
        writeln!(text, "{},{op},{offset},{},{}", i % 7, 4096 << (i % 3), 1_000_000 + i).unwrap();
    }
    let path = folder.path().join("t.csv");
    fs::write(&path, text).unwrap();
    path.to_str().unwrap().into()
}

fn planned(path: &str, spec: &Spec, part_size: u64) -> Vec<Part> {
    let plan = CollectionPlan {
        files: vec![plan_file(path, spec, Bytes(part_size)).unwrap()],
        fields: Default::default(),
        separate_files: false,
        skip_bad_files: false,
        sample_pages: 64,
    };
    parts(&plan)
}

/// Reads all parts. Returns the statistics as text, the number of segments, and the most pages in a
/// segment.
fn read(parts: &[Part], spec: &Spec, limits: PartLimits) -> Result<(String, usize, usize), Error> {
    let folder = tempfile::tempdir().unwrap();
    let (mut paths, mut most) = (Vec::new(), 0);
    for part in parts {
        read_part(part, spec, limits, &mut |_| true, &mut |_, lines| {
            let lines: Vec<_> = lines.map(Result::unwrap).collect();
            let volumes = lines.iter().map(|line| VolumePart::from_line(line, 64).unwrap());
            most = most.max(volumes.map(|volume| volume.held_pages()).sum());
            let path = folder.path().join(paths.len().to_string());
            fs::write(&path, lines.join("\n") + "\n\n").unwrap();
            paths.push(path);
            Ok::<_, Error>(())
        })?
        .unwrap();
    }
    let mut total = Total::default();
    for volume in merge_segments(&paths, limits.sample_pages)? {
        total.push(volume?);
    }
    Ok((serde_json::to_string(&total.finish()).unwrap(), paths.len(), most))
}

#[test]
fn parts_and_segments_do_not_change_the_statistics() {
    let folder = tempfile::tempdir().unwrap();
    let (path, spec) = (trace(&folder, 20_000), Spec::default());
    let whole = read(&planned(&path, &spec, u64::MAX), &spec, LIMITS).unwrap();
    assert_eq!(whole.1, 1);
    for part_size in [8 << 10, 100_000, 200_003] {
        let parts = planned(&path, &spec, part_size);
        assert!(parts.len() > 2);
        let divided = read(&parts, &spec, LIMITS).unwrap();
        assert_eq!(divided.0, whole.0, "{part_size}");
        let small = read(&parts, &spec, PartLimits { max_held: 600, ..LIMITS }).unwrap();
        assert_eq!(small.0, whole.0, "{part_size}");
    }
    // Parts shorter than a line.
    let short = trace(&folder, 50);
    let whole = read(&planned(&short, &spec, u64::MAX), &spec, LIMITS).unwrap();
    let each_line = planned(&short, &spec, 8);
    assert_eq!(each_line.len(), 50);
    assert_eq!(read(&each_line, &spec, LIMITS).unwrap().0, whole.0);
}

#[test]
fn segments_hold_no_more_than_the_limit_and_a_batch() {
    let folder = tempfile::tempdir().unwrap();
    let (path, spec) = (trace(&folder, 60_000), Spec::default());
    let parts = planned(&path, &spec, u64::MAX);
    let limits = PartLimits { sample_pages: 4096, ..LIMITS };
    let (_, _, unlimited) = read(&parts, &spec, limits).unwrap();
    let (_, segments, held) = read(&parts, &spec, PartLimits { max_held: 4000, ..limits }).unwrap();
    assert!(segments > 4, "{segments}");
    // A batch has 2,048 requests of at most 5 pages.
    assert!(held < 4000 + 5 * crate::BATCH && held < unlimited / 2, "{held} {unlimited}");
}

#[test]
fn errors_in_any_part_name_the_line_of_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = trace(&folder, 1_000);
    let mut lines: Vec<_> = fs::read_to_string(&path).unwrap().lines().map(String::from).collect();
    lines[700] = "3,X,0,4096,1".into();
    fs::write(&path, lines.join("\n")).unwrap();
    let mut spec = Spec::default();
    let parts = planned(&path, &spec, 4_000);
    assert!(parts.len() > 3);
    let error = read(&parts, &spec, LIMITS).unwrap_err().to_string();
    assert!(error.contains("t.csv: line 701: "), "{error}");
    spec.set("on_bad_line", "skip").unwrap();
    let of_parts = |part: &Part| {
        let none = &mut |_: u32, _: &mut dyn Iterator<Item = std::io::Result<String>>| Ok(());
        read_part::<Error>(part, &spec, LIMITS, &mut |_| true, none).unwrap().unwrap().file
    };
    let files: Vec<_> = parts.iter().map(of_parts).collect();
    assert_eq!(files.iter().map(|file| file.requests).sum::<u64>(), 999);
    let notes: Vec<_> = files.iter().flat_map(|file| &file.notes).collect();
    assert!(notes.len() == 1 && notes[0].starts_with("line 701: "), "{notes:?}");
}

#[test]
fn compressed_files_and_formats_with_a_state_stay_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = trace(&folder, 1_000);
    let packed = folder.path().join("t.zst");
    fs::write(&packed, zstd::encode_all(fs::File::open(&path).unwrap(), 1).unwrap()).unwrap();
    let spec = Spec::default();
    assert_eq!(planned(packed.to_str().unwrap(), &spec, 100).len(), 1);
    let named = folder.path().join("named.csv");
    let header = "time_us,op,offset,size\n1,R,0,4096\n2,W,0,4096\n3,W,0,4096\n";
    fs::write(&named, header).unwrap();
    assert_eq!(planned(named.to_str().unwrap(), &spec, 20).len(), 1);
}

#[test]
fn requests_of_volumes_come_in_the_order_of_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let (path, spec) = (trace(&folder, 3_000), Spec::default());
    let names = BTreeSet::from(["2", "5"]);
    let taken = |part_size| {
        let mut all = VolumeRequests::default();
        // The order in which parts end must not matter.
        for part in planned(&path, &spec, part_size).iter().rev() {
            let found = read_volumes(part, &spec, false, &names, &mut || true).unwrap().unwrap();
            all.merge(found);
        }
        assert!(all.take("3").is_empty());
        ["2", "5"].map(|name| all.take(name))
    };
    let whole = taken(u64::MAX);
    assert_eq!(whole.each_ref().map(Vec::len), [429, 428]);
    assert!(whole[0].is_sorted_by_key(|request| request.at));
    assert_eq!(taken(5_000), whole);
}
