use std::fmt::Write;

use flashscope_block::{Bytes, Io, Nanos, Op};
use proptest::prelude::*;
use proptest::sample::select;

use super::application::MAX_PLACES;
use super::*;
use crate::Stream;

mod fields;

/// A drive whose number of 4 KiB pages is not a power of two.
pub(super) const TARGET: Target =
    Target { capacity: Bytes::kib(4 * 1000), logical_block: Bytes(512), filled: true, seed: 2009 };

/// A drive with room for every workload.
pub(super) const LARGE: Target = Target { capacity: Bytes::kib(100_004), ..TARGET };

/// Returns the workloads that have a `size` field, take no argument, and fit [`TARGET`], which is
/// smaller than a warehouse of TPC-C.
fn small_kinds() -> impl Iterator<Item = &'static &'static Kind> {
    let has_size = |kind: &Kind| kind.all_fields().any(|field| field.name == "size");
    KINDS.iter().filter(move |k| k.argument.is_none() && has_size(k) && k.name != "tpcc")
}

fn applications() -> impl Iterator<Item = &'static &'static Kind> {
    KINDS.iter().filter(|kind| kind.common.len() == APPLICATION.len())
}

pub(super) fn endless(spec: &str, target: &Target) -> Box<dyn Stream> {
    match open(spec, target).unwrap_or_else(|error| panic!("{spec}: {error}")).ios {
        Ios::Endless(generator) => generator,
        Ios::Application(application) => application,
        Ios::Runs(_) | Ios::Trace(_) => panic!("{spec} ends"),
    }
}

/// Returns the first IOs on the small drive, if each IO takes 100 µs.
pub(super) fn ios(spec: &str, count: usize) -> Vec<Io> {
    ios_on(&TARGET, spec, count)
}

/// Returns the first IOs, if each IO takes 100 µs.
pub(super) fn ios_on(target: &Target, spec: &str, count: usize) -> Vec<Io> {
    let mut stream = endless(spec, target);
    let mut previous = Nanos(0);
    let mut next = || {
        let io = stream.next(previous).expect("endless");
        previous = io.at + Nanos::micros(100);
        io
    };
    (0..count).map(|_| next()).collect()
}

/// Asserts that a workload reads and trims only data that was not trimmed since its last write, and
/// that it issues enough reads and trims for this check.
pub(super) fn assert_nothing_dead_is_wanted(spec: &str) {
    let sectors = usize::try_from(LARGE.capacity.0 / 512).unwrap();
    let (mut dead, mut trims, mut reads) = (vec![false; sectors], 0, 0);
    for io in ios_on(&LARGE, spec, 50_000) {
        let [first, end] = [io.offset, io.end()].map(|at| usize::try_from(at.0 / 512).unwrap());
        let range = &mut dead[first..end];
        assert!(io.op == Op::Write || range.iter().all(|dead| !dead), "{spec}: {io:?}");
        range.fill(io.op == Op::Trim);
        trims += usize::from(io.op == Op::Trim);
        reads += usize::from(io.op == Op::Read);
    }
    assert!(trims > 100 && reads > 100, "{spec}: {trims} trims, {reads} reads");
}

/// Formats IOs as a table: operation, first sector, number of sectors, and time in ns.
fn table(ios: &[Io]) -> String {
    let mut text = String::new();
    for Io { op, offset, len, at, .. } in ios {
        writeln!(text, "  {op:?} {}+{} @{}", offset.0 / 512, len.0 / 512, at.0).unwrap();
    }
    text
}

fn refused(spec: &str) -> String {
    refused_on(&TARGET, spec)
}

pub(super) fn refused_on(target: &Target, spec: &str) -> String {
    open(spec, target).map(|_| ()).expect_err(spec).to_string()
}

/// Returns the number of IOs that begin at each page of 4 KiB.
pub(super) fn histogram(ios: &[Io]) -> Vec<f64> {
    let mut counts = vec![0.0; 1000];
    ios.iter().for_each(|io| counts[usize::try_from(io.offset.0 / 4096).unwrap()] += 1.0);
    counts
}

/// Asserts that counts follow a distribution, by Pearson's chi-square. Up to four standard
/// deviations are allowed, and the seeds are fixed.
#[allow(clippy::cast_precision_loss)]
pub(super) fn assert_law(counts: &[f64], probability: impl Fn(usize) -> f64) {
    let total: f64 = counts.iter().sum();
    let term = |(i, count): (usize, &f64)| {
        let expected = total * probability(i);
        assert!(expected > 5.0, "class {i} has too few for the test: {expected}");
        (count - expected).powi(2) / expected
    };
    let chi_square: f64 = counts.iter().enumerate().map(term).sum();
    let freedom = counts.len() as f64 - 1.0;
    let deviations = (chi_square - freedom) / (2.0 * freedom).sqrt();
    assert!(deviations.abs() < 4.0, "chi-square {chi_square}, {deviations} deviations off");
}

// The workloads issue exactly the IOs of the golden vectors.
#[test]
fn golden_vectors() {
    for kind in small_kinds() {
        let name = kind.name;
        let mut text = String::new();
        for fields in [
            "",
            "reads=0.3&trims=0.3",
            "size=geometric:8KiB",
            "size=exponential:8KiB",
            "size=uniform:4KiB..64KiB&alignment=2KiB&offset=1MiB&length=1MiB",
            "size=4KiB:0.7+64KiB:0.3&rate=10000&arrivals=poisson",
            "rate=3&arrivals=uniform&seed=7",
        ] {
            writeln!(text, "{name}?{fields}").unwrap();
            text += &table(&ios(&format!("{name}?{fields}"), 16));
        }
        insta::assert_snapshot!(name, text);
    }
}

// The workloads that need a larger drive issue exactly the IOs of the golden vectors.
#[test]
fn golden_vectors_of_applications() {
    for (name, fields) in [
        ("tpcc", ["", "reads=0&size=16KiB&seed=5"]),
        ("iozone", ["request=32KiB", "direct=true&file=32MiB&rate=100&arrivals=poisson"]),
        ("postmark", ["files=5&trims=true", "files=5&reads=false&largest=100000&offset=1MiB"]),
        ("btree", ["fanout=10&cache=0.01", "log=64KiB&lookups=0&cache=0.001&length=60MiB"]),
        ("lsm", ["request=2MiB&length=20MiB&trims=true", "lookups=0.5&log=false"]),
        ("kv-cache", ["prompt=3", "block=100KiB&request=64KiB&trims=true&length=2MiB"]),
        ("vector-index", ["steps=2", "node=8KiB&width=2&cached=0&inserts=1&links=3&length=20MiB"]),
        (
            "checkpoint",
            ["state=1MiB&sample=512KiB", "state=1MiB&writers=3&keep=1&trims=true&samples=0"],
        ),
        (
            "log-structured",
            [
                "segment=256KiB&record=16KiB&live=0.3&length=2MiB",
                "segment=128KiB&record=64KiB&live=0.3&length=2MiB&lookups=0.3&trims=false",
            ],
        ),
        ("object-cache", ["lookups=0.3&small=0.5", "region=64KiB&small=0&trims=true&length=1MiB"]),
    ] {
        let mut text = String::new();
        for fields in fields {
            writeln!(text, "{name}?{fields}").unwrap();
            text += &table(&ios_on(&LARGE, &format!("{name}?{fields}"), 24));
        }
        insta::assert_snapshot!(name, text);
    }
    let others = small_kinds().count() + 2; // tpcc and uflip
    assert_eq!(
        KINDS.iter().filter(|kind| kind.name != "trace").count(),
        applications().count() + others
    );
}

// Names are unique, no text is empty, and every default is a valid value.
#[test]
fn registry_is_complete() {
    for (i, kind) in KINDS.iter().enumerate() {
        assert_eq!(KINDS.iter().position(|other| other.name == kind.name), Some(i));
        assert!(!kind.summary.is_empty() && !kind.source.is_empty());
        let mut names: Vec<_> = kind.all_fields().map(|field| field.name).collect();
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{}", kind.name);
        let argument = kind.argument.map(|_| ":order").unwrap_or_default();
        for field in kind.all_fields() {
            assert!(!field.summary.is_empty());
            let needs_another = ["arrivals", "commit"].contains(&field.name);
            let Some(default) = field.default.filter(|_| !needs_another) else {
                continue;
            };
            let spec = format!("{}{argument}?{}={default}", kind.name, field.name);
            open(&spec, &LARGE).unwrap_or_else(|error| panic!("{spec}: {error}"));
        }
    }
}

// Every IO of every workload stays in its range, aligned, with a size in whole blocks.
#[test]
fn ios_stay_in_range() {
    let sizes = ["12KiB", "geometric:32KiB", "uniform:4KiB..512KiB", "4KiB:1+1MiB:1"];
    for kind in small_kinds() {
        for size in sizes {
            let spec =
                format!("{}?size={size}&alignment=4KiB&offset=8KiB&length=1030KiB", kind.name);
            let ios = ios(&spec, 20_000);
            let in_range = |io: &Io| {
                io.offset.0 >= 8192
                    && io.end() <= Bytes::kib(1038)
                    && io.offset.is_multiple_of(Bytes::kib(4))
                    && io.len.0 > 0
                    && io.len.is_multiple_of(Bytes(512))
            };
            assert!(ios.iter().all(in_range), "{spec}");
            // The offsets begin at the first aligned offset of the range.
            let first = ios.iter().map(|io| io.offset).min();
            assert_eq!(first, Some(Bytes::kib(8)), "{spec}");
        }
    }
}

#[test]
fn uniform_is_uniform() {
    assert_law(&histogram(&ios("uniform", 1_000_000)), |_| 1e-3);
}

// A sequential workload covers its range once before it starts over. It leaves out a remainder at
// the end that is shorter than an IO.
#[test]
fn sequential_covers_the_range() {
    let first = ios("sequential?size=8KiB", 1000);
    assert!(first.windows(2).take(499).all(|pair| pair[0].end() == pair[1].offset));
    assert_eq!(
        first[..500].iter().map(|io| io.offset).collect::<Vec<_>>(),
        first[500..].iter().map(|io| io.offset).collect::<Vec<_>>()
    );
    let uneven = ios("sequential?size=12KiB", 334);
    let reads = ios("sequential?op=read", 10);
    assert!(reads.iter().all(|io| io.op == Op::Read));
    assert_eq!((uneven[332].end(), uneven[333].offset), (Bytes::kib(3996), Bytes(0)));
}

// The hot part gets its share of IOs and of space, and both parts are uniform.
#[test]
fn hot_and_cold_shares() {
    let ios = ios("hotcold?hot_space=0.05&hot_writes=0.9&streams=true", 1_000_000);
    assert_law(&histogram(&ios), |page| if page < 50 { 0.9 / 50.0 } else { 0.1 / 950.0 });
    let hot = |io: &Io| io.offset < Bytes::kib(4 * 50);
    assert!(ios.iter().all(|io| io.stream == if hot(io) { 1 } else { 2 }));
}

#[test]
fn sizes_follow_their_law() {
    let uniform = sizes("uniform:8KiB..64KiB");
    assert_law(&uniform[2..=16], |_| 1.0 / 15.0);
    let mix = sizes("4KiB:7+64KiB:3");
    assert_law(&[mix[1], mix[16]], |i| [0.7, 0.3][i]);
}

/// Returns, for each number of 4 KiB pages, how many of half a million IOs have this size.
fn sizes(law: &str) -> Vec<f64> {
    let mut counts = vec![0.0; 1001];
    for io in ios(&format!("uniform?size={law}"), 500_000) {
        counts[usize::try_from(io.len.0 / 4096).unwrap()] += 1.0;
    }
    counts
}

// Each memoryless law has its distribution. The geometric law has exactly the requested mean; the
// exponential law has the requested mean before lengths are rounded up to pages, even if that mean
// is below a page.
#[test]
#[allow(clippy::cast_precision_loss)]
fn memoryless_sizes() {
    // The law, and the probability that a page is the last page of an IO.
    for (law, last) in [
        ("geometric:4KiB", 1.0),
        ("geometric:10KiB", 0.4),
        ("geometric:64KiB", 1.0 / 16.0),
        ("exponential:4KiB", 1.0 - (-1.0_f64).exp()),
        ("exponential:10KiB", 1.0 - (-0.4_f64).exp()),
        ("exponential:512", 1.0 - (-8.0_f64).exp()),
    ] {
        let counts = sizes(law);
        let pages = counts.iter().zip(0u32..).map(|(count, i)| count * f64::from(i)).sum::<f64>();
        let deviation = (1.0 - last).sqrt() / last / 5e5_f64.sqrt();
        assert!((pages / 5e5 - 1.0 / last).abs() <= 4.0 * deviation, "{law}: {}", pages / 5e5);
        // The classes that are large enough for the test; all others form one class.
        let probability = |i: usize| last * (1.0 - last).powi(i32::try_from(i).unwrap());
        let classes = (0..40).take_while(|i| probability(*i) * 5e5 > 50.0).count();
        let rest = counts[classes + 1..].iter().sum::<f64>();
        let tail = (1.0 - last).powi(i32::try_from(classes).unwrap());
        let mut found = counts[1..=classes].to_vec();
        if tail * 5e5 > 5.0 {
            found.push(rest);
        }
        let all = found.iter().sum::<f64>() / 5e5;
        if found.len() > 1 {
            assert_law(&found, |i| if i < classes { probability(i) / all } else { tail / all });
        }
    }
}

// Reads, trims and writes have their shares, trims hit only pages with data, and the share of live
// pages is that of Frankie's model, (1 − 2q)/(1 − q).
#[test]
#[allow(clippy::cast_precision_loss)]
fn operations_have_their_shares() {
    for (filled, reads) in [(true, 0.0), (false, 0.0), (true, 0.5)] {
        let q = 0.2;
        let spec = format!("uniform?reads={reads}&trims={}", q * (1.0 - reads));
        let mut stream = endless(&spec, &Target { filled, ..TARGET });
        let mut live = vec![filled; 1000];
        let (mut counts, mut live_pages) = ([0.0; 3], 0.0);
        for i in 0..400_000 {
            let io = stream.next(Nanos(0)).unwrap();
            let page = usize::try_from(io.offset.0 / 4096).unwrap();
            counts[usize::from(io.op.code())] += 1.0;
            match io.op {
                Op::Trim => assert!(std::mem::replace(&mut live[page], false), "a dead page"),
                Op::Write => live[page] = true,
                _ => {}
            }
            if i % 1000 == 999 && i >= 100_000 {
                live_pages += live.iter().filter(|live| **live).count() as f64 / 300.0;
            }
        }
        assert_law(&counts[usize::from(reads == 0.0)..], |i| match (reads == 0.0, i) {
            (true, 0) => 1.0 - q,
            (true, _) => q,
            (false, 0) => reads,
            (false, 1) => (1.0 - reads) * (1.0 - q),
            (false, _) => (1.0 - reads) * q,
        });
        let expected = 1000.0 * (1.0 - 2.0 * q) / (1.0 - q);
        assert!((live_pages - expected).abs() < 5.0, "{live_pages} live, not {expected}");
    }
}

// A trim of any size covers only pages with data. It starts anywhere in the data, and ends with the
// data or after the length of a write.
#[test]
#[allow(clippy::cast_precision_loss)]
fn trims_have_sizes() {
    let law = |share: usize| f64::from(u32::try_from(share).unwrap());
    for (filled, size) in [(true, "geometric:16KiB"), (false, "uniform:8KiB..32KiB")] {
        let spec = format!("uniform?trims=0.4&alignment=4KiB&size={size}");
        let mut stream = endless(&spec, &Target { filled, ..TARGET });
        let mut live = vec![filled; 1000];
        let (mut written, mut trimmed, mut cut) = ([0.0; 2], [0.0; 2], 0.0);
        for _ in 0..200_000 {
            let io = stream.next(Nanos(0)).unwrap();
            let [first, end] =
                [io.offset.0, io.end().0].map(|at| usize::try_from(at / 4096).unwrap());
            let counts = if io.op == Op::Trim { &mut trimmed } else { &mut written };
            *counts = [counts[0] + 1.0, counts[1] + law(end - first)];
            if io.op == Op::Trim {
                assert!(live[first..end].iter().all(|live| *live), "a dead page in {io:?}");
                cut += law(usize::from(end < 1000 && !live[end]));
            }
            live[first..end].fill(io.op == Op::Write);
        }
        assert!((trimmed[0] / 2e5 - 0.4).abs() < 0.005, "{trimmed:?}");
        // No trim is longer than a write, and trims at the end of the data are shorter.
        let [write, trim] = [written, trimmed].map(|[count, pages]| pages / count);
        assert!(trim < write && cut > 0.3 * trimmed[0], "{trim} after {write}, {cut} cut");
    }
}

// An open loop issues IOs at its rate, regardless of completions. A closed loop issues each IO when
// an earlier one completes.
#[test]
#[allow(clippy::cast_precision_loss)]
fn arrivals_follow_their_law() {
    // Standard deviations of a gap in units of its mean.
    for (law, deviation) in [("constant", 0.0), ("poisson", 1.0), ("uniform", 1.0 / 3f64.sqrt())] {
        let ios = ios(&format!("uniform?rate=30000&arrivals={law}"), 200_001);
        assert_eq!(ios[0].at, Nanos(0));
        let gaps: Vec<f64> =
            ios.windows(2).map(|pair| (pair[1].at - pair[0].at).0 as f64).collect();
        let (count, mean) = (gaps.len() as f64, 1e9 / 30_000.0);
        let found = gaps.iter().sum::<f64>() / count;
        assert!((found - mean).abs() <= 3.0 * deviation * mean / count.sqrt() + 1e-3, "{found}");
        let spread = (gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / count).sqrt();
        assert!((spread / mean - deviation).abs() < 0.01, "{law}: {spread}");
    }
    assert_eq!(ios("uniform", 3)[2].at, Nanos::micros(200));
}

// The same seed and spec give the same IOs, and another seed gives different IOs. A share of reads
// does not change the offsets.
#[test]
fn seeds_and_places() {
    let places = |spec: &str| -> Vec<u64> { ios(spec, 50).iter().map(|io| io.offset.0).collect() };
    for kind in ["uniform", "hotcold", "zipf"] {
        assert_eq!(places(kind), places(kind));
        assert_eq!(places(kind), places(&format!("{kind}?seed=2009")));
        assert_ne!(places(kind), places(&format!("{kind}?seed=1")));
        assert_eq!(places(kind), places(&format!("{kind}?reads=0.5")));
    }
}

// The workload contains the runs of a micro-benchmark, or of one of its experiments, that fit the
// drive.
#[test]
fn a_uflip_workload_has_the_runs_that_fit_the_drive() {
    let runs = |spec: &str| match open(spec, &TARGET).unwrap().ios {
        Ios::Runs(runs) => runs,
        _ => panic!("{spec} does not end"),
    };
    assert_eq!(runs("uflip:parallelism").len(), 20);
    let all = runs("uflip:granularity/RW?length=128KiB");
    assert!(all.len() > 5 && all.iter().all(|run| run.largest_io() <= Bytes::kib(128)));
    assert!(all.iter().all(|run| run.validate(Bytes::kib(128), Bytes(512)).is_ok()));
}

// Every wrong spec is refused with the problem and a remedy.
#[test]
fn wrong_specs() {
    let specs = [
        "unifrom",
        "uniform:x",
        "",
        "uniform?reeds=0.3",
        "uniform?reads",
        "uniform?reads=2",
        "uniform?reads=NaN",
        "uniform?op=erase",
        "uniform?op=read&reads=1",
        "uniform?size=",
        "uniform?size=0",
        "uniform?size=1000",
        "uniform?size=8MiB",
        "uniform?size=normal:4KiB",
        "uniform?size=uniform:4KiB",
        "uniform?size=uniform:64KiB..4KiB",
        "uniform?size=uniform:1KiB..64KiB",
        "uniform?size=geometric:1KiB",
        "uniform?size=4KiB:0+8KiB:1",
        "uniform?alignment=100",
        "uniform?offset=512",
        "uniform?offset=1GiB",
        "uniform?length=1GiB",
        "uniform?length=0",
        "uniform?trims=0.5",
        "uniform?trims=0.2&size=6KiB&alignment=4KiB",
        "uniform?rate=0",
        "uniform?arrivals=poisson",
        "uniform?rate=5&arrivals=normal",
        "uniform?queue_depth=0",
        "uniform?seed=-1",
        "hotcold?hot_space=0",
        "hotcold?hot_space=1",
        "hotcold?streams=yes",
        "zipf?exponent=0",
        "zipf?exponent=inf",
        "zipf?hot_space=0.1",
        "uflip",
        "uflip:granulrity",
        "uflip:order/XX",
        "uflip:order?reads=1",
        "uflip:order?length=512",
        "uflip:mix?size=0",
        "uflip:locality?size=1TiB",
        "uflip:order?offset=4000KiB",
        "uniform?size=exponential:1GiB",
        "uniform?size=geometric:1GiB",
        "tpcc",
        "tpcc?warehouses=0",
        "iozone?length=32KiB",
        "iozone?file=4MiB",
        "iozone?file=32KiB",
        "iozone?record=1KiB",
        "iozone?request=700",
        "iozone?offset=100",
        "postmark?files=5000",
        "postmark?smallest=20000",
        "postmark?largest=0",
        "postmark?largest=8MiB",
        "postmark?reads=often",
        "btree?page=1KB",
        "btree?page=1MiB&fanout=10",
        "btree?fanout=3",
        "btree?cache=1",
        "btree?cache=0.001",
        "btree?exponent=2",
        "btree?commit=5",
        "btree?log=3KiB",
        "btree?log=3MiB",
        "btree?lookups=2",
        "btree?reads=0.5",
        "lsm",
        "lsm?table=1KiB",
        "lsm?table=64KiB&memtable=100KiB",
        "lsm?table=64KiB&memtable=128KiB&ratio=1",
        "lsm?table=64KiB&memtable=128KiB&lookups=1",
        "lsm?table=64KiB&memtable=128KiB&lookup=128KiB",
        "lsm?size=4KiB",
        "lsm?table=64KiB&memtable=128KiB&hints=rocks",
    ];
    let mut text = String::new();
    for spec in specs {
        writeln!(text, "{spec}\n    {}", refused(spec)).unwrap();
    }
    insta::assert_snapshot!("wrong_specs", text);
}

/// Field values at the limits of the valid ranges, and beyond them.
const VALUES: [&str; 32] = [
    "2",
    "0.1",
    "100",
    "10000",
    "8KiB",
    "64KiB",
    "0",
    "1",
    "0.5",
    "-1",
    "1e-300",
    "1e300",
    "inf",
    "NaN",
    "512",
    "4KiB",
    "1MiB",
    "4000KiB",
    "18446744073709551615",
    "16383PiB",
    "exponential:4KiB",
    "exponential:1",
    "geometric:8KiB",
    "exponential:18446744073709551615",
    "uniform:512..4000KiB",
    "uniform:0..0",
    "4KiB:1e300+512:1e300",
    "4KiB:1e-300+4000KiB:1",
    ":",
    "true",
    "poisson",
    "",
];

proptest! {
    // Every spec is either refused or a workload whose IOs the drive can execute, without a panic.
    #[test]
    fn any_spec_is_refused_or_works(
        name in select(vec![
            "uniform", "sequential", "hotcold", "zipf", "exchange", "tpcc", "iozone", "postmark",
            "btree", "lsm", "uflip:mix", "uflip:order",
        ]),
        large in any::<bool>(),
        fields in prop::collection::vec((any::<prop::sample::Index>(), select(&VALUES[..])), 0..5),
    ) {
        let kind = KINDS.iter().find(|kind| name.starts_with(kind.name)).unwrap();
        let names: Vec<_> = kind.all_fields().map(|field| field.name).collect();
        let fields = fields.iter().map(|(index, value)| format!("{}={value}&", index.get(&names)));
        let spec = format!("{name}?{}", fields.collect::<String>());
        let target = if large { LARGE } else { TARGET };
        match open(&spec, &target).map(|workload| workload.ios) {
            Ok(Ios::Endless(stream)) => works(stream, &target),
            Ok(Ios::Application(stream)) => works(stream, &target),
            Ok(Ios::Runs(runs)) => for run in runs {
                prop_assert_eq!(run.validate(target.capacity, target.logical_block), Ok(()));
            },
            // The file of a trace is read only when the trace is played.
            Ok(Ios::Trace(playback)) => prop_assert_eq!(playback.capacity, target.capacity),
            Err(error) => prop_assert!(!error.to_string().is_empty()),
        }
    }
}

/// Asserts that a drive can execute the first IOs.
fn works(mut stream: impl Stream, target: &Target) {
    for _ in 0..500 {
        let io = stream.next(Nanos(5)).unwrap();
        let fits = io.end() <= target.capacity && io.len.0 > 0;
        let aligned = io.offset.is_multiple_of(target.logical_block);
        assert!(fits && aligned && io.len.is_multiple_of(target.logical_block), "{io:?}");
    }
}

// Workloads that store state for each page or block refuse a drive with too many of them, instead
// of allocating the memory.
#[test]
fn workloads_that_remember_places_refuse_drives_with_too_many() {
    let target = Target { capacity: Bytes((MAX_PLACES + 1) * 4096), ..TARGET };
    let specs = ["uniform?size=4KiB&reads=0.3&trims=0.1", "btree?page=4KiB&log=0", "postmark"];
    for spec in specs {
        let refusal = refused_on(&target, spec);
        assert!(refusal.contains(&MAX_PLACES.to_string()), "{spec}: {refusal}");
    }
    // A larger unit, or a shorter range, makes the same drive small enough.
    open("uniform?size=1MiB&alignment=1MiB&reads=0.3&trims=0.1", &target).unwrap();
    open("postmark?length=64MiB", &target).unwrap();
}
