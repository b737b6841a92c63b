//! A client of the network block device that may say anything.

#![no_main]

#[path = "../../crates/attach/tests/nbd/talk.rs"]
#[allow(dead_code)] // what only the tests look at
mod talk;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    talk::talk(data);
});
