use flashscope_block::StreamId;
use rand::Rng;
use rand::distr::{Distribution, Uniform};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::application::{COLD_STREAM, HOT_STREAM};
use super::generator::{share, threshold};
use super::law::Shares;
use super::{COMMON, Generator, Kind, Place, Places, field};

/// A small part of the space takes most of the IOs; each part is uniform in itself.
///
/// Hot data lies at the start of the target range. Reads follow the same shares as writes.
pub(super) const KIND: Kind = Kind {
    name: "hotcold",
    argument: None,
    summary: "a hot part of the space takes most of the IOs; both parts are uniform",
    source: "Rosenblum and Ousterhout, TOCS 1992, section 3.5; Desnoyers, SYSTOR 2012",
    leaves_out: None,
    fields: &[
        field("hot_space", Some("0.2"), "share of the space that is hot, between 0 and 1"),
        field("hot_writes", Some("0.8"), "share of the IOs that go to the hot part, 0 to 1"),
        field(
            "streams",
            Some("false"),
            "`true` marks hot IOs as stream 1 and cold IOs as 2, for drives that separate streams",
        ),
    ],
    common: COMMON,
    open: |values, target| {
        let space = values.share("hot_space")?;
        let hot_share = threshold(values.share("hot_writes")?);
        let [hot_stream, cold_stream] =
            if values.flag("streams")? { [HOT_STREAM, COLD_STREAM] } else { [0, 0] };
        Generator::open(values, target, |room| {
            #[allow(
                clippy::cast_precision_loss,
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss
            )] // places are fewer than 2^53
            let hot_units = (space * room.units as f64).round() as u64;
            let hot = Uniform::new(0, hot_units);
            let cold = Uniform::new(hot_units, room.units);
            let (Ok(hot), Ok(cold)) = (hot, cold) else {
                let rule = format!("of {} places, some must be hot and some cold", room.units);
                return Err(values.invalid("hot_space", rule));
            };
            Ok(Places::HotCold(HotCold {
                hot_share,
                hot_units,
                hot,
                cold,
                hot_stream,
                cold_stream,
            }))
        })
    },
};

pub(super) struct HotCold {
    /// An IO is hot if its random number is below this.
    hot_share: u64,
    /// The number of hot places.
    hot_units: u64,
    hot: Uniform<u64>,
    cold: Uniform<u64>,
    hot_stream: StreamId,
    cold_stream: StreamId,
}

impl HotCold {
    pub(super) fn shares(&self) -> Shares {
        Shares::HotCold { hot: self.hot_units, writes: share(self.hot_share) }
    }

    #[inline]
    pub(super) fn draw(&mut self, _units: u64, rng: &mut Xoshiro256PlusPlus) -> Place {
        if rng.next_u64() < self.hot_share {
            Place { unit: self.hot.sample(rng), stream: self.hot_stream }
        } else {
            Place { unit: self.cold.sample(rng), stream: self.cold_stream }
        }
    }
}
