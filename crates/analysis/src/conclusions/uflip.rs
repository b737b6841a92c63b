//! The conclusions of uFLIP's micro-benchmarks.

use flashscope_block::Bytes;
use flashscope_stats::Estimate;

use crate::characteristics::ABOUT_THE_SAME;
use crate::deviation::{AS_EXPECTED, Answer, is_over, largest, over_value};
use crate::means::{Mean, Means};
use crate::words::{baseline_words, duration, times};
use flashscope_document::conclusion::{Conclusion, Evidence, EvidenceUnit};
use flashscope_document::facts::{Characteristics, CheapLimit, PauseEffect};
use flashscope_workload::uflip::Baseline;

/// Returns the conclusions about a drive, the most consequential first; empty if nothing that they
/// need was measured.
pub(super) fn conclusions(means: &Means, found: &Characteristics) -> Vec<Conclusion> {
    let all = [
        random_writes(means, found),
        partitions(means, found),
        alignment(means),
        pauses(means, found),
        costs(means),
    ];
    all.into_iter().flatten().collect()
}

/// Creates evidence that is the ratio of two means.
fn relative(what: String, value: Estimate, shown_by: (&str, &str), parts: [&Mean; 2]) -> Evidence {
    let runs = parts.iter().flat_map(|mean| &mean.runs).copied().collect();
    Evidence::measured(what, value, EvidenceUnit::Ratio, shown_by, runs)
}

fn random_writes(means: &Means, found: &Characteristics) -> Option<Conclusion> {
    let (random, sequential) = (means.basic("RW")?, means.basic("SW")?);
    let ratio = random.ns.ratio(&sequential.ns)?;
    let what = "random writes over the whole space, relative to sequential ones".to_string();
    let over_all = relative(what, ratio, ("preparation", "RW"), [random, sequential]);
    let unlimited = match is_over(&ratio, ABOUT_THE_SAME) {
        Answer::Yes => None,
        Answer::No => Some(": write wherever you like"),
        Answer::Unsure => Some("; longer runs would tell whether that matters"),
    };
    if let Some(advice) = unlimited {
        let text = format!("Random writes cost {} sequential ones{advice}.", times(&ratio));
        return Some(Conclusion::new(text, vec![over_all]));
    }
    let in_sequence = match found.partitioning {
        Some(CheapLimit::UpTo { value, .. }) if value > 1 => {
            format!("write sequentially to at most {value} regions at once")
        }
        _ => "write sequentially".into(),
    };
    let Some(CheapLimit::UpTo { value, ratio: within, .. }) = found.locality else {
        let text = format!("Random writes cost {} sequential ones: {in_sequence}.", times(&ratio));
        return Some(Conclusion::new(text, vec![over_all]));
    };
    let area = Bytes(value);
    let text = format!(
        "Random writes cost {} sequential ones, but {} within {area}: keep them within {area}, or \
         {in_sequence}.",
        times(&ratio),
        times(&within)
    );
    let of = |mean: &&Mean| u64::try_from(mean.value).is_ok_and(|size| size == value);
    let edge = means.experiment("locality", "RW").iter().find(of)?;
    let what = format!("random writes within {area}, relative to sequential ones");
    let within = relative(what, within, ("locality", "RW"), [edge, sequential]);
    Some(Conclusion::new(text, vec![over_all, within]))
}

fn partitions(means: &Means, found: &Characteristics) -> Option<Conclusion> {
    let series = means.experiment("partitioning", "SW");
    let sequential = means.basic("SW")?;
    let evidence = |mean: &Mean, value, what| {
        relative(what, value, ("partitioning", "SW"), [mean, sequential])
    };
    match found.partitioning? {
        CheapLimit::UpTo { value, ratio, .. } => {
            let at = series.iter().position(|mean| mean.value.unsigned_abs() == value)?;
            let beyond = series.get(at + 1)?;
            let cost = beyond.ns.ratio(&sequential.ns)?;
            let text = format!(
                "Write sequentially to at most {value} regions at once: up to there, writes cost {} those to one \
                 region, but {} in {} regions.",
                times(&ratio),
                times(&cost),
                beyond.value
            );
            let what = |n: &dyn std::fmt::Display| {
                format!("sequential writes in {n} regions, relative to those in one")
            };
            let of = [
                evidence(&series[at], ratio, what(&value)),
                evidence(beyond, cost, what(&beyond.value)),
            ];
            Some(Conclusion::new(text, of.into()))
        }
        CheapLimit::Unlimited { measured, ratio } => {
            let text = format!(
                "Write sequentially to as many regions as you like: in up to {measured}, writes cost at most {} \
                 those to one region.",
                times(&ratio)
            );
            let what = format!("sequential writes in up to {measured} regions, relative to one");
            Some(Conclusion::new(text, vec![evidence(series.last()?, ratio, what)]))
        }
        CheapLimit::No => None,
    }
}

fn alignment(means: &Means) -> Option<Conclusion> {
    let all = Baseline::ALL.into_iter().filter_map(|baseline| {
        let series = means.experiment("alignment", baseline.name());
        let worst = largest(over_value(series, 0))?;
        Some((baseline, worst))
            .filter(|(_, worst)| is_over(&worst.ratio, AS_EXPECTED) == Answer::Yes)
    });
    let (baseline, worst) = all.max_by(|(_, a), (_, b)| a.ratio.value.total_cmp(&b.ratio.value))?;
    let (what, shift) = (baseline_words(baseline), Bytes(worst.value.unsigned_abs()));
    let text = format!(
        "Align IOs: {what} that are off by {shift} cost {} aligned ones.",
        times(&worst.ratio)
    );
    let what = format!("{what} off by {shift}, relative to aligned ones");
    let shown_by = ("alignment", baseline.name());
    let evidence = Evidence::measured(what, worst.ratio, EvidenceUnit::Ratio, shown_by, worst.runs);
    Some(Conclusion::new(text, vec![evidence]))
}

fn pauses(means: &Means, found: &Characteristics) -> Option<Conclusion> {
    let PauseEffect::AsSequential { pause_ns } = found.pause? else { return None };
    let at = |mean: &&Mean| u64::try_from(mean.value).is_ok_and(|value| value == pause_ns.0);
    let with = means.experiment("pause", "RW").iter().find(at)?;
    let without = means.basic("RW")?;
    let ratio = with.ns.ratio(&without.ns)?;
    let text = format!(
        "The drive does deferred work during pauses: random writes {pause_ns} apart cost {} those without a pause.",
        times(&ratio)
    );
    let what = format!("random writes {pause_ns} apart, relative to those without a pause");
    Some(Conclusion::new(text, vec![relative(what, ratio, ("pause", "RW"), [with, without])]))
}

fn costs(means: &Means) -> Option<Conclusion> {
    let all = Baseline::ALL.into_iter().filter_map(|b| Some((b, means.basic(b.name())?)));
    let all: Vec<(Baseline, &Mean)> = all.collect();
    let words: Vec<String> = all
        .iter()
        .map(|(baseline, mean)| {
            format!("{} {}", baseline_words(*baseline), duration(mean.ns.value))
        })
        .collect();
    let evidence = |(baseline, mean): &(Baseline, &Mean)| {
        let shown_by = ("preparation", baseline.name());
        let (unit, runs) = (EvidenceUnit::Nanoseconds, mean.runs.clone());
        Evidence::measured(baseline_words(*baseline), mean.ns, unit, shown_by, runs)
    };
    let text = format!("IOs of {} take: {}.", means.io_size, words.join(", "));
    (!all.is_empty()).then(|| Conclusion::new(text, all.iter().map(evidence).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scripted::means;

    fn texts(given: &[crate::scripted::GivenMeans]) -> Vec<String> {
        let means = means(given);
        let all = conclusions(&means, &means.characteristics());
        assert!(all.iter().all(|conclusion| !conclusion.evidence.is_empty()));
        all.into_iter().map(|conclusion| conclusion.text).collect()
    }

    #[test]
    fn conclusions_name_what_to_do_with_its_evidence() {
        let mib = |n: i64| n << 20;
        let areas: Vec<_> = [(1, 1.0), (4, 1.0), (16, 1.0), (64, 1.1), (256, 6.0), (512, 8.4)]
            .map(|(n, ms)| (mib(n), ms))
            .into();
        let found = texts(&[
            ("preparation", "SW", &[(20480, 1.0)]),
            ("preparation", "RW", &[(20480, 8.4)]),
            ("locality", "RW", &areas),
            ("partitioning", "SW", &[(1, 1.0), (2, 1.0), (4, 1.2), (8, 7.0), (16, 8.0)]),
            ("alignment", "RW", &[(0, 8.4), (512, 16.8)]),
        ]);
        assert_eq!(
            found[0],
            "Random writes cost 8.40 (8.32 to 8.49) times sequential ones, but 1.10 (1.09 to 1.11) times \
             within 64 MiB: keep them within 64 MiB, or write sequentially to at most 4 regions at once."
        );
        assert!(
            found[1].starts_with("Write sequentially to at most 4 regions at once"),
            "{}",
            found[1]
        );
        assert!(found[2].starts_with("Align IOs: random writes that are off by 512 B cost 2.00 ("));
        assert_eq!(found[3], "IOs of 32 KiB take: sequential writes 1 ms, random writes 8.4 ms.");
    }

    #[test]
    fn a_drive_without_random_reads_or_limits_needs_no_advice() {
        let found = texts(&[
            ("preparation", "SW", &[(20480, 1.0)]),
            ("preparation", "RW", &[(20480, 1.02)]),
        ]);
        assert!(found[0].ends_with("sequential ones: write wherever you like."), "{}", found[0]);
        assert!(texts(&[]).is_empty());
    }
}
