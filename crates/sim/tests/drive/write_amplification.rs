//! Steady-state write amplification of every policy for garbage collection, compared with closed
//! forms and with published or independent simulations.
//!
//! Notation: the share rho of the pages in use is valid, S_f = 1 - rho, alpha = 1/rho, a block has
//! b pages, and A is the write amplification.
//! - FIFO (Desnoyers, SYSTOR'12, eq. 4): A = 1/(1-X), X = exp(-alpha (1-X)). If class i of the
//!   pages gets the share r_i of the writes and has the share f_i of the pages:
//!   A = 1 + sum r_i / (exp(r_i/f_i alpha/A) - 1).
//! - d choices (Van Houdt, SIGMETRICS'13): with h_i the share of blocks with at least i valid
//!   pages, 1 - h_i^d = i/(rho A) (h_i - h_(i+1)), and sum h_i = rho b. Greedy is the limit of
//!   large d.
//! - TRIM (Frankie et al.): if the share q of the requests trims a page that holds data, and the
//!   other requests write any page, the formulas hold with alpha/s in place of alpha, where
//!   s = (1-2q)/(1-q).

use flashscope_block::{Device, Io, Nanos, Op};
use flashscope_sim::ftl::COLD_STREAM;
use flashscope_sim::gc::Ties;
use flashscope_sim::setup::Cleaning;
use flashscope_sim::setup::Frontiers;
use flashscope_sim::{Profile, SimDevice};

use crate::exactness::{PAGE, drive_with};
use crate::{request, round_trip};

/// A sequence of requests: the operation, the logical page, and the stream.
type Workload = Box<dyn FnMut() -> (Op, u64, u16)>;

fn uniform(pages: u64) -> Workload {
    let mut random = fastrand::Rng::with_seed(1);
    Box::new(move || (Op::Write, random.u64(..pages), 0))
}

/// Sends the share `writes` of the writes to the share `space` of the pages.
fn hot_cold(pages: u64, writes: f64, space: f64) -> Workload {
    let mut random = fastrand::Rng::with_seed(1);
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // between 0 and `pages`
    let hot = (pages as f64 * space).round() as u64;
    Box::new(move || {
        let is_hot = random.f64() < writes;
        (Op::Write, if is_hot { random.u64(..hot) } else { random.u64(hot..pages) }, 0)
    })
}

/// Writes page `n` with a frequency proportional to 1 / (n + 1)^exponent.
fn zipf(pages: u64, exponent: f64) -> Workload {
    let mut sum = 0.0;
    let weights = (1..=pages).map(|rank| {
        sum += (rank as f64).powf(-exponent);
        sum
    });
    let cumulative: Vec<f64> = weights.collect();
    // An index of evenly spaced steps of the sum, which keeps the search for a page short.
    let step = sum / pages as f64;
    let page_at = |at: f64| cumulative.partition_point(|upto| *upto <= at);
    let guide: Vec<usize> = (0..=pages).map(|n| page_at(n as f64 * step)).collect();
    let mut random = fastrand::Rng::with_seed(1);
    Box::new(move || {
        let at = random.f64() * sum;
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // between 0 and `pages`
        let nth = ((at / step) as usize).min(guide.len() - 2);
        let (from, to) = (guide[nth].saturating_sub(1), guide[nth + 1] + 1);
        let part = &cumulative[from..to.min(cumulative.len())];
        let page = from + part.partition_point(|upto| *upto <= at);
        (Op::Write, (page as u64).min(pages - 1), 0)
    })
}

/// Makes the share `share` of the requests trims of pages that hold data. At first, all pages hold
/// data.
fn trims(pages: u64, share: f64) -> Workload {
    let mut random = fastrand::Rng::with_seed(1);
    let mut live: Vec<usize> = (0..usize::try_from(pages).expect("a small drive")).collect();
    // The index in `live` of each page that is in it.
    let mut place: Vec<Option<usize>> = live.iter().copied().map(Some).collect();
    Box::new(move || {
        if random.f64() < share && !live.is_empty() {
            let at = random.usize(..live.len());
            let page = live.swap_remove(at);
            if let Some(moved) = live.get(at) {
                place[*moved] = Some(at);
            }
            place[page] = None;
            return (Op::Trim, page as u64, 0);
        }
        let page = random.usize(..place.len());
        if place[page].is_none() {
            place[page] = Some(live.len());
            live.push(page);
        }
        (Op::Write, page as u64, 0)
    })
}

/// Does the same as [`hot_cold`], but the host marks the cold pages.
fn marked_hot_cold(pages: u64, writes: f64, space: f64) -> Workload {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // between 0 and `pages`
    let hot = (pages as f64 * space).round() as u64;
    let mut unmarked = hot_cold(pages, writes, space);
    Box::new(move || {
        let (request, page, _) = unmarked();
        (request, page, if page < hot { 1 } else { COLD_STREAM })
    })
}

/// Fills the drive and runs `warm_up` requests for each of its pages. Returns the write
/// amplification over the next `measured` requests for each page.
fn measure(
    (drive, pages): &mut (SimDevice, u64),
    mut workload: Workload,
    [warm_up, measured]: [u64; 2],
) -> f64 {
    for page in 0..*pages {
        round_trip(drive, Op::Write, page * PAGE, PAGE);
    }
    let mut run = |drive: &mut SimDevice, requests| {
        for _ in 0..requests {
            let (op, page, stream) = workload();
            let at = drive.now();
            drive.submit(&Io { stream, ..request(op, page * PAGE, PAGE, at) });
            let done = drive.complete(Nanos::MAX).expect("in flight");
            assert_eq!(done.result, Ok(()));
        }
    };
    run(drive, warm_up * *pages);
    let start = drive.counters();
    run(drive, measured * *pages);
    drive.counters().since(&start).write_amplification().expect("pages were written")
}

/// Requests for each page that suit most workloads: to warm up, and to measure.
const USUAL: [u64; 2] = [5, 5];

#[track_caller]
fn expect(what: &str, found: f64, expected: f64, tolerance: f64) {
    let error = found / expected - 1.0;
    assert!(error.abs() < tolerance, "{what}: {found:.4} is {error:+.4} off {expected}");
}

fn cleaning(policy: &str) -> Cleaning {
    Cleaning { policy: policy.into(), ..Profile::default().cleaning }
}

/// Returns a drive with `used` blocks in use, of whose pages the share `spare` is not valid.
fn drive(used: u32, spare: f64, cleaning: &Cleaning) -> (SimDevice, u64) {
    drive_with(used, 1.0 - spare, |profile| {
        let free_threshold = profile.cleaning.free_threshold;
        profile.cleaning = Cleaning { free_threshold, ..cleaning.clone() };
    })
}

// FIFO matches the closed form.
#[test]
fn fifo_matches_the_closed_form_for_uniform_writes() {
    for (spare, expected) in [(0.07, 7.3177), (0.1, 5.1787), (0.2, 2.6927)] {
        let mut drive = drive(4096, spare, &cleaning("fifo"));
        let load = uniform(drive.1);
        expect(&format!("fifo, S_f {spare}"), measure(&mut drive, load, USUAL), expected, 0.005);
    }
}

// Greedy matches the mean field for other block sizes, more spare space, and either tie-break.
#[test]
fn greedy_matches_the_mean_field_for_uniform_writes() {
    let cases = [
        (32, 0.1, Ties::Oldest, 4.5082),
        (64, 0.1, Ties::Youngest, 4.8213),
        (64, 0.28, Ties::Oldest, 1.9425),
    ];
    for (pages_per_block, spare, ties, expected) in cases {
        let mut drive = drive_with(4096, 1.0 - spare, |profile| {
            profile.cleaning.ties = ties;
            profile.flash.pages_per_block = pages_per_block;
        });
        let load = uniform(drive.1);
        let what = format!("greedy, b {pages_per_block}, S_f {spare}, {ties:?}");
        expect(&what, measure(&mut drive, load, USUAL), expected, 0.005);
    }
}

// d choices matches the mean field. A draw of only fully valid blocks is repeated. The left side of
// the equation is therefore (1 - h_i^d) / (1 - h_b^d). For d = 2 this changes A from 3.2453 to
// 3.2403; for larger d it makes no difference. With two choices, some blocks are not chosen for a
// long time. The steady state therefore takes many requests.
#[test]
fn d_choices_uniform() {
    let cases = [(2, 0.21875, 3.2403, [15, 10]), (5, 0.1, 5.3426, USUAL), (10, 0.1, 5.0002, USUAL)];
    for (choices, spare, expected, lengths) in cases {
        let mut drive = drive(4096, spare, &Cleaning { choices, ..cleaning("d-choices") });
        let load = uniform(drive.1);
        let what = format!("d {choices}, S_f {spare}");
        expect(&what, measure(&mut drive, load, lengths), expected, 0.005);
    }
}

// The policy `random` repeats a draw of a fully valid block. The equation above for d = 1 therefore
// gives A = 1/(1 - rho + rho/b). For large blocks, A tends to 1/(1 - rho), the known value of
// random choice. The policy d-choices with a single choice gives the same A.
#[test]
fn random_choice_matches_the_closed_form_for_uniform_writes() {
    let one_choice = Cleaning { choices: 1, ..cleaning("d-choices") };
    for (spare, cleaning) in
        [(0.1, cleaning("random")), (0.5, cleaning("random")), (0.21875, one_choice)]
    {
        let rho = 1.0 - spare;
        let mut drive = drive(4096, spare, &cleaning);
        let load = uniform(drive.1);
        let what = format!("{}, S_f {spare}", cleaning.policy);
        expect(&what, measure(&mut drive, load, USUAL), 1.0 / (1.0 - rho + rho / 64.0), 0.005);
    }
}

// Windowed greedy matches an independent simulation of Hu et al.'s policy for 2048 blocks, and lies
// between FIFO and greedy.
#[test]
fn windowed_greedy_uniform() {
    let cases = [(1, 5.182), (10, 5.162), (50, 5.084), (100, 5.034), (500, 4.844), (2000, 4.823)];
    for (window, expected) in cases {
        let mut drive = drive(2048, 0.1, &Cleaning { window, ..cleaning("windowed-greedy") });
        let load = uniform(drive.1);
        let what = format!("window {window}");
        expect(&what, measure(&mut drive, load, USUAL), expected, 0.005);
    }
}

// Trims act as more spare space, as in the closed forms.
#[test]
fn trims_act_as_more_spare_space() {
    let cases = [
        ("fifo", 0.07, 0.05, 4.3847),
        ("fifo", 0.1, 0.1, 2.6927),
        ("fifo", 0.1, 0.3, 1.2805),
        ("greedy", 0.07, 0.05, 4.1296),
        ("greedy", 0.1, 0.1, 2.5993),
        ("greedy", 0.1, 0.3, 1.2635),
    ];
    for (policy, spare, share, expected) in cases {
        let mut drive = drive(4096, spare, &cleaning(policy));
        let load = trims(drive.1, share);
        let what = format!("{policy}, S_f {spare}, trims {share}");
        expect(&what, measure(&mut drive, load, [10, 5]), expected, 0.005);
    }
}

// Hot and cold pages on one frontier: FIFO matches the closed form. Greedy matches an independent
// simulation with either tie-break.
#[test]
fn hot_and_cold_mixed() {
    let cases = [
        ("fifo", Ties::Oldest, 0.07, 0.8, 0.2, 7.6817),
        ("fifo", Ties::Oldest, 0.1, 0.9, 0.05, 6.9175),
        ("greedy", Ties::Oldest, 0.1, 0.9, 0.05, 6.544),
        ("greedy", Ties::Youngest, 0.1, 0.9, 0.05, 6.707),
        ("greedy", Ties::Oldest, 0.1, 0.8, 0.2, 5.177),
        ("greedy", Ties::Youngest, 0.1, 0.8, 0.2, 5.199),
    ];
    for (policy, ties, spare, writes, space, expected) in cases {
        let mut drive = drive(4096, spare, &Cleaning { ties, ..cleaning(policy) });
        let load = hot_cold(drive.1, writes, space);
        let what = format!("{policy} {ties:?}, S_f {spare}, hot {writes}/{space}");
        expect(&what, measure(&mut drive, load, USUAL), expected, 0.005);
    }
}

// Zipf's law over 445,645 pages: FIFO matches the closed form with a class for each page. Greedy
// matches an independent simulation.
#[test]
fn zipf_mixed() {
    let cases = [
        ("fifo", 0.8, 4.4539),
        ("fifo", 0.99, 5.2991),
        ("greedy", 0.8, 4.215),
        ("greedy", 0.99, 4.969),
    ];
    for (policy, exponent, expected) in cases {
        let mut drive = drive(8192, 0.15, &cleaning(policy));
        let load = zipf(drive.1, exponent);
        let what = format!("{policy}, zipf {exponent}");
        expect(&what, measure(&mut drive, load, USUAL), expected, 0.005);
    }
}

// Cost-benefit on one frontier is near an independent simulation for 1024 blocks: worse than greedy
// on uniform writes, about equal on hot and cold pages.
#[test]
fn cost_benefit_mixed() {
    let drive_of = || drive(1024, 0.1, &cleaning("cost-benefit"));
    let mut drive = drive_of();
    let load = uniform(drive.1);
    expect("cost-benefit, uniform", measure(&mut drive, load, [10, 20]), 4.906, 0.01);
    let mut drive = drive_of();
    let load = hot_cold(drive.1, 0.9, 0.05);
    expect("cost-benefit, hot .9/.05", measure(&mut drive, load, [10, 20]), 6.55, 0.01);
}

// Separate frontiers for host writes and moved pages: greedy and cost-benefit, which needs them,
// match independent simulations. If the host marks cold data, the result matches an oracle's
// separation. Cold data is rarely written. The steady state therefore takes many requests. For
// cost-benefit, two simulations differ, and a third decides (docs/simulator-exactness.md).
#[test]
fn separate_frontiers() {
    let (two, by_heat) = (Frontiers::HostAndCleaning, Frontiers::HotAndCold);
    let cases = [
        (two, "greedy", 4096, 0.1, 0.9, 0.05, 5.639, 0.005),
        (two, "greedy", 4096, 0.07, 0.8, 0.2, 6.943, 0.005),
        (two, "cost-benefit", 1024, 0.1, 0.9, 0.05, 2.733, 0.01),
        (by_heat, "greedy", 4096, 0.1, 0.9, 0.05, 4.791, 0.005),
        (by_heat, "greedy", 4096, 0.07, 0.8, 0.2, 6.615, 0.005),
    ];
    for (frontiers, policy, blocks, spare, writes, space, expected, tolerance) in cases {
        let cleaning = Cleaning { frontiers, ties: Ties::Youngest, ..cleaning(policy) };
        let mut drive = drive(blocks, spare, &cleaning);
        let load = marked_hot_cold(drive.1, writes, space);
        let what = format!("{frontiers:?} {policy}, S_f {spare}, hot {writes}/{space}");
        let warm_up = if frontiers == by_heat { 25 } else { 8 };
        let found = measure(&mut drive, load, [warm_up, 5]);
        println!("{what}: {found:.4} for {expected}");
        expect(&what, found, expected, tolerance);
    }
}
