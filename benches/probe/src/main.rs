//! Probes random simulated drives and says how often it was right.

use std::io::{Write, stderr, stdout};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use clap::Parser;
use flashscope_block::{Bytes, Device, Nanos};
use flashscope_probe::{
    Budget, Event, Investigation, Knowledge, Lab, PARAMETERS, Parameter, investigate,
};
use flashscope_probe_bench::drives::{Drawn, draw};
use flashscope_probe_bench::noise::{Noise, Noisy};
use flashscope_probe_bench::score::{
    Judged, Tally, Verdict, calibration, calibration_error, judge, tallies,
};

/// Probes random simulated drives and says how often it was right.
#[derive(Parser)]
struct Args {
    /// How many drives
    #[arg(long, default_value_t = 300)]
    drives: u64,
    /// The first of their seeds
    #[arg(long, default_value_t = 0)]
    first: u64,
    /// The deviation of response times, as a share of them
    #[arg(long, default_value_t = 0.02)]
    noise: f64,
    /// Parameters to look for, separated by commas; all if none is given
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// How many drives at once
    #[arg(long, default_value_t = 2)]
    jobs: usize,
    /// Print every wrong answer and every drive's spec
    #[arg(long)]
    verbose: bool,
    /// Print what was found of each drive
    #[arg(long)]
    findings: bool,
    /// Takes what `cargo bench` adds
    #[arg(long, hide = true)]
    bench: bool,
}

/// What came of one drive.
struct Probed {
    drawn: Drawn,
    judged: Vec<Judged>,
    drive_writes: f64,
}

fn main() {
    let args = Args::parse();
    let wanted: Vec<Parameter> = PARAMETERS
        .iter()
        .filter(|spec| args.only.iter().any(|name| name == spec.name))
        .map(|spec| spec.parameter)
        .collect();
    let (next, done) = (AtomicU64::new(args.first), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..args.jobs {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= args.first + args.drives {
                        break;
                    }
                    let probed = probe(seed, &args, &wanted);
                    done.lock().expect("no other thread panicked").push((seed, probed));
                }
            });
        }
    });
    let mut done = done.into_inner().expect("no thread panicked");
    done.sort_by_key(|(seed, _)| *seed);
    report(&args, &done, &wanted);
}

fn probe(seed: u64, args: &Args, wanted: &[Parameter]) -> Probed {
    let drawn = draw(seed);
    let drive = flashscope_sim::open(&drawn.spec).unwrap_or_else(|e| panic!("{}: {e}", drawn.spec));
    let hiccup_every = if args.noise > 0.0 { Nanos::secs(1) } else { Nanos(0) };
    let noise = Noise { deviation: args.noise, hiccup_every, hiccup: Nanos::millis(20) };
    let mut noisy = Noisy::new(drive, noise, seed);
    let capacity = noisy.info().capacity;
    let budget = Budget { bytes: Bytes(10 * capacity.0), time: Nanos::secs(24 * 3600) };
    let stop = AtomicBool::new(false);
    let mut keep = |_: &_| {};
    let mut lab = Lab::new(&mut noisy, budget, seed, &stop, &mut keep);
    let mut tell = |event: &Event<'_>| tell(args, seed, event);
    let how = &mut Investigation { wanted, tell: &mut tell };
    let (knowledge, halt) = investigate(&mut lab, how);
    assert_eq!(halt, None, "{}", drawn.spec);
    #[allow(clippy::cast_precision_loss)]
    let drive_writes = lab.used().bytes.0 as f64 / capacity.0 as f64;
    let judged = judge(&drawn, &asked(&knowledge, wanted));
    Probed { drawn, judged, drive_writes }
}

/// What was asked for, of what is known.
fn asked(knowledge: &Knowledge, wanted: &[Parameter]) -> Knowledge {
    let mut asked = Knowledge::default();
    let all = knowledge.findings().filter(|f| wanted.is_empty() || wanted.contains(&f.parameter));
    all.for_each(|finding| asked.take(finding.clone()));
    asked
}

fn tell(args: &Args, seed: u64, event: &Event<'_>) {
    if !args.findings {
        return;
    }
    let mut out = stderr().lock();
    let _ = match event {
        Event::Begins { probe, attempt } => writeln!(out, "{seed}: {} ({attempt})", probe.name),
        Event::Found(finding) => writeln!(
            out,
            "{seed}:   {} {:?} {:.2}: {}",
            finding.parameter.name(),
            finding.answer,
            finding.probability,
            finding.because
        ),
        Event::Contradicted { probe, contradiction } => {
            writeln!(out, "{seed}: {} contradicts {contradiction:?}", probe.name)
        }
    };
}

fn report(args: &Args, done: &[(u64, Probed)], wanted: &[Parameter]) {
    let judged: Vec<Judged> = done.iter().flat_map(|(_, probed)| probed.judged.clone()).collect();
    let mut out = stdout().lock();
    let mut line = |text: String| writeln!(out, "{text}").expect("standard output is open");
    if args.verbose {
        for (seed, probed) in done {
            let wrong: Vec<_> =
                probed.judged.iter().filter(|judged| judged.verdict != Verdict::Right).collect();
            if wrong.is_empty() {
                continue;
            }
            line(format!("{seed}: sim:{}", probed.drawn.spec));
            for judged in wrong {
                line(format!(
                    "    {:?} {}: {}",
                    judged.verdict,
                    judged.parameter.name(),
                    judged.said
                ));
            }
        }
    }
    line(format!(
        "{:<20} {:>6} {:>6} {:>6} {:>9} {:>9}",
        "parameter", "right", "wrong", "have", "accuracy", "abstains"
    ));
    let row = |name: &str, t: &Tally| {
        let (accuracy, abstention) = (100.0 * t.accuracy(), 100.0 * t.abstention());
        format!(
            "{name:<20} {:>6} {:>6} {:>6} {accuracy:>8.1}% {abstention:>8.1}%",
            t.right, t.wrong, t.have
        )
    };
    let mut all = Tally::default();
    judged.iter().for_each(|judged| all.count(judged));
    for (parameter, tally) in tallies(&judged) {
        if wanted.is_empty() || wanted.contains(&parameter) {
            line(row(parameter.name(), &tally));
        }
    }
    line(row("all", &all));
    let bins = calibration(&judged);
    for bin in bins.iter().filter(|bin| bin.count > 0) {
        line(format!("stated {:.3}: right {:.3} of {}", bin.stated, bin.right, bin.count));
    }
    let most = done.iter().map(|(_, probed)| probed.drive_writes).fold(0.0, f64::max);
    line(format!(
        "expected calibration error {:.3}; at most {most:.1} drive-writes",
        calibration_error(&bins)
    ));
}
