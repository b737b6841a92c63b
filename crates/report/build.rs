//! Copies the page that `make web` builds into the build folder, for the library to include.

use std::path::Path;
use std::{env, fs};

#[allow(
    clippy::disallowed_methods,
    reason = "cargo passes its settings to build scripts in variables"
)]
fn main() {
    let page = Path::new(&env::var("CARGO_MANIFEST_DIR").expect("set by cargo"))
        .join("../../web/dist/report.html");
    println!("cargo::rerun-if-changed={}", page.display());
    let out = Path::new(&env::var("OUT_DIR").expect("set by cargo")).join("report.html");
    if fs::copy(&page, out).is_err() {
        println!("cargo::error=the page of the report is not built yet: run `make web` first");
    }
}
