use flashscope_block::Data;
use flashscope_model::greedy;
use flashscope_sim::Profile;

use super::PAGE;
use crate::test_bed::TestBed;
use crate::{
    Axis, Claim, Error, Figure, Input, Item, Outcome, Paper, Run, Series, State, Tolerance,
};

/// Section 5.2.
pub(crate) const SECTION_5_2: Item = Item {
    id: "agrawal-section5.2",
    paper: Paper::Agrawal,
    place: "Section 5.2",
    title: "\"a disk that is half full will have twice the cleaning efficiency of a full disk\"",
    expected: State::PrintWrong,
    inputs: &[Input {
        name: "spare",
        summary: "the spare share of pages (section 4.3)",
        value: "0.15",
        other: "0.25",
    }],
    run,
};

/// Blocks in use, and blocks that always remain free.
const USED: u32 = 2048;
const RESERVE: u32 = 2;

const BLOCK: u32 = 64;

/// The number of times that the drive is overwritten, before and during the count.
const TIMES: u64 = 6;

fn drive(spare: f64, run: &Run<'_>) -> Result<Profile, Error> {
    run.check_interrupt()?;
    let mut profile = flashscope_sim::setup::parse(
        "agrawal-2008?flash.packages=1&flash.dies_per_package=1&flash.planes_per_die=1&persistence.map=nv-ram&timed=false",
    )
    .map_err(|error| Error::input("spare", &error))?;
    profile.flash.blocks_per_plane = USED + RESERVE;
    profile.cleaning.free_threshold = f64::from(RESERVE) / f64::from(USED + RESERVE);
    profile.over_provisioning = 1.0 - (1.0 - spare) * f64::from(USED) / f64::from(USED + RESERVE);
    Ok(profile)
}

/// Returns the cleaning efficiency in the steady state of random writes to every `step`th page.
fn efficiency(bed: &mut TestBed, step: u64, run: &Run<'_>) -> Result<f64, Error> {
    let pages = bed.capacity() / PAGE / step;
    let mut random = fastrand::Rng::with_seed(52);
    let mut overwrite = |bed: &mut TestBed| -> Result<(), Error> {
        for write in 0..TIMES * pages {
            if write.is_multiple_of(1 << 16) {
                run.check_interrupt()?;
            }
            bed.write(Data::Random, random.u64(..pages) * step * PAGE)?;
        }
        Ok(())
    };
    overwrite(bed)?;
    let before = bed.drive.counters();
    overwrite(bed)?;
    bed.drive.counters().since(&before).cleaning_efficiency(BLOCK).ok_or(Error::Failed)
}

/// Returns the efficiency of a full and of a half-full drive by the closed form.
fn closed_form(spare: f64) -> [f64; 2] {
    [1.0, 0.5].map(|full| {
        1.0 / greedy::write_amplification(1.0 / ((1.0 - spare) * full), f64::from(BLOCK))
    })
}

fn run(run: &Run<'_>) -> Result<Outcome, Error> {
    let spare: f64 = run.number("spare")?;
    if !(0.02..0.9).contains(&spare) {
        return Err(Error::input("spare", &"must be a share from 0.02 to 0.9"));
    }
    let mut bed = TestBed::filled(&drive(spare, run)?, Data::Random)?;
    let full = efficiency(&mut bed, 1, run)?;
    let pages = bed.capacity() / PAGE;
    for page in (1..pages).step_by(2) {
        bed.trim(page * PAGE)?;
    }
    let half = efficiency(&mut bed, 2, run)?;
    let [expected_full, expected_half] = closed_form(spare);
    let ratio = Claim::within(
        ("ratio of the cleaning efficiencies, half full to full", ""),
        2.0,
        half / full,
        0.05,
    );
    let curve = |nth: u32| {
        let spare = 0.02 * f64::from(nth);
        let [full, half] = closed_form(spare);
        [spare, half / full]
    };
    let figure = Figure {
        title: "Cleaning efficiency of a half-full drive relative to a full one".into(),
        x: Axis::linear("spare share of pages"),
        y: Axis::linear("ratio"),
        series: vec![
            Series::line("closed form, greedy, 64 pages a block", (2..=25).map(curve).collect()),
            Series::dots("simulated", vec![[spare, half / full]]),
            Series::printed("printed", vec![[spare, 2.0]]),
        ],
    };
    let claims = vec![
        ratio.print_wrong_by(
            expected_half / expected_full,
            Tolerance::Share(0.01),
            "the ratio is 2 if 25.1 % of all pages are spare; with the paper's own 15 % it is 3, by \
                        the closed form and by simulation: .298 full and .881 half full",
        ),
        Claim::within(("full, simulation against closed form", ""), expected_full, full, 0.005),
        Claim::within(("half full, simulation against closed form", ""), expected_half, half, 0.005),
    ];
    Ok(Outcome { claims, figures: vec![figure] })
}
