//! The requests of the cases: traces of the reference data, and synthetic workloads.

use std::path::{Path, PathBuf};

use flashscope_block::{Bytes, Nanos};
use flashscope_predict::Request;
use flashscope_workload::Stream;
use flashscope_workload::synthetic::{Ios, Target};

/// The page size of all drives, in bytes.
pub(crate) const PAGE: u64 = 2048;

/// Returns the paths of the traces in the reference data. Prints a note and returns an empty list
/// if the folder of traces cannot be read.
pub(crate) fn traces() -> Vec<PathBuf> {
    let named = std::env::var_os("FLASHSCOPE_DATA").map(PathBuf::from);
    let data =
        named.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"));
    let Ok(entries) = std::fs::read_dir(data.join("traces")) else {
        eprintln!("skipped: there are no traces in {}; set FLASHSCOPE_DATA", data.display());
        return Vec::new();
    };
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.retain(|path| !path.ends_with("MANIFEST.csv"));
    paths.sort();
    paths
}

/// Generates the requests of a workload on a drive of `pages` pages, until `most` pages are
/// written; traces run to their end. Prints an error and returns an empty list if the workload
/// cannot be opened.
pub(crate) fn of(spec: &str, pages: u64, most: u64) -> Vec<Request> {
    let target =
        Target { capacity: Bytes(pages * PAGE), logical_block: Bytes(PAGE), filled: true, seed: 1 };
    let workload = match flashscope_trace::open_workload(spec, &target) {
        Ok(workload) => workload,
        Err(error) => {
            eprintln!("{spec}: {error}");
            return Vec::new();
        }
    };
    match workload.ios {
        Ios::Trace(playback) => {
            take(&mut flashscope_trace::replay(&playback).expect("the trace opens"), u64::MAX)
        }
        Ios::Endless(mut stream) => take(&mut *stream, most),
        Ios::Application(mut stream) => take(&mut *stream, most),
        Ios::Runs(_) => unreachable!("the cases contain no micro-benchmark"),
    }
}

fn take(stream: &mut dyn Stream, most: u64) -> Vec<Request> {
    let (mut requests, mut written) = (Vec::new(), 0);
    while written < most
        && let Some(io) = stream.next(Nanos(0))
    {
        let Some(request) = Request::of(&io, PAGE).filter(|request| request.pages() > 0) else {
            continue;
        };
        written += if request.is_write() { request.pages().into() } else { 0 };
        requests.push(request);
    }
    requests
}

/// Counts the writes.
pub(crate) fn writes(requests: &[Request]) -> usize {
    requests.iter().filter(|request| request.is_write()).count()
}
