/// The version of `probe.json` written, which is also the latest version readable.
pub const PROBE_VERSION: u32 = 1;
