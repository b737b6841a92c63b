use std::ops::RangeInclusive;

use flashscope_block::Op;
use flashscope_workload::uflip::{Baseline, Unit};

use super::{HintResult, NEARLY, Rule, ratio};
use crate::deviation::{Answer, is_over, per_byte};
use crate::means::{Mean, Means};
use crate::words::{baseline_words, list};
use flashscope_document::facts::Judgement;

/// Hint: the best IO size is a trade-off.
pub(super) const RULE: Rule = Rule {
    title: "Block size should (currently) be 32 KB",
    statement: "the middle (on a log axis) of the sizes that reads and writes need is 16 to 64 \
                KiB; a pattern needs the smallest size at which a byte costs at most twice the \
                minimum, which is half of the best throughput; of SR and RR, and of SW and RW, \
                the larger need counts",
    judge: block_size,
};

/// The sizes that count as 32 KiB, from 16 to 64 KiB, as exponents of two.
const SIZES: RangeInclusive<f64> = 14.0..=16.0;

/// The size from which on an experiment has at least half of its best throughput.
struct Half<'a> {
    baseline: Baseline,
    /// The size according to the means.
    size: &'a Mean,
    /// The best size.
    best: &'a Mean,
    /// The smallest size that may have half the throughput, and the smallest size that certainly
    /// has it.
    between: [i64; 2],
}

fn half(means: &Means, baseline: Baseline) -> Option<Half<'_>> {
    let series = means.experiment("granularity", baseline.name());
    let by_byte = |a: &&Mean, b: &&Mean| {
        let [a, b] = [a, b].map(|mean| mean.ns.value / crate::deviation::size(mean));
        a.total_cmp(&b)
    };
    let best = series.iter().min_by(by_byte).filter(|_| series.len() > 1)?;
    let comparisons = series.len() - 1;
    let over = |mean: &Mean| per_byte(mean, best, comparisons);
    let from = |is_dear: &dyn Fn(&Mean) -> bool| {
        // The best size is never expensive.
        series.iter().rev().take_while(|mean| mean.value == best.value || !is_dear(mean)).last()
    };
    let size = from(&|mean| over(mean).is_none_or(|ratio| ratio.value > NEARLY))?;
    let answer = |mean: &Mean| over(mean).map_or(Answer::Unsure, |ratio| is_over(&ratio, NEARLY));
    let earliest = from(&|mean| answer(mean) == Answer::Yes)?.value;
    let latest = from(&|mean| answer(mean) != Answer::No)?.value;
    Some(Half { baseline, size, best, between: [earliest, latest] })
}

fn block_size(means: &Means) -> HintResult {
    let halves: Vec<Half> =
        Baseline::ALL.into_iter().filter_map(|baseline| half(means, baseline)).collect();
    if halves.is_empty() {
        return HintResult::nothing("several sizes of IO (granularity)");
    }
    let [earliest, latest] = [0, 1].map(|end| halfway(&halves, |half| half.between[end]));
    let judgement = match (SIZES.contains(&earliest), SIZES.contains(&latest)) {
        (true, true) => Judgement::Holds,
        _ if latest < *SIZES.start() || earliest > *SIZES.end() => Judgement::DoesNotHold,
        _ => Judgement::Undecided,
    };
    let trade_off = halfway(&halves, |half| half.size.value);
    let text = |value| Unit::Bytes.text(value);
    let told: Vec<String> = halves
        .iter()
        .map(|half| format!("{} from {}", baseline_words(half.baseline), text(half.size.value)))
        .collect();
    let finding = format!(
        "{} is the good trade-off here, halfway between the sizes that reads and writes need: half of the maximum throughput is reached by {}.",
        Unit::Bytes.text(nearest_power(trade_off)),
        list(&told)
    );
    let evidence = halves.iter().filter_map(|half| {
        let (words, size) = (baseline_words(half.baseline), text(half.size.value));
        let what = format!("{words}: a byte in IOs of {size}, relative to the best size");
        let runs = half.size.runs.iter().chain(&half.best.runs).copied().collect();
        let value = per_byte(half.size, half.best, 1)?;
        Some(ratio(what, value, ("granularity", half.baseline.name()), runs))
    });
    HintResult { judgement, finding, evidence: evidence.collect() }
}

/// Returns the middle between the sizes that reads and writes need, as an exponent of two.
#[allow(clippy::cast_precision_loss)] // sizes are far below 2⁵³
fn halfway(halves: &[Half], needed: impl Fn(&Half) -> i64) -> f64 {
    let of = |op: Op| {
        let sizes = halves.iter().filter(|half| half.baseline.op() == op).map(&needed);
        Some((sizes.max()? as f64).log2())
    };
    let powers: Vec<f64> = [Op::Read, Op::Write].into_iter().filter_map(of).collect();
    powers.iter().sum::<f64>() / powers.len() as f64
}

/// Returns the power of two with the nearest whole exponent.
#[allow(clippy::cast_possible_truncation)] // far below 2⁶³
fn nearest_power(power: f64) -> i64 {
    power.round().exp2() as i64
}
