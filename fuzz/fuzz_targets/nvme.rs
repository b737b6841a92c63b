#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| flashscope_fuzz::run("nvme", input));
