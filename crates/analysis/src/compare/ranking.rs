use flashscope_document::comparison::{ComparedWorkload, Rank};
use flashscope_document::what_if::Quantity;
use flashscope_stats::Estimate;

use super::verdict::MIN_DIFFERENCE;

/// Ranks results by the geometric mean of their speeds over the workloads that all results share,
/// the fastest first. Returns an empty ranking if they share no workload.
pub(super) fn ranking(results: usize, workloads: &[ComparedWorkload]) -> Vec<Rank> {
    let latency = |workload: &&ComparedWorkload| {
        let mean = |one: &&_| {
            matches!(
                one,
                flashscope_document::comparison::ComparedQuantity {
                    quantity: Quantity::MeanLatency,
                    ..
                }
            )
        };
        let compared = workload.quantities.iter().find(mean)?;
        let logs: Option<Vec<Log>> =
            compared.results.iter().map(|number| Log::of(number.value.as_ref()?)).collect();
        logs
    };
    let shared: Vec<Vec<Log>> =
        workloads.iter().filter_map(|workload| latency(&workload)).collect();
    if shared.is_empty() || results < 2 {
        return vec![];
    }
    // All pairs are compared.
    let pairs = results * (results - 1) / 2;
    let speed = |fast: usize, slow: usize| mean_speed(&shared, fast, slow, pairs);
    let is_faster = |fast: usize, slow: usize| {
        speed(fast, slow).low.is_some_and(|low| low > 1.0 + MIN_DIFFERENCE)
    };
    let place = |result: usize| 1 + (0..results).filter(|other| is_faster(*other, result)).count();
    let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    let rank = |result: usize| Rank {
        result: number(result),
        place: number(place(result)),
        speed: speed(result, 0),
    };
    let mut ranks: Vec<Rank> = (0..results).map(rank).collect();
    ranks.sort_by(|a, b| {
        a.place.cmp(&b.place).then_with(|| b.speed.value.total_cmp(&a.speed.value))
    });
    ranks
}

/// The logarithm of a mean latency.
#[derive(Clone, Copy)]
struct Log {
    value: f64,
    /// Half the width of its 95 % interval, if it has one.
    half: Option<f64>,
}

impl Log {
    fn of(mean: &Estimate) -> Option<Log> {
        let half = mean.half_width().map(|half| half / mean.value);
        (mean.value > 0.0).then(|| Log { value: mean.value.ln(), half })
    }
}

/// Returns the speed of `fast` relative to `slow`. The results are independent. The workloads of a
/// result share the state of the drive, so their errors may have one cause and add up.
fn mean_speed(shared: &[Vec<Log>], fast: usize, slow: usize, pairs: usize) -> Estimate {
    #[allow(clippy::cast_precision_loss, reason = "workloads are few")]
    let count = shared.len() as f64;
    let half = |result: usize| {
        let halves: Option<Vec<f64>> = shared.iter().map(|logs| logs[result].half).collect();
        halves.map(|halves| halves.into_iter().sum::<f64>() / count)
    };
    let half = half(slow).zip(half(fast)).map(|(slow, fast)| slow.hypot(fast));
    let half = if fast == slow { Some(0.0) } else { half };
    let difference = |logs: &Vec<Log>| logs[slow].value - logs[fast].value;
    let mean = shared.iter().map(difference).sum::<f64>() / count;
    let log = Estimate::symmetric(mean, half).among(pairs);
    Estimate { value: log.value.exp(), low: log.low.map(f64::exp), high: log.high.map(f64::exp) }
}
