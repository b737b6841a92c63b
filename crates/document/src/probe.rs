/// The version of `probe.json` that is written, and the latest that is read.
pub const PROBE_VERSION: u32 = 1;
