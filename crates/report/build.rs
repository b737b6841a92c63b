//! Copies the page, which `make web` builds, to the build folder, for the library to include. Also
//! copies the modules of the page, which `make playground` builds, or writes empty files if they
//! are not built.

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
    for module in ["playground.txt", "query.txt", "trace-page.txt"] {
        let packed = fs::read(built.join(module)).unwrap_or_default();
        if let Err(error) = fs::write(out.join(module), packed) {
            println!("cargo::error=cannot write {}: {error}", out.join(module).display());
        }
    }
}
