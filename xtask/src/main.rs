//! The project's own checks, run as `cargo xtask`.

fn main() {}
