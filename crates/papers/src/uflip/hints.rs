use flashscope_document::facts::{Facts, Judgement};

use super::bench::measure_everything;
use super::{DTI, MEMORIGHT, SAMSUNG, SEED};
use crate::{Claim, Error, Input, Item, Outcome, Paper, Run, State};

/// Section 5.3.
pub(crate) const HINTS: Item = Item {
    id: "uflip-hints",
    paper: Paper::Uflip,
    place: "Section 5.3",
    title: "the seven design hints",
    expected: State::NotReproduced,
    inputs: &[
        MEMORIGHT,
        Input { other: "mtron", ..SAMSUNG },
        Input { other: "mtron", ..DTI },
        // A rare seed: nearly all other seeds give the same judgements as the default seed.
        Input { other: "13", ..SEED },
    ],
    run,
};

/// One drive of each kind, with true for a high-end drive.
const DRIVES: [(&str, bool); 3] =
    [(MEMORIGHT.name, true), (SAMSUNG.name, false), (DTI.name, false)];

const UNDECIDED: &str = "the intervals of the measured values allow both answers; the paper also exempts some of the seven drives, and longer \
                     runs (--full) decide more";

/// The paper's hints, with the drives that each applies to.
const HINTS_OF: [(&str, Scope); 7] = [
    ("1: Flash devices do incur latency", Scope::All),
    (
        "2: Block size should (currently) be 32KB, a good trade-off for the high-end devices",
        Scope::HighEnd,
    ),
    ("3: Blocks should be aligned to flash pages", Scope::Some),
    ("4: Random writes should be limited to a focused area, for most devices", Scope::Most),
    ("5: Sequential writes should be limited to a few partitions", Scope::All),
    ("6: Combining a limited number of patterns is acceptable", Scope::Most),
    ("7: Neither concurrent nor delayed IOs improve the performance", Scope::Most),
];

/// The drives that a hint applies to.
#[derive(Clone, Copy)]
enum Scope {
    All,
    Most,
    Some,
    HighEnd,
}

/// A measured drive: its input, true for a high-end drive, and its facts.
type DriveFacts = (&'static str, bool, Facts);

fn run(run: &Run<'_>) -> Result<Outcome, Error> {
    let mut all: Vec<DriveFacts> = Vec::new();
    let measured = measure_everything(&DRIVES.map(|(drive, _)| drive), run)?;
    for ((drive, high_end), found) in DRIVES.into_iter().zip(measured) {
        all.push((drive, high_end, found.facts.clone()));
    }
    Ok((0..)
        .zip(HINTS_OF)
        .map(|(nth, (published, scope))| hint(nth, published, scope, &all))
        .collect::<Vec<_>>()
        .into())
}

/// Compares a hint with the judgements of the drives.
fn hint(nth: usize, published: &str, scope: Scope, all: &[DriveFacts]) -> Claim {
    let judged = |facts: &Facts| facts.hints[nth].judgement;
    let holds = |(_, _, facts): &&DriveFacts| {
        matches!(judged(facts), Judgement::Holds | Judgement::HoldsInPart)
    };
    let count = all.iter().filter(holds).count();
    let applies = match scope {
        Scope::All => count == all.len(),
        Scope::Most => 2 * count > all.len(),
        Scope::Some => count > 0,
        Scope::HighEnd => {
            all.iter().filter(|(_, high_end, _)| *high_end).all(|drive| holds(&drive))
        }
    };
    let measured = all.iter().map(|(drive, _, facts)| format!("{drive} {}", word(judged(facts))));
    let number = |of| all.iter().filter(|(_, _, facts)| judged(facts) == of).count();
    let undecided = number(Judgement::Undecided) > 0 && number(Judgement::DoesNotHold) <= 1;
    Claim::statement(published, measured.collect::<Vec<_>>().join(", "), applies)
        .not_reproduced_if(undecided, UNDECIDED)
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
