//! The probe for parallel units: their number, the distribution of pages over them, and whether the
//! address of a page or the order of writing decides its unit.
//!
//! Reads wait for each other if they are on the same unit. With many reads in flight at strides of
//! 1, 2, 3 ... pages, throughput falls at strides that lead back to the same unit (Chen et al.). On
//! a drive that takes one request at a time, requests that cross from one page to the next show
//! whether both pages are on the same unit.

mod experiments;
mod order;
mod stripes;

use self::experiments::Evidence;
use self::order::Follows;
use self::stripes::{Series, Stripes, WeighedHypothesis, shares};
use crate::outcome::Outcome;
use crate::{Finding, Halt, Knowledge, Lab, Parameter, Probe};
use flashscope_document::probe::{Shape, Signal};

pub(super) const PROBE: Probe = Probe {
    name: "parallel",
    summary: "reads with many in flight at each stride, short reads across the edges of pages, and \
                 reads of one unit after pages were written in another order",
    source: "Chen et al., HPCA 2011, section 4; Agrawal et al., section 3.3",
    finds: &[Parameter::Parallelism, Parameter::Chunk, Parameter::Mapping],
    assumes: &[Parameter::PageSize],
    writes: true,
    cost: |scene, _| {
        let mut cost = scene.cost(6000, 600, 16 << 10);
        cost.written.0 += scene.capacity.0 / 8;
        cost
    },
    run,
};

/// Minimum probability of a finding.
const MIN_PROBABILITY: f64 = 0.6;

/// The probability that none of the hypotheses is true, which no measurement excludes.
const SURPRISE: f64 = 0.01;

fn run(lab: &mut Lab<'_>, knowledge: &Knowledge) -> Result<Outcome, Halt> {
    // The experiments count addresses in pages.
    let (Some(page), Some(size)) =
        (knowledge.whole(Parameter::PageSize), knowledge.finding(Parameter::PageSize))
    else {
        const WHY: &str = "the page size, by which addresses are distributed, is not known";
        return Ok(PROBE.unknown(WHY).into());
    };
    let Some(mut evidence) = Evidence::gather(lab, page)? else {
        const WHY: &str = "the drive is too small to detect periods of its addresses";
        return Ok(PROBE.unknown(WHY).into());
    };
    let weighed = evidence.weigh();
    let units = shares(&weighed, |stripes| stripes.units);
    // With one unit, the chunk counts as 0.
    let chunks = shares(&weighed, |stripes| if stripes.units > 1 { stripes.chunk } else { 0 });
    // If weights are equal, take the first hypothesis, which has the fewest units.
    let best = weighed.iter().rev().max_by(|a, b| a.log.total_cmp(&b.log));
    let best = best.map(|best| best.stripes);
    let best = best.unwrap_or(Stripes { units: 1, chunk: 1 });
    let mut findings = match evidence.refutes(best) {
        Some(why) => PROBE.unknown(&why),
        None => {
            let follows = match best.units > 1 && chunks[0].1 > MIN_PROBABILITY {
                true => order::look(lab, &mut evidence, best)?,
                false => None,
            };
            vec![
                parallelism(units[0], &evidence),
                chunk(chunks[0], page, &evidence),
                mapping(follows.as_ref(), chunks[0], &evidence),
            ]
        }
    };
    for finding in &mut findings {
        finding.probability *= size.probability;
        finding.runs.extend(&evidence.runs);
        finding.signals.extend(signals(&evidence, best, &weighed));
    }
    Ok(findings.into())
}

fn parallelism((units, share): (u32, f64), evidence: &Evidence) -> Finding {
    if share < MIN_PROBABILITY {
        return Finding::unknown(Parameter::Parallelism, evidence.why_unknown());
    }
    Finding::exact(Parameter::Parallelism, units.into(), share * (1.0 - SURPRISE))
        .because(evidence.because(units))
}

fn chunk((pages, share): (u32, f64), page: u64, evidence: &Evidence) -> Finding {
    if pages == 0 && share >= MIN_PROBABILITY {
        return Finding::absent(Parameter::Chunk, share * (1.0 - SURPRISE))
            .because("the drive has only one unit");
    }
    if share < MIN_PROBABILITY {
        return Finding::unknown(Parameter::Chunk, evidence.why_unknown());
    }
    let bytes = (u64::from(pages) * page) as f64;
    Finding::exact(Parameter::Chunk, bytes, share * (1.0 - SURPRISE))
        .because(format!("the unit changes after every {pages} pages"))
}

fn mapping(follows: Option<&Follows>, (chunk, share): (u32, f64), evidence: &Evidence) -> Finding {
    let parameter = Parameter::Mapping;
    let Some(follows) = follows else {
        return match chunk == 0 && share >= MIN_PROBABILITY {
            true => Finding::absent(parameter, share * (1.0 - SURPRISE))
                .because("the drive has only one unit, which leaves nothing to map"),
            false => Finding::unknown(parameter, evidence.why_unknown()),
        };
    };
    let (class, probability) = follows.class();
    let probability = probability * share * (1.0 - SURPRISE);
    if probability < MIN_PROBABILITY {
        return Finding::unknown(parameter, follows.why_unknown());
    }
    Finding::class(parameter, class, probability).because(follows.because())
}

fn signals(evidence: &Evidence, best: Stripes, weighed: &[WeighedHypothesis]) -> Vec<Signal> {
    let mut signals = Vec::new();
    if evidence.is_deep() {
        let points = |reads: &[(u32, Series)]| -> Vec<_> {
            let took = |series: &Series| series.took / 1e3 / f64::from(evidence.depth);
            reads.iter().map(|(stride, series)| (f64::from(*stride), took(series))).collect()
        };
        let signal = Signal::new(
            "Reads at each stride, with many in flight",
            "stride in pages",
            "time per read (µs)",
            Shape::Line,
        );
        let signal = signal
            .series("short reads", points(&evidence.short))
            .series("reads of nearly a page", points(&evidence.long));
        signals.push(match best.units > 1 && !weighed.is_empty() {
            true => signal.mark(best.period().into(), "the same unit again"),
            false => signal,
        });
    }
    let points = |crosses: bool| {
        let reads = evidence.crossings.iter().filter(move |read| read.crosses == crosses);
        reads.map(|read| (f64::from(read.page), read.took / 1e3))
    };
    signals.push(
        Signal::new(
            "Short reads across the edges of pages",
            "page",
            "response time (µs)",
            Shape::Points,
        )
        .series("across", points(true))
        .series("within a page", points(false)),
    );
    if !evidence.spans.is_empty() {
        let points = evidence.spans.iter().map(|span| (f64::from(span.pages), span.took / 1e6));
        signals.push(
            Signal::new("Writes of several pages", "pages", "response time (ms)", Shape::Line)
                .series("writes", points),
        );
    }
    signals
}
