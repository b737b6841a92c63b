//! A workload, repeated until what it comes to has converged, and then counted.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Pools, PredictError, Requests, Simulated};

/// How often a workload is repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Passes {
    /// Before anything is counted.
    pub warm_up: u32,
    /// While it is.
    pub counted: u32,
    /// Whether what decides has come round often enough before.
    pub converged: bool,
}

/// What decides has to come round so often before anything is counted.
const TURNS: f64 = 3.0;

/// Where it does not: so many times the free space are written before it is given up.
const PATIENCE: u64 = 60;

impl Passes {
    /// As many as it takes until `pools` have converged, and a third of that beyond, which is counted: they
    /// have gone through them then. Repeating workloads so is the paper's way (Boboila and Desnoyers, section
    /// III.C). `tell` is told of the warm-up, from 0 to 1, and may end it.
    ///
    /// # Errors
    /// Where nothing is written, or `tell` has ended it.
    pub fn find(
        pools: &mut Pools,
        free_pages: u64,
        requests: &mut Requests,
        tell: &mut dyn FnMut(f64) -> bool,
    ) -> Result<Passes, PredictError> {
        let mut warm_up = 0;
        let mut written = 0;
        let converged = loop {
            requests.pass(&mut |request| {
                written += u64::from(request.is_write()) * u64::from(request.pages());
                pools.request(request);
            })?;
            warm_up += 1;
            let patience = ratio(written, PATIENCE * free_pages);
            if !tell((pools.turns() / TURNS).max(patience).min(1.0)) {
                return Err(PredictError::Interrupted);
            }
            if pools.turns() >= TURNS {
                break true;
            }
            if patience >= 1.0 {
                break false;
            }
        };
        let passes = Passes { warm_up, counted: warm_up.div_ceil(3), converged };
        pools.begin();
        for _ in 0..passes.counted {
            requests.pass(&mut |request| pools.request(request))?;
        }
        Ok(passes)
    }

    /// Puts so many on the simulator, telling how much of it is done, from 0 to 1.
    ///
    /// # Errors
    /// Where nothing is written, or `tell` has ended it.
    pub fn repeat(
        &self,
        simulated: &mut Simulated,
        requests: &mut Requests,
        tell: &mut dyn FnMut(f64) -> bool,
    ) -> Result<(), PredictError> {
        let all = self.warm_up + self.counted;
        for pass in 0..all {
            if pass == self.warm_up {
                simulated.begin();
            }
            requests.pass(&mut |request| simulated.request(request))?;
            if !tell(f64::from(pass + 1) / f64::from(all)) {
                return Err(PredictError::Interrupted);
            }
        }
        Ok(())
    }
}

#[allow(clippy::cast_precision_loss, reason = "pages are below 2^53")]
fn ratio(part: u64, whole: u64) -> f64 {
    part as f64 / whole as f64
}
