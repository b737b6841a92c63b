//! Reads result files with a flipped bit: the outcome is a one-line error or rows, in bounded
//! memory.
//!
//! The tests measure the memory of their process, and therefore have their own binary.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Once;

use flashscope_block::{Nanos, Record};
use flashscope_result::activity::Activities;
use flashscope_result::{Error, ResultFolder, activities_path, records_path, rows};

/// The memory limit of the process, whatever size a flipped bit makes the file claim. The largest
/// decoded page takes 64 MiB.
const MAX_RESIDENT: u64 = 256 << 20;

/// The outcomes over all flipped bits of a file.
#[derive(Default)]
struct Outcomes {
    same: usize,
    other: usize,
    refused: usize,
    /// The caught panics of the library by message, with the byte and bit of the first.
    panics: BTreeMap<String, (usize, u32)>,
}

/// Silences caught panics, as the program does: printing their backtraces would take most of the
/// time.
fn hide_caught() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let print = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if !flashscope_result::guarded::is_catching() {
                print(panic);
            }
        }));
    });
}

/// Reads the file at `path` once for each flipped bit. `bits` returns the bits to flip in the byte
/// at a position.
fn flip<T: PartialEq>(
    path: &Path,
    bits: impl Fn(usize) -> Vec<u32>,
    read: impl Fn() -> Result<T, Error>,
) -> Outcomes {
    hide_caught();
    let whole = fs::read(path).unwrap();
    let sound = read().unwrap();
    let mut outcomes = Outcomes::default();
    for at in 0..whole.len() {
        for bit in bits(at) {
            let mut flipped = whole.clone();
            flipped[at] ^= 1 << bit;
            fs::write(path, &flipped).unwrap();
            match read() {
                Ok(rows) if rows == sound => outcomes.same += 1,
                Ok(_) => outcomes.other += 1,
                Err(error) => {
                    let words = error.to_string();
                    let name = path.file_name().unwrap().to_str().unwrap();
                    assert!(words.contains(name), "byte {at}, bit {bit}: {words}");
                    assert_eq!(words.lines().count(), 1, "byte {at}, bit {bit}: {words}");
                    outcomes.refused += 1;
                    if let Some((_, panic)) = words.split_once("is not what its header says: ") {
                        assert!(words.contains(": row group 0, column `"), "{words}");
                        let panic = panic.split(')').next().unwrap_or_default();
                        outcomes.panics.entry(panic.into()).or_insert((at, bit));
                    }
                }
            }
        }
    }
    fs::write(path, &whole).unwrap();
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    let kib: u64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    assert!(kib << 10 < MAX_RESIDENT, "{line}");
    outcomes
}

/// A copy of a sample result that a test may damage.
fn copy(sample: &str) -> tempfile::TempDir {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/results").join(sample);
    let to = tempfile::tempdir().unwrap();
    for folder in ["", "records", "activities"] {
        let Ok(entries) = fs::read_dir(from.join(folder)) else { continue };
        fs::create_dir_all(to.path().join(folder)).unwrap();
        for entry in entries.map(Result::unwrap).filter(|entry| entry.path().is_file()) {
            fs::copy(entry.path(), to.path().join(folder).join(entry.file_name())).unwrap();
        }
    }
    to
}

fn records(folder: &Path) -> Result<Vec<Record>, Error> {
    rows(folder, 1)?.to_vec()
}

fn activities(folder: &Path) -> Result<Activities, Error> {
    ResultFolder::open(folder)?.0.activities(1, Nanos(0)..Nanos(u64::MAX))
}

#[test]
fn a_flipped_bit_of_records_is_one_line() {
    let folder = copy("v1.flashscope");
    let path = records_path(folder.path(), 1, 0);
    let outcomes = flip(&path, |_| (0..8).collect(), || records(folder.path()));
    assert!(outcomes.refused > 1000 && outcomes.same > 0);
    assert!(!outcomes.panics.is_empty(), "no flip reaches a panic of the library any more");
    println!(
        "records: {} refused, {} the same, {} other rows",
        outcomes.refused, outcomes.same, outcomes.other
    );
    println!("{:#?}", outcomes.panics);
}

#[test]
fn a_flipped_bit_of_activities_is_one_line() {
    let folder = copy("inside.flashscope");
    let path = activities_path(folder.path(), 1);
    let mut random = fastrand::Rng::with_seed(1);
    let length = usize::try_from(fs::metadata(&path).unwrap().len()).unwrap();
    // Reading activities takes 50 times as long as reading records: flip only about 2,000 bytes.
    let step = length.div_ceil(2000);
    let bits: Vec<Vec<u32>> = (0..length)
        .map(|at| if at % step == 0 { vec![random.u32(0..8)] } else { vec![] })
        .collect();
    let outcomes = flip(&path, |at| bits[at].clone(), || activities(folder.path()));
    assert!(outcomes.refused > 100);
    println!(
        "activities: {} refused, {} the same, {} other rows",
        outcomes.refused, outcomes.same, outcomes.other
    );
    println!("{:#?}", outcomes.panics);
}

// The files of testdata/parquet still make the library panic, as their README states.
#[test]
fn files_for_upstream_panic_as_described() {
    hide_caught();
    let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/parquet");
    let described = fs::read_to_string(samples.join("README.md")).unwrap();
    let folder = copy("v1.flashscope");
    for row in described.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<&str> =
            row.split(" | ").map(|cell| cell.trim_matches([' ', '|', '`'])).collect();
        let panic = cells[5].split('`').next().unwrap();
        fs::copy(samples.join(cells[0]), records_path(folder.path(), 1, 0)).unwrap();
        let words = records(folder.path()).unwrap_err().to_string();
        assert!(words.contains(&format!("is not what its header says: {panic})")), "{words}");
        assert!(words.contains("run-00001-000.parquet: row group 0, column `"), "{words}");
    }
}
