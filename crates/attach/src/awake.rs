//! Processors that stay awake while answers are timed.

#![cfg_attr(
    lint_writes,
    expect(
        clippy::disallowed_methods,
        reason = "/dev/cpu_dma_latency: a setting of the kernel, which ends with the process"
    )
)]

use std::fs::{File, OpenOptions};
use std::io::{self, Write};

/// Where Linux takes how long a processor may take to wake up (power management, quality of service:
/// Documentation/admin-guide/pm/cpuidle.rst). The request holds as long as the file is open.
const REQUESTS: &str = "/dev/cpu_dma_latency";

/// While it lives, idle processors do not sleep, so that requests and answers find them at once: one
/// that slept deeply, or a virtual one that was given back, takes up to 200 µs to wake up.
pub(crate) struct Awake {
    _request: File,
}

impl Awake {
    /// # Errors
    /// Where the system has no such thing, or not for this user.
    pub(crate) fn keep() -> io::Result<Awake> {
        let mut request = OpenOptions::new().write(true).open(REQUESTS)?;
        request.write_all(&0_i32.to_ne_bytes())?;
        Ok(Awake { _request: request })
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    // Does the system take the request, where it takes any?
    #[test]
    fn no_processor_may_take_time() {
        let Ok(_awake) = Awake::keep() else {
            println!("passed by: this system takes no request from this user");
            return;
        };
        let mut latency_us = [0; 4];
        File::open(REQUESTS).unwrap().read_exact(&mut latency_us).unwrap();
        assert_eq!(i32::from_ne_bytes(latency_us), 0);
    }
}
