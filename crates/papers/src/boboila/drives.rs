use flashscope_predict::drawn::{EIGHT, Traits};

use super::predictions::FREES;
use super::workloads::{Drive, NOT_PUBLIC, by_workload, name_of};
use crate::times::{median, range};
use crate::{Axis, Claim, Error, Figure, Found, Input, Item, Paper, Run, Series, State};

/// Section IV.
pub const FIGURE_4: Item = Item {
    id: "boboila-figure4",
    paper: Paper::Boboila,
    place: "Figure 4",
    title: "predictions from measurements of two drives, against what they do",
    stands: State::Explained,
    inputs: &[
        Input {
            name: "kingston",
            summary: "a simulated drive that stands for the first, which behaves as FAST",
            value: "flashsim-2009?ftl=fast&flash.blocks_per_plane=2048&log.blocks=142&persistence.map=nv-ram",
            other: "flashsim-2009?ftl=fast&flash.blocks_per_plane=2048&log.blocks=142&persistence.map=nv-ram&flash.block_erase=20ms",
        },
        Input {
            name: "plextor",
            summary: "a simulated drive that stands for the second: of larger blocks",
            value: "flashsim-2009?ftl=fast&flash.pages_per_block=128&flash.blocks_per_plane=1024&log.blocks=70&persistence.map=nv-ram",
            other: "flashsim-2009?ftl=fast&flash.pages_per_block=128&flash.blocks_per_plane=1024&log.blocks=70&persistence.map=nv-ram&flash.page_program=900us",
        },
    ],
    run,
};

/// Mean lengths of the writes that are measured, pages.
const LENS: [f64; 5] = [1.0, 4.0, 16.0, 64.0, 256.0];

/// A prediction that is off by no more corresponds well.
const GOOD: f64 = 0.3;

/// Cases that the paper has off, of sixteen.
const OFF: usize = 2;

/// What a workload comes to, MB of 10^6 bytes a second.
struct Case {
    workload: &'static str,
    measured: f64,
    predicted: f64,
    /// How far the prediction is off with every place drawn anew in a dense space, where it is off.
    anew: f64,
}

impl Case {
    fn off(&self) -> f64 {
        self.predicted / self.measured - 1.0
    }

    fn is_good(&self) -> bool {
        self.off().abs() <= GOOD
    }
}

fn run(run: &Run<'_>) -> Result<Found, Error> {
    let (mut all, mut figures, mut told) = (Vec::new(), Vec::new(), Vec::new());
    for name in ["kingston", "plextor"] {
        let found = cases(name, run)?;
        let off = found.iter().filter(|case| !case.is_good());
        told.extend(off.map(|case| {
            let [off, anew] = [case.off(), case.anew].map(|off| 100.0 * off);
            format!(
                "{} on {name} ({off:+.0} %; with places drawn anew {anew:+.0} %)",
                case.workload
            )
        }));
        figures.push(figure(name, &found));
        all.extend(found);
    }
    let good = all.iter().filter(|case| case.is_good()).count();
    let [least, most] = range(all.iter().map(|case| case.measured));
    let median = median(&all.iter().map(|case| case.off().abs()).collect::<Vec<_>>());
    let claims = vec![
        Claim::statement(
            "In all but two cases (dea2 for Plextor, proj2 for Kingston) good correspondence between predicted and measured \
             throughput was observed",
            format!("{good} of {} within 30 %; not {}", all.len(), told.join(", ")),
            all.len() - good <= OFF,
        )
        .since(all.iter().all(|case| case.is_good() || case.anew.abs() <= GOOD), WHY),
        Claim::statement(
            "a black-box prediction based on a very general model of FTL behavior results is fairly accurate for a considerable \
             number of cases, spanning a wide range of performance",
            format!("{least:.2} to {most:.2} MB/s measured; half of the cases are within {:.0} %", 100.0 * median),
            most > 5.0 * least && median < GOOD / 2.0,
        )
        .since(false, NOT_PUBLIC),
    ];
    Ok(Found { claims, figures })
}

const WHY: &str = "where many writes begin on boundaries of blocks, FAST begins a log block anew for each, which uniform writes do not \
                   show; where they are spread over the whole drive, a stretch of time as long as the log list has one write \
                   or none for most blocks, and shares of so few say little. With the same lengths but every place drawn anew, in at most \
                   twice the space of the log blocks, those that are off are within 30 %. Which workloads these are is a \
                   matter of the traces, which are not public";

/// Twice the pages of the log blocks of the paper's drive.
const DENSE: u64 = 2 * 17_202 * 64;

/// What all eight come to on a drive, and what is predicted from uniform writes that were measured on it.
fn cases(name: &'static str, run: &Run<'_>) -> Result<Vec<Case>, Error> {
    let profile = run.profile(name)?;
    let drive = Drive::of(&profile, &profile.ftl)?;
    let points = drive.measure(&LENS, &FREES, run)?;
    let mega = |pages: f64| {
        #[allow(clippy::cast_precision_loss, reason = "bytes of a page")]
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
        let mut case = Case { workload: name_of(traits), measured, predicted, anew: 0.0 };
        if !case.is_good() {
            let [measured, predicted] =
                rates(&Traits { space: traits.space.min(DENSE), ..traits.anew() })?;
            case.anew = predicted / measured - 1.0;
        }
        Ok(case)
    };
    EIGHT.iter().map(case).collect()
}

fn figure(name: &str, found: &[Case]) -> Figure {
    let rates: Vec<_> = found.iter().map(|case| [case.measured, case.predicted]).collect();
    Figure {
        title: format!("The drive that stands for the one of {name}: write throughput"),
        x: by_workload(),
        y: Axis::log("write throughput (MB/s)"),
        series: Series::bars_by_kind(["measured", "predicted"], &rates),
    }
}
