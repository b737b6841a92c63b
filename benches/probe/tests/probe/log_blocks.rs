//! Drives with log blocks that resemble page-mapped drives: they accept trims, and have a write
//! buffer.

use flashscope_document::probe::{Finding, Parameter};
use flashscope_probe_bench::drives::{Truth, generate};
use flashscope_probe_bench::noise::{Noise, Noisy};
use flashscope_probe_bench::trial::probe;
use flashscope_probe_bench::trims::Trimming;

/// Seeds of drives of each FTL class.
const BAST: [u64; 3] = [1, 4, 12];
const FAST: [u64; 1] = [8];
const GROUPS: [u64; 2] = [5, 18];

/// Returns the FTL class of the drive of a seed, and the finding about it with the given buffer.
fn classes(seed: u64, buffer: &str) -> (&'static str, Finding) {
    let random = generate(seed);
    let Some(Truth::Class(class)) = random.truth.get(&Parameter::FtlClass) else {
        panic!("{seed} has no class");
    };
    let drive = flashscope_sim::open(&format!("{}&{buffer}", random.spec)).unwrap();
    let noise = Noise::of(0.02);
    let mut drive = Noisy::new(Trimming::new(drive), noise, seed);
    let outcome = probe(&mut drive, seed, &[Parameter::FtlClass], &mut |_| {}).unwrap();
    (class, outcome.knowledge.finding(Parameter::FtlClass).unwrap().clone())
}

fn is(finding: &Finding, class: &str) -> bool {
    finding.agrees_with(&Finding::class(Parameter::FtlClass, class, 1.0))
}

// The drive also accepts trims, as page-mapped drives do.
#[test]
fn the_ftl_class_is_found_behind_a_write_buffer() {
    for (seeds, class) in [(&BAST[..], "bast"), (&FAST, "fast"), (&GROUPS, "groups-of-blocks")] {
        for seed in seeds {
            let buffer = "cache.kind=lru&cache.size=262144";
            let (truth, finding) = classes(*seed, buffer);
            assert_eq!(truth, class, "the drive of seed {seed} has another class");
            assert!(is(&finding, class), "{seed}: {finding:?}");
            assert!(finding.probability > 0.9, "{seed}: {finding:?}");
        }
    }
}

// No flush empties this buffer, and it hides merges.
#[test]
fn a_buffer_that_hides_merges_lowers_the_stated_probability() {
    for seed in [1, 12, 14] {
        let buffer = "cache.kind=lru&cache.size=1048576&cache.protected=true&cache.write_back=1.0";
        let (class, finding) = classes(seed, buffer);
        assert_eq!(class, "bast", "the drive of seed {seed} has another class");
        assert!(is(&finding, "bast") || finding.probability < 0.9, "{seed}: {finding:?}");
    }
}
