use flashscope_model::{Prediction, Uniform, bast, fast, fast_refined};
use flashscope_predict::{Access, Request, SimulatedDrive};
use flashscope_sim::Profile;

use super::writes::Writes;
use crate::{
    Axis, Claim, Error, Figure, Input, Item, Outcome, Paper, Run, Series, State, Tolerance,
};

/// Figure 2, in section III.
pub(crate) const FIGURE_2: Item = Item {
    id: "boboila-figure2",
    paper: Paper::Boboila,
    place: "Figure 2",
    title: "the analytic model compared with a simulation, uniform writes",
    expected: State::PrintWrong,
    inputs: &[
        Input {
            name: "drive",
            summary: "the simulated drive; its FTL is replaced by each FTL in turn",
            value: "flashsim-2009",
            other: "flashsim-2009?log.blocks=300",
        },
        Input {
            name: "lengths",
            summary: "mean write lengths, pages",
            value: "1 4 16 64 256 1024",
            other: "2 32",
        },
    ],
    run,
};

/// The tolerance between equations and simulation. The paper shows the accuracy in a figure without
/// numbers.
const CLOSE: f64 = 0.06;

const APPROXIMATE: &str = "equation 1 counts a head for each write and equation 13 omits the tails, which matters for short writes; \
                          a derivation with both corrections agrees with the simulation";

/// The pages written before counting begins, unless a quarter of `ERASURES` comes first; and the
/// least number of erasures to count.
const WARM_UP: u64 = 150_000;
const ERASURES: f64 = 20_000.0;

type Model = fn(&Uniform) -> Prediction;

fn run(run: &Run<'_>) -> Result<Outcome, Error> {
    let profile = run.profile("drive")?;
    let lengths = run.inputs.get("lengths").split_whitespace();
    let lengths = lengths.map(|text| text.parse().map_err(|error| Error::input("lengths", &error)));
    let lengths = lengths.collect::<Result<Vec<f64>, Error>>()?;
    let (mut claims, mut series) = (Vec::new(), Vec::new());
    for (name, ftl, model) in
        [("Hybrid Log Block", "bast", bast::predict as Model), ("FAST", "fast", fast::predict)]
    {
        let profile = Profile { ftl: ftl.into(), ..profile.clone() };
        let drive = Drive::of(&profile)?;
        let mut points = Vec::new();
        for w in &lengths {
            let uniform = drive.uniform(*w)?;
            let r = |model: Model| model(&uniform).equivalent_throughput(drive.block);
            let simulated = simulate(&profile, &drive, *w, run)?;
            let claim =
                Claim::within((format!("r, {name}, w = {w}"), ""), r(model), simulated, CLOSE);
            claims.push(match ftl {
                "fast" => claim.print_wrong_by(
                    r(fast_refined::predict),
                    Tolerance::Share(CLOSE),
                    APPROXIMATE,
                ),
                _ => claim,
            });
            points.push([*w, simulated]);
        }
        let curve = (0..=45).map(|nth| 2f64.powf(f64::from(nth) / 4.0));
        let curve =
            curve.map(|w| Ok([w, model(&drive.uniform(w)?).equivalent_throughput(drive.block)]));
        series.push(Series::printed_line(name, curve.collect::<Result<_, Error>>()?));
        series.push(Series::dots(name, points));
    }
    let figure = Figure {
        title: "Equivalent throughput r = N_min / N_obs of uniform writes: simulated, and by the printed equations".into(),
        x: Axis::log("mean write length (pages)"),
        y: Axis::linear("r"),
        series,
    };
    Ok(Outcome { claims, figures: vec![figure] })
}

/// The parameters of a drive in the equations.
struct Drive {
    pages: u64,
    block: f64,
    free: f64,
}

impl Drive {
    #[allow(clippy::cast_precision_loss, reason = "a small drive is far below 2^53 pages")]
    fn of(profile: &Profile) -> Result<Drive, Error> {
        let layout = profile.layout().map_err(|error| Error::input("drive", &error))?;
        let (pages, block) =
            (u64::from(layout.logical_pages()), f64::from(profile.flash.pages_per_block));
        Ok(Drive { pages, block, free: f64::from(profile.log.blocks) * block / pages as f64 })
    }

    #[allow(clippy::cast_precision_loss, reason = "a small drive is far below 2^53 pages")]
    fn uniform(&self, w: f64) -> Result<Uniform, Error> {
        Uniform::new(self.block, self.pages as f64 / self.block, self.free, w)
            .map_err(|error| Error::input("lengths", &error))
    }
}

/// Returns the equivalent throughput of a simulated drive under uniform writes with geometric
/// lengths.
#[allow(clippy::cast_precision_loss, reason = "counts are below 2^53")]
fn simulate(profile: &Profile, drive: &Drive, w: f64, run: &Run<'_>) -> Result<f64, Error> {
    let mut simulated =
        SimulatedDrive::new(profile).map_err(|error| Error::input("drive", &error))?;
    let mut writes = Writes::new(drive.pages, w);
    let erasures = if run.full { 10.0 * ERASURES } else { ERASURES };
    let filled = simulated.total().0;
    let mut begun = None;
    loop {
        for (page, pages) in writes.by_ref().take(64) {
            Request::new(Access::Write, page, pages)
                .into_iter()
                .for_each(|write| simulated.request(write));
        }
        run.check_interrupt()?;
        let (now, _) = simulated.total();
        let turned =
            now.pages - filled.pages >= WARM_UP || now.erasures - filled.erasures >= ERASURES / 4.0;
        match begun {
            None if turned => begun = Some(now),
            Some(begun) if now.erasures - begun.erasures >= erasures => {
                return Ok((now.pages - begun.pages) as f64
                    / drive.block
                    / (now.erasures - begun.erasures));
            }
            _ => {}
        }
    }
}
