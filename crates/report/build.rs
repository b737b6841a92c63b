//! Copies the page that `make web` builds into the build folder, for the library to include. Copies the simulator that
//! `make playground` builds for the page as well, or an empty file if it is not built.

use std::path::Path;
use std::{env, fs};

#[allow(
    clippy::disallowed_methods,
    reason = "cargo passes its settings to build scripts in variables"
)]
fn main() {
    let built =
        Path::new(&env::var("CARGO_MANIFEST_DIR").expect("set by cargo")).join("../../web/dist");
    // A file that is missing would always count as changed.
    println!("cargo::rerun-if-changed={}", built.display());
    let out = env::var("OUT_DIR").expect("set by cargo");
    let out = Path::new(&out);
    if fs::copy(built.join("report.html"), out.join("report.html")).is_err() {
        println!("cargo::error=the page of the report is not built yet: run `make web` first");
    }
    let playground = fs::read(built.join("playground.txt")).unwrap_or_default();
    if let Err(error) = fs::write(out.join("playground.txt"), playground) {
        println!("cargo::error=cannot write {}: {error}", out.join("playground.txt").display());
    }
}
