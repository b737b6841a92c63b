//! A simulated drive of any shape, whatever happens to it: operations, power cuts, failures.

#![no_main]

#[path = "../../crates/sim/tests/drive/life/mod.rs"]
#[allow(dead_code)] // what only the tests compare
mod life;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    if let Some(life) = life::Life::new(data) {
        life.live();
    }
});
