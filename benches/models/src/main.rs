//! How well do the models predict real traces and workloads of ours, beside the simulator? Arguments are parts of
//! names of traces and workloads, all unless given, and what is compared, likewise: `log-blocks`, `pages` or `dftl`.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a benchmark prints")]
#![allow(clippy::disallowed_methods, reason = "a benchmark reads clocks and its arguments")]
#![allow(clippy::cast_precision_loss, reason = "counts are far below 2^53")]

mod dftl;
mod log_blocks;
mod pages;
mod requests;
mod simulator;
mod summary;

use pages::Case;
use summary::Summary;

/// Fewer writes than these are not looked at.
const LEAST_WRITES: usize = 5000;

/// What is compared.
const PARTS: &[&str] = &["log-blocks", "pages", "dftl"];

fn main() {
    let arguments: Vec<String> =
        std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    let is_part = |argument: &&String| PARTS.contains(&argument.as_str());
    let parts: Vec<&String> = arguments.iter().filter(is_part).collect();
    let names: Vec<&String> = arguments.iter().filter(|name| !is_part(name)).collect();
    let wants = |part: &str| parts.is_empty() || parts.iter().any(|wanted| *wanted == part);
    let named = |name: &str| names.is_empty() || names.iter().any(|part| name.contains(*part));
    let traces: Vec<(String, String)> = requests::traces()
        .into_iter()
        .map(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            (name, format!("trace:{}", path.display()))
        })
        .filter(|(name, spec)| named(name) && writes(spec) >= LEAST_WRITES)
        .collect();
    if wants("log-blocks") {
        println!(
            "trace                            ftl        erasures/1000 pages   WA     predicted by"
        );
        traces.iter().for_each(|(name, spec)| log_blocks::compare(name, spec));
    }
    if wants("pages") {
        summary::heading();
        let (mut reuse, mut survivors) = (Summary::new("reuse"), Summary::new("survivors"));
        let of_trace = |(name, spec): &(String, String)| Case::of_trace(name, spec, "&ops=write");
        for (name, spec) in &traces {
            // Of a drive that keeps what it was filled with, the oldest blocks take minutes to be skipped.
            let case = Case::on_30_gb(name, spec, "&ops=write");
            pages::compare(&case, &["greedy"], &mut reuse, &mut survivors);
        }
        for case in traces.iter().map(of_trace).chain(Case::synthetic(named)) {
            pages::compare(&case, &["greedy", "fifo"], &mut reuse, &mut survivors);
        }
    }
    if wants("dftl") {
        summary::heading();
        let mut summary = Summary::new("dftl");
        let of_trace = |(name, spec): &(String, String)| Case::of_trace(name, spec, "");
        let large = traces.iter().map(|(name, spec)| Case::on_30_gb(name, spec, ""));
        for case in large.chain(traces.iter().map(of_trace)).chain(Case::synthetic(named)) {
            dftl::compare(&case, &mut summary);
        }
    }
}

/// How many requests of a trace write.
fn writes(spec: &str) -> usize {
    requests::writes(&requests::of(spec, 1 << 40, u64::MAX))
}
