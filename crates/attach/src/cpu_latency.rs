//! A request to the kernel to keep the processors awake while replies are timed.

#![cfg_attr(
    lint_writes,
    expect(
        clippy::disallowed_methods,
        reason = "/dev/cpu_dma_latency: a setting of the kernel that ends when the file is closed"
    )
)]

use std::fs::{File, OpenOptions};
use std::io::{self, Write};

/// The file that takes the maximum wake-up latency of the processors in µs (Linux,
/// Documentation/admin-guide/pm/cpuidle.rst). A request is valid while the file is open.
const REQUESTS: &str = "/dev/cpu_dma_latency";

/// A request that keeps idle processors awake while it exists, so that requests and replies are not
/// delayed. A processor in a deep sleep state, or a virtual one that was descheduled, takes up to
/// 200 µs to wake up.
pub(crate) struct CpuLatencyRequest {
    _request: File,
}

impl CpuLatencyRequest {
    /// Keeps the processors awake until the returned value is dropped.
    ///
    /// # Errors
    /// Returns an error if the kernel does not support such requests, or does not permit them to
    /// this user.
    pub(crate) fn keep() -> io::Result<CpuLatencyRequest> {
        let mut request = OpenOptions::new().write(true).open(REQUESTS)?;
        request.write_all(&0_i32.to_ne_bytes())?;
        Ok(CpuLatencyRequest { _request: request })
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    // The kernel accepts the request and reports a latency of 0.
    #[test]
    fn the_permitted_wake_up_latency_is_zero() {
        let Ok(_awake) = CpuLatencyRequest::keep() else {
            println!("skipped: the system does not accept this request from this user");
            return;
        };
        let mut latency_us = [0; 4];
        File::open(REQUESTS).unwrap().read_exact(&mut latency_us).unwrap();
        assert_eq!(i32::from_ne_bytes(latency_us), 0);
    }
}
