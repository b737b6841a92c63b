use flashscope_block::Data;

use super::segments::list;
use super::{DRIVE, PAGE, READ_OFF};
use crate::test_bed::TestBed;
use crate::{Claim, Error, Input, Item, Outcome, Paper, Run, State};

/// Table 1, in section 2.1.
pub(crate) const TABLE_1: Item = Item {
    id: "sun-zhang-table1",
    paper: Paper::SunZhang,
    place: "Table 1",
    title: "NAND flash operation parameters",
    expected: State::PrintWrong,
    inputs: &[Input { other: "agrawal-2008?flash.page_read=30us&flash.block_erase=3ms", ..DRIVE }],
    run: parameters,
};

/// Table 3, in section 4.5.
pub(crate) const TABLE_3: Item = Item {
    id: "sun-zhang-table3",
    paper: Paper::SunZhang,
    place: "Table 3",
    title: "summary: the results of the experiments on three drives",
    expected: State::AsPrinted,
    inputs: &[
        DRIVE,
        Input {
            name: "kingston",
            summary: "the simulated drive: Kingston Data Traveler, 1 GB",
            value: "sun-zhang-kingston",
            other: "sun-zhang-kingston?log.blocks=6",
        },
        Input {
            name: "pny",
            summary: "the simulated drive: PNY attache, 2 GB",
            value: "sun-zhang-pny",
            other: "sun-zhang-pny?groups.count=8",
        },
    ],
    run: summary,
};

#[allow(clippy::cast_precision_loss, reason = "times are below 2^53 ns")]
fn parameters(run: &Run<'_>) -> Result<Outcome, Error> {
    let flash = run.profile("drive")?.flash;
    let us = |nanos: flashscope_block::Nanos| nanos.0 as f64 / 1e3;
    let (program, erase) = (us(flash.page_program), us(flash.block_erase));
    Ok(vec![
        Claim::within(("page read", "us"), 25.0, us(flash.page_read), 0.0),
        Claim::statement(
            "Write 4KB Page 200us - 700us",
            format!("{program} us"),
            (200.0..=700.0).contains(&program),
        )
        .print_wrong_if(
            (700.0..=800.0).contains(&program),
            "merges of 120 ms (section 3.3) over 128 pages of 2 KB leave 760 us per program: the drive has slower flash than \
                        the data sheet",
        ),
        Claim::statement(
            "Erase 256KB Block 1.2ms-2ms",
            format!("{} ms", erase / 1e3),
            (1200.0..=2000.0).contains(&erase),
        ),
    ]
    .into())
}

/// The printed row of each drive: input, capacity in GB, groups, 4 KB blocks per segment, log list,
/// and "0==1".
const PRINTED: [(&str, [f64; 4], bool); 3] = [
    ("drive", [1.0, 4.0, 64.0, 3.0], false),
    ("kingston", [1.0, 2.0, 128.0, 4.0], true),
    ("pny", [2.0, 2.0, 256.0, 4.0], true),
];

fn summary(run: &Run<'_>) -> Result<Outcome, Error> {
    let mut claims = Vec::new();
    for (name, [size, groups, segment, log_list], same) in PRINTED {
        run.check_interrupt()?;
        let profile = run.profile(name)?;
        let mut bed = TestBed::filled(&profile, Data::Random)?;
        let segment_found = segment_of(&mut bed)?;
        #[allow(clippy::cast_precision_loss, reason = "below 2^53")]
        let gigabytes = bed.capacity() as f64 / 1e9;
        claims.push(Claim::within((format!("{name}: capacity"), "GB"), size, gigabytes, READ_OFF));
        claims.push(Claim::exact(format!("{name}: groups"), groups, groups_of(&mut bed)?));
        let what = format!("{name}: 4 KB blocks in a log block");
        claims.push(Claim::exact(what, segment, f64::from(segment_found)));
        let list = f64::from(list(&mut bed, u64::from(segment_found))?);
        claims.push(Claim::exact(format!("{name}: log list"), log_list, list));
        let [zeros, ones] =
            [Data::Zeros, Data::Random].map(|of| slowest(&mut bed, of, u64::from(segment_found)));
        let ratio = zeros? / ones?;
        let published = format!("{name}: 0==1? {}", if same { "Yes" } else { "No" });
        let is_same = (ratio - 1.0).abs() < READ_OFF;
        let measured = format!("a merge of zeros takes {ratio:.2} of the time of a merge of ones");
        claims.push(Claim::statement(published, measured, is_same == same));
    }
    Ok(claims.into())
}

/// Counts the groups: reads in steps of 1 MiB are slower once at each boundary (section 4.1).
fn groups_of(bed: &mut TestBed) -> Result<f64, Error> {
    const MIB: u64 = 1 << 20;
    bed.read(0)?;
    let usual = bed.read(MIB)?;
    let mut groups = 1.0;
    for nth in 0..bed.capacity() / MIB {
        if bed.read(nth * MIB)? > 1.1 * usual {
            groups += 1.0;
        }
    }
    Ok(groups)
}

/// Returns the segment size in blocks of 4 KB: the distance between two slow sequential writes
/// (section 3.3).
fn segment_of(bed: &mut TestBed) -> Result<u32, Error> {
    let start = bed.capacity() / 2;
    let times = (0..2048).map(|nth| bed.write(Data::Random, start + nth * PAGE));
    let times = times.collect::<Result<Vec<f64>, Error>>()?;
    let limit = times.iter().copied().fold(0.0, f64::max) / 2.0;
    let at = (0_u32..).zip(times).filter(|(_, time)| *time > limit).map(|(nth, _)| nth);
    let at: Vec<u32> = at.collect();
    Ok(at.windows(2).map(|pair| pair[1] - pair[0]).min().unwrap_or_default())
}

/// Returns the time in ms of the slowest sequential write to a segment, which merges it. The first
/// write may merge another segment, and does not count.
fn slowest(bed: &mut TestBed, of: Data, segment: u64) -> Result<f64, Error> {
    let start = bed.capacity() / 4 / (segment * PAGE) * segment * PAGE;
    let times = (0..segment).map(|nth| bed.write(of, start + nth * PAGE));
    Ok(times.collect::<Result<Vec<f64>, Error>>()?.into_iter().skip(1).fold(0.0, f64::max))
}
