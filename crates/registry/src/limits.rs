//! How much is taken from who submits, and kept at hand.

use std::num::NonZeroU32;

/// The largest manifest and facts of a submission together, in bytes of JSON.
pub const SUBMISSION: u64 = 32 << 20;
/// The largest simulation, in bytes of JSON: that of a drive of 32 GB takes 1.3 MB.
pub const SIMULATION: u64 = 8 << 20;
/// The largest probe, in bytes of JSON: one that finds all takes 0.7 MB, most of it pictures.
pub const PROBE: u64 = 16 << 20;
/// The largest file of records, in bytes: 4 million IOs take 20 MB, of the worst kind 100 MB.
pub const PART: u64 = 128 << 20;
/// All records of a submission, in bytes.
pub const RECORDS: u64 = 4 << 30;
/// The most files of records of a submission.
pub const PARTS: usize = 20_000;
/// The most IOs of all runs of a submission together: as many records as no more than [`RECORDS`] hold where
/// each takes 4 bytes. Records that all say the same take less, and each of them is read when it is checked.
pub const IOS: u64 = 1 << 30;
/// Submissions of one token that are not finished.
pub const STAGED: i64 = 8;
/// Seconds after which a submission that nobody finished is given up.
pub const ABANDONED_S: i64 = 24 * 60 * 60;
/// Requests with a token that are received at once.
pub const RECEIVING: usize = 16;
/// Requests with one token that are received at once: it takes not all places, however slowly it sends.
pub const RECEIVING_OF_ONE: usize = 4;
/// Bytes of records of published results that are kept on this machine.
pub const CACHE: u64 = 4 << 30;
/// Results that are kept open.
pub const OPEN: usize = 64;
/// What a token may send in a minute: a submission of 1,400 runs has as many files.
pub const SENT_A_MINUTE: NonZeroU32 = NonZeroU32::new(3000).expect("it is not 0");
/// What an address may ask in a minute without a token: a screen takes about 20 questions, and several may
/// look from one.
pub const ASKED_A_MINUTE: NonZeroU32 = NonZeroU32::new(3000).expect("it is not 0");
/// How many tokens that are none may be tried in a minute, by all together.
pub const TRIED_A_MINUTE: NonZeroU32 = NonZeroU32::new(60).expect("it is not 0");
/// The longest name of a result or a token, in characters.
pub const NAME: usize = 80;
/// The longest text of a result that the shelf shows, in characters: it shows it to everyone.
pub const TEXT: usize = 1000;
/// How far a number of the facts may be from what the records say, relative to it: the machines that
/// computed it may round otherwise.
pub const ROUNDING: f64 = 1e-6;
/// How exact a quantile is: that of its histogram.
pub const QUANTILE: f64 = 0.001;
