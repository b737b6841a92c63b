//! Runs the same lives on every FTL with every policy, for a given time. A life is a random
//! sequence of requests and faults on a simulated drive.

use std::ops::AddAssign;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use crate::any_life;
use crate::life::{Life, Policies, policies};

/// Counts over all lives.
#[derive(Debug, Default)]
struct Figures {
    lives: u64,
    requests: u64,
    cuts: u64,
    cuts_in_flight: u64,
    recoveries_cut: u64,
    failed_programs: u64,
    failed_erases: u64,
    lost_blocks: u64,
    worn_out: u64,
    pages_written: u64,
    erases: u64,
}

impl AddAssign for Figures {
    fn add_assign(&mut self, other: Figures) {
        self.lives += other.lives;
        self.requests += other.requests;
        self.cuts += other.cuts;
        self.cuts_in_flight += other.cuts_in_flight;
        self.recoveries_cut += other.recoveries_cut;
        self.failed_programs += other.failed_programs;
        self.failed_erases += other.failed_erases;
        self.lost_blocks += other.lost_blocks;
        self.worn_out += other.worn_out;
        self.pages_written += other.pages_written;
        self.erases += other.erases;
    }
}

/// Runs lives with seeds from `first` on, each on every FTL with every policy, until the time is
/// over or a life fails. Returns the table to print.
///
/// # Errors
/// Returns how to repeat the life that failed.
pub fn soak(time: Duration, first: u64) -> Result<String, String> {
    let (all, start) = (policies(), Instant::now());
    let mut sum = Figures::default();
    for seed in first.. {
        for nth in 0..all.len() {
            if start.elapsed() >= time {
                return Ok(table(&sum, all.len(), start.elapsed()));
            }
            match catch_unwind(AssertUnwindSafe(|| live(all[nth], seed))) {
                Ok(figures) => sum += figures.unwrap_or_default(),
                Err(_) => return Err(format!("repeat it: plain life {nth} {seed}")),
            }
        }
    }
    Err("there are no more seeds".into())
}

/// Repeats the life of `seed` on the nth pair of an FTL and policies.
///
/// # Panics
/// Panics as the life did.
pub fn again(nth: u64, seed: u64) {
    let all = policies();
    let pair =
        usize::try_from(nth).ok().and_then(|nth| all.get(nth)).expect("there is such a pair");
    live(*pair, seed);
}

fn live(
    (ftl, policies): (&'static flashscope_sim::ftl::Kind, Policies),
    seed: u64,
) -> Option<Figures> {
    let bytes = any_life(&mut fastrand::Rng::with_seed(seed));
    let story = Life::with(ftl, policies, &bytes)?.live();
    let (host, flash) = (story.counters.host_pages_written, story.counters.flash);
    Some(Figures {
        lives: 1,
        requests: story.completions.len() as u64,
        cuts: story.recoveries.len() as u64,
        cuts_in_flight: story.cuts_in_flight as u64,
        recoveries_cut: story.recoveries_cut as u64,
        failed_programs: flash.failed_programs,
        failed_erases: flash.failed_erases,
        lost_blocks: story.lost_blocks,
        worn_out: u64::from(story.refused_writes > 0),
        pages_written: host,
        erases: flash.erases.total(),
    })
}

/// Returns the lines of a table for docs/trust.md.
fn table(sum: &Figures, pairs: usize, time: Duration) -> String {
    let lines = [
        ("pairs of an FTL and policies", pairs as u64),
        ("drives that lived to their end", sum.lives),
        ("requests answered", sum.requests),
        ("pages written", sum.pages_written),
        ("blocks erased", sum.erases),
        ("power cuts survived", sum.cuts),
        ("power cuts with requests in flight", sum.cuts_in_flight),
        ("power cuts during a recovery", sum.recoveries_cut),
        ("programs that failed", sum.failed_programs),
        ("erases that failed", sum.failed_erases),
        ("blocks lost", sum.lost_blocks),
        ("drives worn out", sum.worn_out),
        ("acknowledged pages lost", 0),
    ];
    let lines = lines.map(|(what, count)| format!("| {what} | {count} |"));
    format!("| the simulator for {} s | |\n|---|---:|\n{}", time.as_secs(), lines.join("\n"))
}
