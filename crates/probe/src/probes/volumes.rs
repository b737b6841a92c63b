//! Internal volumes: parts of the address space that write independently. Writes to one volume are
//! not slower while other volumes are written.

use crate::outcome::Outcome;
use crate::{Finding, Halt, Knowledge, Lab, Parameter, Probe, Request, Run, median};
use flashscope_document::probe::Contradiction;
use flashscope_document::probe::{Shape, Signal};

/// The number of writes in flight.
const DEPTH: u32 = 16;

/// The number of writes in a series, and the number of series of each kind.
const WRITES: u32 = 24;
const SERIES: usize = 7;

/// The number of pages to write to, over all units.
const MAX_PAGES: u64 = 256;

/// Maximum number of parts to compare.
const MAX_PARTS: u64 = 32;

/// The ratio of times that separates two cases. Writes to units of two volumes in turns take half
/// as long as writes to one unit; writes to two units of one volume take the same time.
const BETWEEN: f64 = 0.72;

/// Minimum probability of a finding.
const MIN_PROBABILITY: f64 = 0.75;

/// Maximum relative difference between series of one kind; beyond it, some series wait for
/// cleaning.
const MAX_DIFFERENCE: f64 = 0.2;

/// The number of standard deviations needed for a mixed result: volumes with only some of the units
/// are rare.
const SURE: f64 = 4.0;

pub(super) const PROBE: Probe = Probe {
    name: "volumes",
    summary: "writes with many in flight to pages of one parallel unit, and to pages of two units in turns; \
                 the latter take half the time if each unit writes independently",
    source: "Kim et al., SSDcheck, MICRO 2018, whose test fixes one bit of the address",
    finds: &[Parameter::Volumes],
    assumes: &[Parameter::PageSize, Parameter::Parallelism, Parameter::Chunk, Parameter::Mapping],
    writes: true,
    cost: |scene, knowledge| {
        let units = knowledge.whole(Parameter::Parallelism).unwrap_or(1);
        let page = knowledge.whole(Parameter::PageSize).unwrap_or(4096);
        let writes = if units > 1 { units * SERIES as u64 * u64::from(WRITES) } else { 0 };
        scene.cost(0, writes, page)
    },
    run,
};

/// The placement of pages, as far as known.
struct Place {
    page: u64,
    chunk: u64,
    units: u64,
    /// The start of the first period to write to.
    start: u64,
    /// The number of periods.
    periods: u64,
}

fn run(lab: &mut Lab<'_>, knowledge: &Knowledge) -> Result<Outcome, Halt> {
    let unknown = |why: &str| Ok(vec![Finding::unknown(Parameter::Volumes, why)].into());
    let units = knowledge.whole(Parameter::Parallelism);
    if let (Some(1), Some(finding)) = (units, knowledge.finding(Parameter::Parallelism)) {
        let one = Finding::exact(Parameter::Volumes, 1.0, finding.probability)
            .because("the drive has only one unit, which writes everything")
            .shown_by(finding);
        return Ok(vec![one].into());
    }
    if lab.info().queue_depth == 1 {
        return unknown("the drive takes one request at a time: no write can wait for another");
    }
    let (Some(units), Some(chunk)) = (units, knowledge.whole(Parameter::Chunk)) else {
        return unknown("parallel units and chunks, which form volumes, are not known");
    };
    let page = knowledge.whole(Parameter::PageSize).unwrap_or(chunk).min(chunk);
    lab.ensure_filled()?;
    let period = units * chunk;
    let start = lab.capacity() / 16 * 5 / period * period;
    // Use few pages: the drive then need not fetch map entries for them.
    let most = u64::from(WRITES).div_ceil(chunk / page).max(MAX_PAGES * page / period);
    let periods = most.min(lab.capacity() / 8 / period).max(1);
    let place = Place { page, chunk, units: units.min(MAX_PARTS), start, periods };
    let evidence = Evidence::gather(lab, &place)?;
    let contradicts = contradiction(knowledge, &evidence).into_iter().collect();
    Ok(Outcome { findings: vec![finding(knowledge, &evidence)], contradicts })
}

/// Returns the contradiction to a dynamic mapping, if there is one. If the order of writes decided
/// the unit of data, writes to any addresses would go to all units, and would wait for each other
/// equally.
fn contradiction(knowledge: &Knowledge, evidence: &Evidence) -> Option<Contradiction> {
    let ratios = (1..evidence.took.len()).map(|nth| evidence.ratio(nth));
    let clearly = |ratio: f64| (BETWEEN - ratio) * BETWEEN.recip() > SURE * evidence.error();
    let faster = ratios.clone().any(clearly);
    let buffered = knowledge.class(Parameter::WriteBufferKind) == Some("blocks");
    (faster && !buffered && knowledge.class(Parameter::Mapping) == Some("dynamic")).then(|| {
        Contradiction {
            parameter: Parameter::Mapping,
            because:
                "writes to some addresses wait for each other and writes to others do not, which \
                                contradicts a placement by the order of writes"
                    .into(),
        }
    })
}

/// The times of series of writes, including the final flush.
struct Evidence {
    /// The times of the series of each unit. A series alternates between the first unit and that
    /// unit; the series of the first unit write to it alone.
    took: Vec<Vec<f64>>,
    runs: Vec<u32>,
}

impl Evidence {
    fn gather(lab: &mut Lab<'_>, place: &Place) -> Result<Evidence, Halt> {
        let mut took = vec![Vec::new(); usize::try_from(place.units).unwrap_or(0)];
        let mut runs = Vec::new();
        let series = SERIES << lab.attempt;
        for _ in 0..series {
            for (nth, took) in (0u64..).zip(&mut took) {
                let run = write(lab, place, nth)?;
                runs.push(run.number);
                took.push(run.took.0 as f64);
            }
        }
        Ok(Evidence { took, runs })
    }

    /// Returns the time of writes that alternate between the first unit and the nth, relative to
    /// the time of as many writes to the first unit alone.
    fn ratio(&self, nth: usize) -> f64 {
        let level = if self.is_even() { quartile } else { mean };
        level(&self.took[nth]) / level(&self.took[0])
    }

    /// Returns true if the series of each kind are alike. If some series wait for cleaning, the
    /// series differ, and only their mean is comparable.
    fn is_even(&self) -> bool {
        self.apart() <= MAX_DIFFERENCE
    }

    /// Returns the relative distance of the median of series from their lower quartile.
    fn apart(&self) -> f64 {
        let apart = |took: &Vec<f64>| median(took) / quartile(took) - 1.0;
        median(&self.took.iter().map(apart).collect::<Vec<_>>())
    }

    /// Returns the relative error of a ratio.
    fn error(&self) -> f64 {
        let count = self.took[0].len() as f64;
        if self.is_even() {
            // The distance from the quartile to the median is 0.67 standard deviations, and the
            // error of each quartile is 1.36 standard deviations over the root of the number of
            // series.
            return self.apart().max(0.01) / 0.67 * 1.36 * (2.0 / count).sqrt();
        }
        let deviation = |took: &Vec<f64>| {
            let mean = mean(took);
            let squares = took.iter().map(|took| (took / mean - 1.0).powi(2)).sum::<f64>();
            (squares / (count - 1.0)).sqrt()
        };
        median(&self.took.iter().map(deviation).collect::<Vec<_>>()) * (2.0 / count).sqrt()
    }
}

fn mean(took: &[f64]) -> f64 {
    took.iter().sum::<f64>() / took.len().max(1) as f64
}

/// Returns the lower quartile; the other values may include waits for cleaning.
fn quartile(took: &[f64]) -> f64 {
    let mut took = took.to_vec();
    let quarter = took.len() / 4;
    *took.select_nth_unstable_by(quarter, f64::total_cmp).1
}

/// Writes to pages of random periods, alternately of the first unit and the nth, each page once.
/// The run ends when all data is on the flash.
fn write(lab: &mut Lab<'_>, place: &Place, nth: u64) -> Result<Run, Halt> {
    let in_chunk = place.chunk / place.page;
    let mut pages: Vec<u64> = (0..place.periods * in_chunk).collect();
    lab.rng.shuffle(&mut pages);
    let requests: Vec<Request> = (0u64..u64::from(WRITES))
        .zip(pages)
        .map(|(i, nth_page)| {
            let period = place.start + nth_page / in_chunk * place.units * place.chunk;
            let unit = if i % 2 == 0 { 0 } else { nth };
            let at = period + unit * place.chunk + nth_page % in_chunk * place.page;
            Request::write(at, place.page)
        })
        .collect();
    let purpose = "writes to pages of one unit, or two in turns";
    lab.run_at(purpose, DEPTH, requests.into_iter().chain([Request::flush()]))
}

fn finding(knowledge: &Knowledge, evidence: &Evidence) -> Finding {
    let parts = evidence.took.len();
    let ratios: Vec<f64> = (1..parts).map(|nth| evidence.ratio(nth)).collect();
    let picture = signal(&ratios);
    let unknown = |why| {
        Finding::unknown(Parameter::Volumes, why)
            .runs(evidence.runs.iter().copied())
            .signal(picture.clone())
    };
    if knowledge.class(Parameter::WriteBufferKind) == Some("blocks") {
        return unknown("the write buffer writes whole blocks, which span all units");
    }
    // The number of units that share a volume with the first unit, including the first unit.
    let same = 1 + ratios.iter().filter(|ratio| **ratio > BETWEEN).count();
    if !parts.is_multiple_of(same) {
        return unknown(
            "the units that share a volume with the first do not divide the number of units",
        );
    }
    let mapping = knowledge.class(Parameter::Mapping);
    if same == parts && mapping != Some("dynamic") {
        return unknown(
            "writes take the same time wherever they go, though reads do not: acknowledged data stays \
                        in a memory, or waits for something other than the flash",
        );
    }
    if same < parts && mapping != Some("static") {
        return unknown(
            "some units write independently, but reads did not show the static mapping that this needs",
        );
    }
    let nearest = ratios.iter().map(|ratio| (ratio / BETWEEN).ln().abs()).fold(f64::MAX, f64::min);
    let z = nearest / evidence.error();
    // The small number of series limits the probability.
    let probability = (1.0 - 0.5 * (-0.717 * z - 0.416 * z * z).exp()).min(0.985);
    let mixed = 1 < same && same < parts;
    let between = ratios.iter().any(|ratio| (BETWEEN - ratio).abs() < 0.12);
    if probability < MIN_PROBABILITY || mixed && (z < SURE || between) {
        return unknown("writes vary too much to show which wait for each other");
    }
    let volumes = (parts / same) as f64;
    let because = match same {
        1 => "writes to any two units in turns take about half as long as writes to one",
        same if same == parts => "writes take the same time wherever they go",
        _ => "writes to some units wait for each other, and writes to others do not",
    };
    Finding::exact(Parameter::Volumes, volumes, probability)
        .because(because)
        .runs(evidence.runs.iter().copied())
        .signal(picture)
}

fn signal(ratios: &[f64]) -> Signal {
    let points = ratios.iter().zip(1u32..).map(|(ratio, nth)| (f64::from(nth), *ratio));
    Signal::new(
        "Writes in turns to the first unit and another one",
        "the other unit",
        "time relative to the first unit alone",
        Shape::Points,
    )
    .series("writes", points)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn volumes(took: &[f64], mapping: &str) -> Option<f64> {
        let mut knowledge = Knowledge::default();
        knowledge.add(Finding::class(Parameter::Mapping, mapping, 0.98));
        let series = |took: &f64| (0..7).map(|i| took + f64::from(i) * 0.1).collect();
        let evidence = Evidence { took: took.iter().map(series).collect(), runs: vec![1] };
        let finding = finding(&knowledge, &evidence);
        match finding.answer {
            crate::Answer::Value { value, .. } => Some(value),
            _ => None,
        }
    }

    #[test]
    fn volumes_are_counted_unless_a_memory_hides_them() {
        assert_eq!(volumes(&[100.0, 51.0, 52.0, 50.0], "static"), Some(4.0));
        assert_eq!(volumes(&[100.0, 98.0, 50.0, 53.0], "static"), Some(2.0));
        assert_eq!(volumes(&[100.0, 99.0, 101.0, 100.0], "dynamic"), Some(1.0));
        assert_eq!(volumes(&[100.0, 99.0, 101.0, 100.0], "static"), None);
        assert_eq!(volumes(&[100.0, 99.0, 50.0, 100.0], "static"), None);
        assert_eq!(volumes(&[100.0, 50.0], "dynamic"), None);
    }
}
