//! The latencies, if the trace has them.

use crate::Request;
use flashscope_block::Op;
use flashscope_stats::Summary;

use flashscope_document::facts::Latency;
use flashscope_document::trace::OpLatency;

/// The latencies of all requests, and of each operation.
#[derive(Debug, Clone, Default)]
pub(super) struct Latencies {
    all: Summary,
    /// The latencies by operation code.
    ops: [Summary; 4],
}

impl Latencies {
    pub(super) fn push(&mut self, batch: &[Request]) {
        for request in batch {
            if let Some(latency) = request.latency {
                self.all.push(latency.0);
                self.ops[usize::from(request.op.code())].push(latency.0);
            }
        }
    }

    pub(super) fn facts(&self) -> Vec<OpLatency> {
        let facts = |op, summary: &Summary| {
            let latency_ns = Latency::of(summary)?;
            Some(OpLatency { op, requests: summary.count(), latency_ns })
        };
        let ops =
            Op::ALL.into_iter().filter_map(|op| facts(Some(op), &self.ops[usize::from(op.code())]));
        facts(None, &self.all).into_iter().chain(ops).collect()
    }
}
