use flashscope_document::facts::{Facts, Judgement};

use super::bench::{Method, measure};
use super::{DTI, MEMORIGHT, SAMSUNG, SEED};
use crate::{Claim, Error, Found, Input, Item, Paper, Run, State};

/// Section 5.3, and the other results of section 5.2.
pub const HINTS: Item = Item {
    id: "uflip-hints",
    paper: Paper::Uflip,
    place: "Section 5.3",
    title: "the seven design hints",
    stands: State::Explained,
    inputs: &[
        MEMORIGHT,
        SAMSUNG,
        Input { other: "mtron", ..DTI },
        // Nearly all seeds give the same judgements: one that does not.
        Input { other: "13", ..SEED },
    ],
    run,
};

/// A drive of each kind, and whether it is a high-end one.
const DRIVES: [(&str, bool); 3] =
    [(MEMORIGHT.name, true), (SAMSUNG.name, false), (DTI.name, false)];

/// What a drive with parallel IOs takes in flight.
const DEPTH: u32 = 16;

const UNSURE: &str = "the intervals of what was measured hold both answers: of the seven drives some are said to be without the hint, and longer \
                      runs (--full) decide more";

/// The hints in the words of the paper, and of which drives they are said.
const HINTS_OF: [(&str, Of); 7] = [
    ("1: Flash devices do incur latency", Of::All),
    (
        "2: Block size should (currently) be 32KB, a good trade-off for the high-end devices",
        Of::HighEnd,
    ),
    ("3: Blocks should be aligned to flash pages", Of::Some),
    ("4: Random writes should be limited to a focused area, for most devices", Of::Most),
    ("5: Sequential writes should be limited to a few partitions", Of::All),
    ("6: Combining a limited number of patterns is acceptable", Of::Most),
    ("7: Neither concurrent nor delayed IOs improve the performance", Of::Most),
];

/// Of how many drives something is said.
#[derive(Clone, Copy)]
enum Of {
    All,
    Most,
    Some,
    HighEnd,
}

/// A drive that was measured, by its name, and whether it is a high-end one.
type Judged = (&'static str, bool, Facts);

fn run(run: &Run<'_>) -> Result<Found, Error> {
    let method = Method { queue_depth: DEPTH, ..Method::few(run) };
    let mut all: Vec<Judged> = Vec::new();
    for (drive, high_end) in DRIVES {
        let found = measure(drive, method, |_, _, _| true, run)?;
        all.push((drive, high_end, found.facts));
    }
    Ok((0..)
        .zip(HINTS_OF)
        .map(|(nth, (said, of))| hint(nth, said, of, &all))
        .collect::<Vec<_>>()
        .into())
}

/// How a hint stands with the drives.
fn hint(nth: usize, said: &str, of: Of, all: &[Judged]) -> Claim {
    let judged = |facts: &Facts| facts.hints[nth].judgement;
    let holds = |(_, _, facts): &&Judged| {
        matches!(judged(facts), Judgement::Holds | Judgement::HoldsInPart)
    };
    let count = all.iter().filter(holds).count();
    let so = match of {
        Of::All => count == all.len(),
        Of::Most => 2 * count > all.len(),
        Of::Some => count > 0,
        Of::HighEnd => all.iter().filter(|(_, high_end, _)| *high_end).all(|drive| holds(&drive)),
    };
    let told = all.iter().map(|(drive, _, facts)| format!("{drive} {}", word(judged(facts))));
    let is = |wanted| all.iter().filter(|(_, _, facts)| judged(facts) == wanted).count();
    let unsure = is(Judgement::Undecided) > 0 && is(Judgement::DoesNotHold) <= 1;
    Claim::statement(said, told.collect::<Vec<_>>().join(", "), so).since(unsure, UNSURE)
}

fn word(judgement: Judgement) -> &'static str {
    match judgement {
        Judgement::Holds => "yes",
        Judgement::HoldsInPart => "in part",
        Judgement::DoesNotHold => "no",
        Judgement::Undecided => "undecided",
        Judgement::NotMeasured => "not measured",
    }
}
