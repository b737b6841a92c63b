//! How many predictions of uniform writes does each model make in a second, by itself and from a table; and how many
//! requests of a trace does each model that looks at all of them?

use std::hint::black_box;
use std::time::{Duration, Instant};

use flashscope_model::{MODELS, Prediction, Table, Uniform};
use flashscope_predict::drawn::{PRXY0, Traits};
use flashscope_predict::{Pools, Requests, SelectedModel};

use crate::cases;

/// Predictions a second that are asked for.
const LIMIT: f64 = 1e6;

/// Pages of a block, and logical blocks: those of Boboila's Figure 2.
const PAGES_PER_BLOCK: f64 = 64.0;
const LOGICAL_BLOCKS: f64 = 8192.0;

/// As many predictions are looked at one after the other.
const POINTS: usize = 4096;

/// Prints a line for each model that is wanted.
pub fn print(wanted: impl Fn(&str) -> bool) {
    print_requests(&wanted);
    println!("model            predictions/s    from a table    limit");
    let points = points();
    for model in MODELS.iter().filter(|model| wanted(model.name)) {
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

/// Requests a second that are asked for.
const REQUESTS: f64 = 10e6;

/// So often each stretch of requests is timed, of which the fastest counts: whatever else the machine does takes time.
const TIMES: u32 = 5;
const STRETCH: u32 = 50_000;

/// Ten million requests on the paper's drive, once through.
fn print_requests(wanted: impl Fn(&str) -> bool) {
    println!("model            requests/s        limit");
    let traits = Traits { requests: 10_000_000, ..PRXY0 };
    let mut requests = Requests::Repeated(cases::drawn(&traits));
    for case in cases::on_the_papers_drive(traits.name) {
        let layout = case.profile.layout().expect("a valid profile");
        for (model, pieces) in case.models.into_iter().filter(|(model, _)| wanted(model)) {
            let chosen = SelectedModel::named(model, &layout).expect("a model of the drive");
            let mut fastest = vec![Duration::MAX; traits.requests.div_ceil(STRETCH) as usize + 1];
            for _ in 0..TIMES {
                let mut pools = Pools::new(&layout, chosen, pieces).expect("a drive in range");
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

/// How long each stretch of a pass takes.
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
    pass.expect("something is written");
    black_box(pools.total());
    took.push(start.elapsed());
    took
}

/// Mean lengths of 1 to 2500 pages and free space of 0.001 to 1000, those of Boboila, section IV: as many in each
/// octave.
fn points() -> Vec<Uniform> {
    // The fractions of multiples of irrational numbers fill a square evenly.
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
