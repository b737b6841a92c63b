//! Measures the predictions of uniform writes per second of each model, by itself and from a table.
//! Also measures the requests per second of the models that process every request of a trace.

use std::hint::black_box;
use std::time::{Duration, Instant};

use flashscope_model::{MODELS, Prediction, Table, Uniform};
use flashscope_predict::drawn::{PRXY0, Traits};
use flashscope_predict::{Pools, Requests, SelectedModel};

use crate::cases;

/// The least number of predictions per second.
const LIMIT: f64 = 1e6;

/// The pages per block and the logical blocks of Boboila's Figure 2.
const PAGES_PER_BLOCK: f64 = 64.0;
const LOGICAL_BLOCKS: f64 = 8192.0;

/// The number of different predictions in a round.
const POINTS: usize = 4096;

/// Prints a line for each selected model.
pub(crate) fn print(selected: impl Fn(&str) -> bool) {
    print_requests(&selected);
    println!("model            predictions/s    from a table    limit");
    let points = points();
    for model in MODELS.iter().filter(|model| selected(model.name)) {
        let own = per_second(&points, model.predict);
        let table = model.solves.then(|| Table::of(model, PAGES_PER_BLOCK)).flatten();
        let looked_up = table.map(|table| per_second(&points, |uniform| table.predict(uniform)));
        let best = looked_up.unwrap_or(own).max(own);
        println!(
            "{:<14} {own:>15.0} {:>15} {LIMIT:>8.0}  {}",
            model.name,
            looked_up.map_or_else(|| "-".to_string(), |rate| format!("{rate:.0}")),
            if best >= LIMIT { "met" } else { "missed" },
        );
    }
}

/// The least number of requests per second.
const REQUESTS: f64 = 10e6;

/// The number of repeats of each interval, and the number of requests in an interval. The fastest
/// repeat counts, because other processes can only add time.
const TIMES: u32 = 5;
const STRETCH: u32 = 50_000;

/// Processes ten million requests on the paper's drive in one pass, and prints the rates.
fn print_requests(selected: impl Fn(&str) -> bool) {
    println!("model            requests/s        limit");
    let traits = Traits { requests: 10_000_000, ..PRXY0 };
    let mut requests = Requests::Repeated(cases::generate(&traits));
    for case in cases::on_the_papers_drive(traits.name) {
        let design = case.profile.design().expect("a valid profile");
        for (model, pieces) in case.models.into_iter().filter(|(model, _)| selected(model)) {
            let selected = SelectedModel::named(model, &design).expect("a model of the drive");
            let mut fastest = vec![Duration::MAX; traits.requests.div_ceil(STRETCH) as usize + 1];
            for _ in 0..TIMES {
                let mut pools = Pools::new(&design, selected, pieces).expect("a drive in range");
                let stretches = stretches(&mut pools, &mut requests);
                fastest
                    .iter_mut()
                    .zip(stretches)
                    .for_each(|(least, took)| *least = took.min(*least));
            }
            let took: Duration = fastest.iter().filter(|took| **took < Duration::MAX).sum();
            let rate = f64::from(traits.requests) / took.as_secs_f64();
            let met = if rate >= REQUESTS { "met" } else { "missed" };
            println!("{model:<14} {rate:>12.0} {REQUESTS:>12.0}  {met}");
        }
    }
    println!();
}

/// Returns the time of each interval of a pass.
fn stretches(pools: &mut Pools, requests: &mut Requests) -> Vec<Duration> {
    let (mut took, mut count, mut start) = (Vec::new(), 0, Instant::now());
    let pass = requests.pass(&mut |request| {
        pools.request(request);
        count += 1;
        if count % STRETCH == 0 {
            took.push(start.elapsed());
            start = Instant::now();
        }
    });
    pass.expect("the workload writes");
    black_box(pools.total());
    took.push(start.elapsed());
    took
}

/// Returns points with mean lengths of 1 to 2500 pages and free-space ratios of 0.001 to 1000
/// (Boboila, section IV), evenly distributed on logarithmic scales.
fn points() -> Vec<Uniform> {
    // The fractional parts of multiples of irrational numbers cover a square evenly.
    let spread = |i: usize, step: f64| (i as f64 * step).fract();
    let point = |i: usize| {
        let len = 2500f64.powf(spread(i, 0.754_877_666));
        let free = 1e-3 * 1e6f64.powf(spread(i, 0.569_840_291));
        Uniform::new(PAGES_PER_BLOCK, LOGICAL_BLOCKS, free, len).expect("in range")
    };
    (0..POINTS).map(point).collect()
}

fn per_second(points: &[Uniform], predict: impl Fn(&Uniform) -> Prediction) -> f64 {
    let start = Instant::now();
    let mut made = 0;
    while start.elapsed() < Duration::from_millis(300) {
        for uniform in points {
            black_box(predict(black_box(uniform)));
        }
        made += points.len();
    }
    made as f64 / start.elapsed().as_secs_f64()
}
