use flashscope_predict::drawn::{EIGHT, Traits};

use super::predictions::FREES;
use super::workloads::{Drive, NOT_PUBLIC, by_workload, name_of};
use crate::times::{median, range};
use crate::{Axis, Claim, Error, Figure, Input, Item, Outcome, Paper, Run, Series, State};

/// Figure 4, in section IV.
pub(crate) const FIGURE_4: Item = Item {
    id: "boboila-figure4",
    paper: Paper::Boboila,
    place: "Figure 4",
    title: "predictions from measurements of two drives, compared with their throughput, for workloads in place of the traces",
    expected: State::NotReproduced,
    inputs: &[
        Input {
            name: "kingston",
            summary: "a simulated drive in place of the paper's Kingston, which behaves like FAST",
            value: "flashsim-2009?ftl=fast&flash.blocks_per_plane=2048&log.blocks=142&persistence.map=nv-ram",
            other: "flashsim-2009?ftl=fast&flash.blocks_per_plane=2048&log.blocks=142&persistence.map=nv-ram&flash.block_erase=20ms",
        },
        Input {
            name: "plextor",
            summary: "a simulated drive in place of the paper's Plextor, with larger blocks",
            value: "flashsim-2009?ftl=fast&flash.pages_per_block=128&flash.blocks_per_plane=1024&log.blocks=70&persistence.map=nv-ram",
            other: "flashsim-2009?ftl=fast&flash.pages_per_block=128&flash.blocks_per_plane=1024&log.blocks=70&persistence.map=nv-ram&flash.page_program=900us",
        },
    ],
    run,
};

/// The mean lengths of the measured writes, in pages.
const LENS: [f64; 5] = [1.0, 4.0, 16.0, 64.0, 256.0];

/// The largest relative error of a good prediction.
const GOOD: f64 = 0.3;

/// The number of bad predictions in the paper, out of sixteen.
const OFF: usize = 2;

/// A workload on a drive, with throughputs in MB (10^6 bytes) per second.
struct Case {
    workload: &'static str,
    measured: f64,
    predicted: f64,
    /// The relative error with independent random addresses in a dense space; computed only for a
    /// bad prediction.
    independent: f64,
}

impl Case {
    /// Returns the relative error of the prediction.
    fn error(&self) -> f64 {
        self.predicted / self.measured - 1.0
    }

    fn is_good(&self) -> bool {
        self.error().abs() <= GOOD
    }
}

fn run(run: &Run<'_>) -> Result<Outcome, Error> {
    let (mut all, mut figures, mut bad) = (Vec::new(), Vec::new(), Vec::new());
    for name in ["kingston", "plextor"] {
        let cases = cases(name, run)?;
        let off = cases.iter().filter(|case| !case.is_good());
        bad.extend(off.map(|case| {
            let [error, independent] = [case.error(), case.independent].map(|off| 100.0 * off);
            format!(
                "{} on {name} ({error:+.0} %; with independent addresses {independent:+.0} %)",
                case.workload
            )
        }));
        figures.push(figure(name, &cases));
        all.extend(cases);
    }
    let good = all.iter().filter(|case| case.is_good()).count();
    let [least, most] = range(all.iter().map(|case| case.measured));
    let median = median(&all.iter().map(|case| case.error().abs()).collect::<Vec<_>>());
    let claims = vec![
        Claim::statement(
            "In all but two cases (dea2 for Plextor, proj2 for Kingston) good correspondence between predicted and measured \
             throughput was observed",
            format!("{good} of {} within 30 %; not {}", all.len(), bad.join(", ")),
            all.len() - good <= OFF,
        )
        .not_reproduced_if(all.iter().all(|case| case.is_good() || case.independent.abs() <= GOOD), WHY)
        .on_substitute(NOT_PUBLIC),
        Claim::statement(
            "a black-box prediction based on a very general model of FTL behavior results is fairly accurate for a considerable \
             number of cases, spanning a wide range of performance",
            format!("{least:.2} to {most:.2} MB/s measured; the median error is {:.0} %", 100.0 * median),
            most > 5.0 * least && median < GOOD / 2.0,
        )
        .on_substitute(NOT_PUBLIC),
    ];
    Ok(Outcome { claims, figures })
}

const WHY: &str = "if many writes begin on block boundaries, FAST starts a new log block for each, which the measured uniform writes do not \
                  show. If writes are spread over the whole drive, most blocks get at most one write in an interval as long as \
                  the log list, and such small shares predict little. With the same lengths but independent addresses, in at most \
                  twice the space of the log blocks, the bad predictions come within 30 %. The affected workloads depend on \
                  the traces, which are not public";

/// Twice the pages of the log blocks on the paper's drive.
const DENSE: u64 = 2 * 17_202 * 64;

/// Measures all eight workloads on a drive, and predicts them from uniform writes measured on it.
fn cases(name: &'static str, run: &Run<'_>) -> Result<Vec<Case>, Error> {
    let profile = run.profile(name)?;
    let drive = Drive::of(&profile, &profile.ftl)?;
    let points = drive.measure(&LENS, &FREES, run)?;
    let mega = |pages: f64| {
        #[allow(clippy::cast_precision_loss, reason = "a page is far below 2^53 bytes")]
        let bytes = profile.flash.page_size.0 as f64;
        pages * bytes / 1e6
    };
    let rates = |traits: &Traits| {
        let mut simulation = drive.simulate(traits, run)?;
        let cost = drive.interpolate(&points, &mut simulation)?;
        #[allow(clippy::cast_precision_loss, reason = "pages are below 2^53")]
        let predicted = cost.pages as f64 / cost.nanos * 1e9;
        Ok::<_, Error>([simulation.pages_per_second(), predicted].map(mega))
    };
    let case = |traits: &Traits| {
        let [measured, predicted] = rates(traits)?;
        let mut case = Case { workload: name_of(traits), measured, predicted, independent: 0.0 };
        if !case.is_good() {
            let [measured, predicted] = rates(&Traits {
                space: traits.space.min(DENSE),
                ..traits.with_independent_addresses()
            })?;
            case.independent = predicted / measured - 1.0;
        }
        Ok(case)
    };
    EIGHT.iter().map(case).collect()
}

fn figure(name: &str, cases: &[Case]) -> Figure {
    let rates: Vec<_> = cases.iter().map(|case| [case.measured, case.predicted]).collect();
    Figure {
        title: format!("Write throughput of the drive in place of {name}"),
        x: by_workload(),
        y: Axis::log("write throughput (MB/s)"),
        series: Series::bars_by_kind(["measured", "predicted"], &rates),
    }
}
