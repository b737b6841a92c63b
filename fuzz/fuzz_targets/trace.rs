//! Content that may be anything, read as a trace of every format.

#![no_main]

#[path = "../../crates/workload/tests/traces/exhaust.rs"]
mod exhaust;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    exhaust::read_every_way(data);
});
