//! Reads a Parquet trace with a flipped bit: the outcome is a one-line error or requests.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use flashscope_trace::{Error, Reader, Request, Spec};

fn read(path: &Path) -> Result<Vec<Request>, Error> {
    let mut trace = Spec::default().open(&[path.to_str().unwrap().to_string()])?;
    let (mut requests, mut batch) = (Vec::new(), Vec::new());
    loop {
        trace.read(&mut batch)?;
        if batch.is_empty() {
            return Ok(requests);
        }
        requests.extend_from_slice(&batch);
    }
}

#[test]
fn a_flipped_bit_of_a_trace_is_one_line() {
    let sample =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/traces/parquet.parquet");
    let whole = fs::read(sample).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("flipped.parquet");
    let (mut refused, mut panics) = (0, BTreeSet::new());
    for at in 0..whole.len() {
        for bit in 0..8 {
            let mut flipped = whole.clone();
            flipped[at] ^= 1 << bit;
            fs::write(&path, &flipped).unwrap();
            let Err(error) = read(&path) else { continue };
            let words = error.to_string();
            assert_eq!(words.lines().count(), 1, "byte {at}, bit {bit}: {words}");
            assert!(words.contains("flipped.parquet"), "byte {at}, bit {bit}: {words}");
            refused += 1;
            if let Some((_, panic)) = words.split_once("is not what its header says: ") {
                assert!(words.contains("flipped.parquet: row group 0, column `"), "{words}");
                panics.insert(panic.to_string());
            }
        }
    }
    assert!(refused > 1000, "{refused}");
    println!("{refused} of {} flips refused; panics: {panics:#?}", whole.len() * 8);
}
