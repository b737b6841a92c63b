use flashscope_block::{Bytes, Data, Io, Nanos, Op};
use rand::Rng;
use rand::rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::application::{MAX_PLACES, places};
use super::arrivals::Arrivals;
use super::law::{Law, Shares};
use super::live::Live;
use super::size::{Size, size_and_alignment};
use super::uniform::Uniform;
use super::values::Values;
use super::{DATA, Ios, Place, Places, Room, Target, WorkloadError};
use crate::{Stream, seed_for};

/// An endless stream of IOs: each has an address, a size, an operation and a time.
pub struct Generator {
    places: Places,
    place_rng: Xoshiro256PlusPlus,
    rng: Xoshiro256PlusPlus,
    ops: Ops,
    size: Size,
    arrivals: Option<Arrivals>,
    offset: u64,
    length: u64,
    alignment: u64,
    data: Data,
}

impl Generator {
    /// Creates the IOs that the common fields describe. `places` creates the distribution of their
    /// addresses.
    pub(super) fn open(
        values: &Values,
        target: &Target,
        places: impl FnOnce(Room) -> Result<Places, WorkloadError>,
    ) -> Result<Ios, WorkloadError> {
        let (offset, length) = values.target_range(target)?;
        let (size, alignment) = size_and_alignment(values, target.logical_block, length)?;
        if !offset.is_multiple_of(Bytes(alignment)) {
            let rule = format!("it must be a multiple of the alignment, {alignment} B");
            return Err(values.invalid("offset", rule));
        }
        let units = (length.0 - size.least()) / alignment + 1;
        let [place_seed, own_seed, seed] = [0, 1, 2].map(|part| seed_for(target.seed, part));
        Ok(Ios::Endless(Box::new(Generator {
            places: places(Room { units, unit: alignment, seed: own_seed })?,
            place_rng: Xoshiro256PlusPlus::seed_from_u64(place_seed),
            rng: Xoshiro256PlusPlus::seed_from_u64(seed),
            ops: Ops::read(values, target, &size, alignment, length)?,
            size,
            arrivals: Arrivals::read(values)?,
            offset: offset.0,
            length: length.0,
            alignment,
            data: data(values)?,
        })))
    }

    /// Generates writes of a geometrically distributed number of pages. Each write starts at a
    /// uniformly random page of a range. This is the workload of Boboila and Desnoyers (see
    /// [`super::uniform`]). No write is longer than `longest`.
    pub(crate) fn uniform_writes(
        (offset, length): (Bytes, Bytes),
        (page, mean_len): (Bytes, u32),
        longest: Bytes,
        seed: u64,
    ) -> Generator {
        let [place_seed, _, seed] = [0, 1, 2].map(|part| seed_for(seed, part));
        let size = Size::geometric(u64::from(mean_len) * page.0, page.0, longest.0);
        Generator {
            places: Places::Uniform(Uniform::over(length.0 / page.0)),
            place_rng: Xoshiro256PlusPlus::seed_from_u64(place_seed),
            rng: Xoshiro256PlusPlus::seed_from_u64(seed),
            ops: Ops::Only(Op::Write),
            size,
            arrivals: None,
            offset: offset.0,
            length: length.0,
            alignment: page.0,
            data: Data::Random,
        }
    }

    /// Returns the distribution of the IOs. Returns `None` unless all IOs have the size of the
    /// alignment, and their places are uniform, hot and cold, or follow Zipf's law.
    #[must_use]
    pub fn law(&self) -> Option<Law> {
        let size = self.size.fixed().filter(|size| *size == self.alignment)?;
        let shares = match &self.places {
            Places::Uniform(_) => Shares::Uniform,
            Places::HotCold(places) => places.shares(),
            Places::Zipf(places) => places.shares(),
            Places::Sequential(_) | Places::TpcC(_) => return None,
        };
        let (reads, trims) = self.ops.shares();
        let (offset, places) = (Bytes(self.offset), self.length / size);
        Some(Law { offset, places, size: Bytes(size), reads, trims, shares })
    }

    /// Draws the address of a read or write of `len` bytes. An IO that would pass the end of the
    /// range begins earlier, at the last place where it fits.
    #[inline]
    fn draw_place(&mut self, len: u64) -> Place {
        if self.size.fixed().is_some() {
            let units = if len <= self.alignment { 1 } else { len.div_ceil(self.alignment) };
            return self.places.draw(units, &mut self.place_rng);
        }
        let place = self.places.draw(len.div_ceil(self.alignment), &mut self.place_rng);
        let last = (self.length - len) / self.alignment;
        Place { unit: place.unit.min(last), ..place }
    }
}

impl Stream for Generator {
    #[inline]
    fn next(&mut self, previous: Nanos) -> Option<Io> {
        let at = match &mut self.arrivals {
            None => previous,
            Some(arrivals) => arrivals.next(previous, &mut self.rng),
        };
        let len = self.size.draw(&mut self.rng);
        let (op, trimmed) = self.ops.draw(len, self.alignment, &mut self.rng);
        let (place, len) = match trimmed {
            Some((unit, units)) => (Place { unit, stream: 0 }, units * self.alignment),
            None => (self.draw_place(len), len),
        };
        if op == Op::Write {
            self.ops.written(place.unit, len, self.alignment);
        }
        let offset = Bytes(self.offset + place.unit * self.alignment);
        Some(Io { op, stream: place.stream, offset, len: Bytes(len), at, data: self.data })
    }

    fn follows_answers(&self) -> bool {
        self.arrivals.is_none()
    }
}

/// Returns the content of the writes, from the field `data`.
fn data(values: &Values) -> Result<Data, WorkloadError> {
    let name = values.text(DATA.name);
    let found = Data::ALL.into_iter().find(|data| Some(data.name()) == name);
    found.ok_or_else(|| values.invalid(DATA.name, "it must be `random`, `zeros` or `half-zeros`"))
}

/// The operations of a workload.
enum Ops {
    /// A single operation.
    Only(Op),
    /// An IO is a read if its random number is below this, and a write otherwise.
    Reads(u64),
    /// The model of Frankie, Hughes and Kreutz-Delgado ("A Mathematical Model of the Trim Command
    /// in NAND-Flash SSDs", ACMSE 2012), with reads. Each trim goes to a uniformly random place
    /// with data, and becomes a write if no place has data.
    ///
    /// In the model all requests have the size of a place. With other sizes, a trim has the length
    /// of a write but ends where the data ends, so that no place is trimmed twice.
    Trims {
        reads: u64,
        /// The threshold for reads and trims together.
        trims: u64,
        live: Live,
    },
}

impl Ops {
    fn read(
        values: &Values,
        target: &Target,
        size: &Size,
        alignment: u64,
        length: Bytes,
    ) -> Result<Ops, WorkloadError> {
        let (reads, trims) = (share_of_reads(values)?, values.share("trims")?);
        if trims == 0.0 {
            return Ok(match reads {
                0.0 => Ops::Only(Op::Write),
                1.0 => Ops::Only(Op::Read),
                _ => Ops::Reads(threshold(reads)),
            });
        }
        if trims >= 1.0 - reads - trims {
            let rule = "it must be below the share of writes; otherwise no data is left to trim";
            return Err(values.invalid("trims", rule));
        }
        if size.all().any(|size| !size.is_multiple_of(alignment)) {
            let rule = "with trims, every size must be a multiple of the alignment";
            return Err(values.invalid("trims", rule));
        }
        let Some(units) = places(length.0 / alignment) else {
            let rule = format!(
                "the target range has more than {MAX_PLACES} places of {}: make it shorter with \
                 `length`, or the alignment larger",
                Bytes(alignment)
            );
            return Err(values.invalid("trims", rule));
        };
        let live = Live::new(units, target.filled);
        Ok(Ops::Trims { reads: threshold(reads), trims: threshold(reads + trims), live })
    }

    /// Returns the shares of reads and of trims.
    fn shares(&self) -> (f64, f64) {
        match self {
            Ops::Only(op) => (f64::from(u8::from(*op == Op::Read)), 0.0),
            Ops::Reads(reads) => (share(*reads), 0.0),
            Ops::Trims { reads, trims, .. } => (share(*reads), share(*trims) - share(*reads)),
        }
    }

    /// Returns the next operation, of `len` bytes. For a trim, also returns its first place and its
    /// number of places.
    #[inline]
    fn draw(
        &mut self,
        len: u64,
        alignment: u64,
        rng: &mut Xoshiro256PlusPlus,
    ) -> (Op, Option<(u64, u64)>) {
        match self {
            Ops::Only(op) => (*op, None),
            Ops::Reads(reads) => (read_or_write(rng.next_u64() < *reads), None),
            Ops::Trims { reads, trims, live } => {
                let drawn = rng.next_u64();
                if drawn < *reads || drawn >= *trims {
                    return (read_or_write(drawn < *reads), None);
                }
                let places = live.take(len / alignment, rng);
                (if places.is_some() { Op::Trim } else { Op::Write }, places)
            }
        }
    }

    #[inline]
    fn written(&mut self, unit: u64, len: u64, alignment: u64) {
        if let Ops::Trims { live, .. } = self {
            live.insert(unit, len / alignment);
        }
    }
}

fn share_of_reads(values: &Values) -> Result<f64, WorkloadError> {
    let op = values.given("op");
    if op.is_some() && values.given("reads").is_some() {
        return Err(values.invalid("op", "it sets `reads`: give only one of the two"));
    }
    match op {
        Some("read") => Ok(1.0),
        Some("write") => Ok(0.0),
        Some(_) => Err(values.invalid("op", "it must be `read` or `write`")),
        None => values.share("reads"),
    }
}

fn read_or_write(read: bool) -> Op {
    if read { Op::Read } else { Op::Write }
}

/// Returns the number below which a share of all 64-bit numbers lies.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // saturates at the whole
pub(super) fn threshold(share: f64) -> u64 {
    (share * 2f64.powi(64)) as u64
}

/// Returns the share of all 64-bit numbers that lie below `threshold`.
#[allow(clippy::cast_precision_loss)] // shares need no more digits
pub(super) fn share(threshold: u64) -> f64 {
    threshold as f64 / 2f64.powi(64)
}
