use flashscope_block::{Bytes, Nanos};

use super::super::Request;
use super::{PAGE, Start};

/// Scales times and addresses by factors. Sizes stay unchanged.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Scale {
    pub(super) space: f64,
    pub(super) speed: f64,
    start: Start,
}

impl Default for Scale {
    fn default() -> Self {
        Scale { space: 1.0, speed: 1.0, start: Start::default() }
    }
}

impl Scale {
    #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)] // saturates; times are relative to the first, hence exact up to 2^53 ns, 104 days
    pub(super) fn scale(&mut self, batch: &mut [Request]) {
        let start = self.start.of(batch);
        for request in batch {
            if self.speed != 1.0 {
                let scaled = |time: u64| (time as f64 / self.speed).round() as u64;
                let at = match request.at.0.checked_sub(start.0) {
                    Some(after) => start.0.saturating_add(scaled(after)),
                    None => start.0.saturating_sub(scaled(start.0 - request.at.0)),
                };
                request.at = Nanos(at);
            }
            if self.space != 1.0 {
                let (page, within) = (request.offset.0 / PAGE, request.offset.0 % PAGE);
                let page = (page as f64 * self.space) as u64;
                request.offset = Bytes(page.saturating_mul(PAGE).saturating_add(within));
            }
        }
    }
}
