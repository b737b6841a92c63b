use flashscope_block::Data;

use super::segments::list;
use super::{DRIVE, PAGE, READ_OFF};
use crate::bed::Bed;
use crate::{Claim, Error, Found, Input, Item, Paper, Run, State};

/// Section 2.1.
pub const TABLE_1: Item = Item {
    id: "sun-zhang-table1",
    paper: Paper::SunZhang,
    place: "Table 1",
    title: "NAND flash operation parameters",
    stands: State::Explained,
    inputs: &[Input { other: "agrawal-2008?flash.page_read=30us&flash.block_erase=3ms", ..DRIVE }],
    run: parameters,
};

/// Section 4.5.
pub const TABLE_3: Item = Item {
    id: "sun-zhang-table3",
    paper: Paper::SunZhang,
    place: "Table 3",
    title: "summary: what the experiments find of three drives",
    stands: State::Pass,
    inputs: &[
        DRIVE,
        Input {
            name: "kingston",
            summary: "the simulated drive: Kingston Data Traveler, of 1 GB",
            value: "sun-zhang-kingston",
            other: "sun-zhang-kingston?log.blocks=6",
        },
        Input {
            name: "pny",
            summary: "the simulated drive: PNY attache, of 2 GB",
            value: "sun-zhang-pny",
            other: "sun-zhang-pny?groups.count=8",
        },
    ],
    run: summary,
};

#[allow(clippy::cast_precision_loss, reason = "times are below 2^53 ns")]
fn parameters(run: &Run<'_>) -> Result<Found, Error> {
    let flash = run.profile("drive")?.flash;
    let us = |nanos: flashscope_block::Nanos| nanos.0 as f64 / 1e3;
    let (program, erase) = (us(flash.page_program), us(flash.block_erase));
    Ok(vec![
        Claim::close(("read of a page", "us"), 25.0, us(flash.page_read), 0.0),
        Claim::statement(
            "Write 4KB Page 200us - 700us",
            format!("{program} us"),
            (200.0..=700.0).contains(&program),
        )
        .since(
            (700.0..=800.0).contains(&program),
            "merges of 120 ms (section 3.3) over 128 pages of 2 KB leave 760 us for each program: the drive was cheaper than \
             the flash of the data sheet",
        ),
        Claim::statement(
            "Erase 256KB Block 1.2ms-2ms",
            format!("{} ms", erase / 1e3),
            (1200.0..=2000.0).contains(&erase),
        ),
    ]
    .into())
}

/// What is printed of a drive: the input with its profile, GB, groups, 4 KB in a segment, log list, whether "0" is "1".
const PRINTED: [(&str, [f64; 4], bool); 3] = [
    ("drive", [1.0, 4.0, 64.0, 3.0], false),
    ("kingston", [1.0, 2.0, 128.0, 4.0], true),
    ("pny", [2.0, 2.0, 256.0, 4.0], true),
];

fn summary(run: &Run<'_>) -> Result<Found, Error> {
    let mut claims = Vec::new();
    for (name, [size, groups, segment, log_list], same) in PRINTED {
        run.go_on()?;
        let profile = run.profile(name)?;
        let mut bed = Bed::filled(&profile, Data::Random)?;
        let found = segment_of(&mut bed)?;
        #[allow(clippy::cast_precision_loss, reason = "below 2^53")]
        let gigabytes = bed.capacity() as f64 / 1e9;
        claims.push(Claim::close((format!("{name}: capacity"), "GB"), size, gigabytes, READ_OFF));
        claims.push(Claim::same(format!("{name}: groups"), groups, groups_of(&mut bed)?));
        claims.push(Claim::same(format!("{name}: 4 KB in a log block"), segment, f64::from(found)));
        let list = f64::from(list(&mut bed, u64::from(found))?);
        claims.push(Claim::same(format!("{name}: log list"), log_list, list));
        let [zeros, ones] =
            [Data::Zeros, Data::Random].map(|of| dearest(&mut bed, of, u64::from(found)));
        let ratio = zeros? / ones?;
        let published = format!("{name}: 0==1? {}", if same { "Yes" } else { "No" });
        let is_same = (ratio - 1.0).abs() < READ_OFF;
        let told = format!("a merge of zeros takes {ratio:.2} of one of ones");
        claims.push(Claim::statement(published, told, is_same == same));
    }
    Ok(claims.into())
}

/// Groups, by the places at which reads in steps of a MiB become dearer once (section 4.1).
fn groups_of(bed: &mut Bed) -> Result<f64, Error> {
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

/// 4 KB in a segment: what lies between two dear writes in order (section 3.3).
fn segment_of(bed: &mut Bed) -> Result<u32, Error> {
    let start = bed.capacity() / 2;
    let times = (0..2048).map(|nth| bed.write(Data::Random, start + nth * PAGE));
    let times = times.collect::<Result<Vec<f64>, Error>>()?;
    let limit = times.iter().copied().fold(0.0, f64::max) / 2.0;
    let at = (0_u32..).zip(times).filter(|(_, time)| *time > limit).map(|(nth, _)| nth);
    let at: Vec<u32> = at.collect();
    Ok(at.windows(2).map(|pair| pair[1] - pair[0]).min().unwrap_or_default())
}

/// The dearest write of a segment in order, ms: the one that merges it. The first may merge another one.
fn dearest(bed: &mut Bed, of: Data, segment: u64) -> Result<f64, Error> {
    let start = bed.capacity() / 4 / (segment * PAGE) * segment * PAGE;
    let times = (0..segment).map(|nth| bed.write(of, start + nth * PAGE));
    Ok(times.collect::<Result<Vec<f64>, Error>>()?.into_iter().skip(1).fold(0.0, f64::max))
}
