//! Drives with log blocks that look like others: they take trims, and a write buffer is before them.

use flashscope_block::Nanos;
use flashscope_probe::{Finding, Parameter};
use flashscope_probe_bench::drives::{Truth, draw};
use flashscope_probe_bench::noise::{Noise, Noisy};
use flashscope_probe_bench::trial::probe;
use flashscope_probe_bench::trims::Trimming;

/// Seeds of drives of each class.
const BAST: [u64; 3] = [1, 4, 12];
const FAST: [u64; 1] = [8];
const GROUPS: [u64; 2] = [5, 18];

/// The class of the FTL of the drive of this seed, and what is stated of it with such a buffer.
fn classes(seed: u64, buffer: &str) -> (&'static str, Finding) {
    let drawn = draw(seed);
    let Some(Truth::Class(class)) = drawn.truth.get(&Parameter::FtlClass) else {
        panic!("{seed} has no class");
    };
    let drive = flashscope_sim::open(&format!("{}&{buffer}", drawn.spec)).unwrap();
    let noise = Noise { deviation: 0.02, hiccup_every: Nanos::secs(1), hiccup: Nanos::millis(20) };
    let mut drive = Noisy::new(Trimming::new(drive), noise, seed);
    let found = probe(&mut drive, seed, &[Parameter::FtlClass], &mut |_| {}).unwrap();
    (class, found.knowledge.finding(Parameter::FtlClass).unwrap().clone())
}

fn is(finding: &Finding, class: &str) -> bool {
    finding.agrees_with(&Finding::class(Parameter::FtlClass, class, 1.0))
}

// Is the class found behind a buffer that flushes empty, although the drive takes trims?
#[test]
fn behind_a_buffer() {
    for (seeds, class) in [(&BAST[..], "bast"), (&FAST, "fast"), (&GROUPS, "groups-of-blocks")] {
        for seed in seeds {
            let buffer = "cache.kind=lru&cache.size=262144";
            let (truth, finding) = classes(*seed, buffer);
            assert_eq!(truth, class, "{seed} was drawn for another class");
            assert!(is(&finding, class), "{seed}: {finding:?}");
            assert!(finding.probability > 0.9, "{seed}: {finding:?}");
        }
    }
}

// Is page-mapped stated with less certainty behind one that no flush empties, and that hides merges?
#[test]
fn behind_a_buffer_that_hides_merges() {
    for seed in [1, 12, 14] {
        let buffer = "cache.kind=lru&cache.size=1048576&cache.protected=true&cache.write_back=1.0";
        let (class, finding) = classes(seed, buffer);
        assert_eq!(class, "bast", "{seed} was drawn for another class");
        assert!(is(&finding, "bast") || finding.probability < 0.9, "{seed}: {finding:?}");
    }
}
