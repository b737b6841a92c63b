use flashscope_block::Op;
use flashscope_document::Manifest;
use flashscope_document::plan::{Cost, Costs};
use flashscope_workload::pattern::{Address, Pattern, Reference, Timing};

use crate::Facts;

/// Returns the cost of each kind of IO on a measured drive, for estimates of plans; `None` if no
/// reads were run.
///
/// The cost is the line through the means of the smallest and the largest IOs, among runs of basic
/// patterns without pauses.
pub fn costs(manifest: &Manifest, facts: &Facts) -> Option<Costs> {
    let mean =
        |id: u32| facts.runs.iter().find(|run| run.run == id).map(|run| run.latency_ns.mean.value);
    let basic = manifest.runs().filter_map(|run| match &run.reference {
        Reference::Basic { pattern } if pattern.timing == Timing::Consecutive => {
            Some((*pattern, mean(run.id)?))
        }
        _ => None,
    });
    let all: Vec<(Pattern, f64)> = basic.collect();
    let of = |op: Op, random: Option<bool>| {
        let same = |(pattern, _): &&(Pattern, f64)| {
            let plain = matches!(pattern.address, Address::Random | Address::Sequential);
            let is_random = pattern.address == Address::Random;
            pattern.op == op && plain && random.is_none_or(|random| random == is_random)
        };
        let of_kind = || all.iter().filter(same);
        let smallest = of_kind().min_by_key(|(pattern, _)| pattern.io_size)?;
        let largest = of_kind().max_by_key(|(pattern, _)| pattern.io_size)?;
        Some(Cost::through((smallest.0.io_size, smallest.1), (largest.0.io_size, largest.1)))
    };
    let read = of(Op::Read, None)?;
    let sequential_write = of(Op::Write, Some(false)).unwrap_or(Cost { measured: false, ..read });
    let random_write =
        of(Op::Write, Some(true)).unwrap_or(Cost { measured: false, ..sequential_write });
    Some(Costs { read, sequential_write, random_write })
}
