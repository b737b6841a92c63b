//! Synthetic workloads: distributions of addresses, sizes, operations and arrival times, and models
//! of applications.
//!
//! A workload is specified like `uniform?size=4KiB&reads=0.3`: the name of one of [`KINDS`], and
//! after `?` any of its fields. Each kind has a file and a line in the registry below. The
//! addresses of IOs (their places) come from a separate random sequence. Workloads with the same
//! seed and different shares of reads therefore access the same addresses.
//!
//! With more than one IO in flight, an IO does not wait for another IO that it depends on in
//! the application.

mod alias;
mod application;
mod arrivals;
mod btree;
mod checkpoint;
mod clock;
mod error;
mod exchange;
mod generator;
mod hotcold;
mod iozone;
mod kv_cache;
mod law;
mod live;
mod log_structured;
mod lsm;
mod object_cache;
mod postmark;
mod sequential;
mod size;
mod tpcc;
mod trace;
mod uflip;
mod uniform;
mod values;
mod vector_index;
mod zipf;

use application::Access;
pub use application::Application;
pub use error::WorkloadError;
use flashscope_block::{Bytes, StreamId, nearest};
pub use generator::Generator;
pub use law::{Law, PlaceOfRank, Shares};
use rand_xoshiro::Xoshiro256PlusPlus;
use values::Values;
pub(crate) use zipf::Ranks;

use crate::field::{Field, field};
use crate::pattern::Reference;
use crate::playback::{Pace, Playback};

/// A registered kind of workload.
#[derive(Debug)]
pub struct Kind {
    /// The name at the start of a specification, before the argument and the `?`.
    pub name: &'static str,
    /// The argument after the name and a colon, if one is required.
    pub argument: Option<&'static str>,
    /// A one-sentence description.
    pub summary: &'static str,
    /// The source that describes the workload.
    pub source: &'static str,
    /// The aspects of the modelled application that it omits, if any.
    pub leaves_out: Option<&'static str>,
    /// The fields that only this kind has.
    pub fields: &'static [Field],
    /// The fields that it shares with other kinds.
    pub common: &'static [Field],
    open: fn(&Values, &Target) -> Result<Ios, WorkloadError>,
}

impl Kind {
    /// Returns all fields: first its own fields, then the shared fields.
    pub fn all_fields(&self) -> impl Iterator<Item = &'static Field> + use<> {
        self.fields.iter().chain(self.common)
    }
}

/// Defines [`Places`], [`Models`] and [`KINDS`] from one list. A match then selects the code that
/// draws a place or an access, instead of a virtual call.
macro_rules! registry {
    (
        $($module:ident :: $places:ident),+ ;
        $($application:ident :: $model:ident),+ ;
        $($other:ident),+
    ) => {
        /// The generators of addresses, by kind of workload.
        enum Places {
            $($places($module::$places),)+
        }

        impl Places {
            #[inline]
            fn draw(&mut self, units: u64, rng: &mut Xoshiro256PlusPlus) -> Place {
                match self { $(Places::$places(places) => places.draw(units, rng),)+ }
            }
        }

        /// The models of applications.
        enum Models {
            $($model($application::$model),)+
        }

        impl Models {
            #[inline]
            fn next(&mut self, rng: &mut Xoshiro256PlusPlus) -> Access {
                match self { $(Models::$model(model) => model.next(rng),)+ }
            }
        }

        /// Every workload, in display order.
        pub const KINDS: &[&Kind] =
            &[$(&$module::KIND,)+ $(&$application::KIND,)+ $(&$other::KIND),+];
    };
}

registry![
    uniform::Uniform, sequential::Sequential, hotcold::HotCold, zipf::Zipf, tpcc::TpcC;
    iozone::IoZone, postmark::PostMark, btree::BTree, lsm::Lsm, kv_cache::KvCache,
    object_cache::ObjectCache, vector_index::VectorIndex, checkpoint::Checkpoint, log_structured::LogStructured;
    exchange, uflip, trace
];

/// An address in the target range, in units of the alignment, and the stream of the IO.
#[derive(Clone, Copy)]
struct Place {
    unit: u64,
    stream: StreamId,
}

/// The parameters from which a kind of workload generates its addresses.
struct Room {
    /// The number of places, each with room for the smallest IO.
    units: u64,
    /// The distance from one place to the next in bytes.
    unit: u64,
    /// The seed of random choices that are made once, such as a permutation of the places.
    seed: u64,
}

/// The fields of every workload that is defined by distributions. Other workloads have some of
/// these fields.
pub const COMMON: &[Field] =
    &[SIZE, ALIGNMENT, OP, READS, TRIMS, OFFSET, LENGTH, DATA, RATE, ARRIVALS, QUEUE_DEPTH, SEED];

/// The common fields except `size` and `reads`, for which workloads modelled on a server have other
/// defaults.
const COMMON_BUT_SIZE_AND_READS: &[Field] =
    &[ALIGNMENT, OP, TRIMS, OFFSET, LENGTH, DATA, RATE, ARRIVALS, QUEUE_DEPTH, SEED];

/// The fields of an application, which has its own sizes and operations.
const APPLICATION: &[Field] = &[OFFSET, LENGTH, RATE, ARRIVALS, QUEUE_DEPTH, SEED];

const SIZE: Field = size(Some("4KiB"));
const READS: Field = reads(Some("0"));

const fn size(default: Option<&'static str>) -> Field {
    field(
        "size",
        default,
        "bytes in an IO: a size; or a distribution, `geometric:8KiB` (multiples of the alignment \
         with this mean), `exponential:8KiB` (this mean before sizes are rounded up to multiples \
         of the alignment, which adds about half of it), `uniform:4KiB..64KiB`; or sizes with \
         their shares, `4KiB:0.7+64KiB:0.3`",
    )
}

const fn reads(default: Option<&'static str>) -> Field {
    field("reads", default, "share of reads, 0 to 1")
}

const ALIGNMENT: Field = field(
    "alignment",
    None,
    "offsets, and sizes of a continuous distribution, are multiples of this \
     [default: the size, the smallest size of a mix, or 4KiB]",
);
const OP: Field = field("op", None, "`read` or `write`: short for `reads=1` and `reads=0`");
const TRIMS: Field = field(
    "trims",
    Some("0"),
    "share of trims, below the share of writes; each trim goes to a random place that holds \
     data, and is as long as a write, but ends where the data ends",
);
const OFFSET: Field = field("offset", Some("0"), "start of the target range");
const DATA: Field = field(
    "data",
    Some("random"),
    "content of writes: `random` data that no drive can compress, `zeros`, or `half-zeros`, zeros \
     in the second half of every 4 KiB",
);
const LENGTH: Field =
    field("length", None, "length of the target range [default: to the end of the drive]");
const RATE: Field = field(
    "rate",
    None,
    "IOs a second, independent of the IOs in flight: an open loop [default: a closed loop]",
);
const ARRIVALS: Field =
    field("arrivals", Some("constant"), "with a rate: `constant`, `poisson` or `uniform`");
const QUEUE_DEPTH: Field = field(
    "queue_depth",
    None,
    "maximum IOs in flight [default: 1 in a closed loop, the drive's maximum in an open loop]",
);
const SEED: Field = field("seed", None, "seed of all random numbers [default: the caller's seed]");

/// The properties of a drive that a workload may depend on.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// Addressable bytes.
    pub capacity: Bytes,
    /// Offsets and lengths are multiples of this.
    pub logical_block: Bytes,
    /// True if every byte of the drive has been written. Trims only go to places that hold data.
    pub filled: bool,
    /// The seed, unless the workload names one.
    pub seed: u64,
}

/// The IOs of a workload.
pub enum Ios {
    /// One endless stream.
    Endless(Box<Generator>),
    /// One endless stream, of an application.
    Application(Box<Application>),
    /// Runs in sequence, each with its own streams.
    Runs(Vec<Reference>),
    /// The requests of a trace, which `flashscope-trace` reads.
    Trace(Playback),
}

/// A workload that fits its drive.
pub struct Workload {
    /// The IOs of the workload.
    pub ios: Ios,
    /// The requested number of IOs in flight, if given.
    pub queue_depth: Option<u32>,
    /// True for an open loop, in which IOs arrive independently of completions.
    pub open_loop: bool,
    /// The seed of all random numbers of the workload.
    pub seed: u64,
}

/// Creates the workload that `spec` describes, for a drive.
///
/// # Errors
/// An error in the spec, with the nearest valid name if a name is unknown, or the reason why the
/// workload cannot run on the drive.
pub fn open(spec: &str, target: &Target) -> Result<Workload, WorkloadError> {
    let (name, fields) = spec.split_once('?').unwrap_or((spec, ""));
    let (name, argument) = name.split_once(':').unwrap_or((name, ""));
    let kind = KINDS.iter().find(|kind| kind.name == name);
    let kind = kind.filter(|kind| kind.argument.is_some() || argument.is_empty());
    let kind = kind.ok_or_else(|| {
        let valid: Vec<_> = KINDS.iter().map(|kind| kind.name).collect();
        let nearest = nearest(name, valid.iter().copied());
        WorkloadError::Unknown { name: spec_name(spec).into(), nearest, valid }
    })?;
    let values = Values::read(kind, argument, fields)?;
    let whole = |name| values.number(name, "it must be a whole number", |_: &u64| true);
    let seed = if values.given("seed").is_some() { whole("seed")? } else { None };
    let seed = seed.unwrap_or(target.seed);
    let ios = (kind.open)(&values, &Target { seed, ..*target })?;
    let own_depth = kind.all_fields().any(|field| field.name == QUEUE_DEPTH.name);
    let rule = "it must be a whole number, at least 1";
    let queue_depth = match own_depth {
        true => values.number(QUEUE_DEPTH.name, rule, |depth: &u32| *depth > 0)?,
        false => Some(1),
    };
    let open_loop = match &ios {
        Ios::Trace(playback) => playback.pace == Pace::Timed,
        _ => own_depth && values.given("rate").is_some(),
    };
    Ok(Workload { ios, queue_depth, open_loop, seed })
}

fn spec_name(spec: &str) -> &str {
    spec.split('?').next().unwrap_or(spec)
}

#[cfg(test)]
mod tests;
