//! Hooks into the requests of an attached drive.

use std::io;
use std::sync::Arc;

use flashscope_block::{Completion, Nanos};

use crate::faults::{FaultHook, FaultInjector, FaultPlan};

/// A hook that is called for each completed request, in the order of the replies. The completion's
/// `submitted` is the arrival time of the request.
///
/// A simulated drive calls it twice for a durable write or trim: for the operation, and for the
/// flush that follows. The `submitted` of the flush is the time when the operation was complete.
pub type CompletionHook = Box<dyn FnMut(&Completion) + Send>;

/// Hooks into the requests of an attached drive.
#[derive(Default)]
pub struct Hooks {
    /// Receives the completed requests.
    pub completion: Option<CompletionHook>,
    /// The faults to inject, and the hook that receives each injected fault.
    pub faults: Option<(FaultPlan, Option<FaultHook>)>,
}

impl Hooks {
    /// Creates the injector of the faults, for a drive whose clock shows `origin`.
    pub(crate) fn injecting(
        self,
        origin: Nanos,
    ) -> io::Result<(Option<CompletionHook>, Option<Arc<FaultInjector>>)> {
        let injector = |(plan, hook): (FaultPlan, _)| FaultInjector::new(&plan, origin, hook);
        let faults = self.faults.map(injector).transpose().map_err(io::Error::other)?;
        Ok((self.completion, faults.map(Arc::new)))
    }
}
