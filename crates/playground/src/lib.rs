//! A simulated drive to play with. [`Playground`] runs a workload on a small drive, a flash command
//! at a time, and shows the state of every page in between. The page of flashscope runs it as
//! WebAssembly in a worker, through the functions of [`abi`].
//!
//! Two parts work at different speeds. The *drive* ([`engine`]) computes whole IOs, as in every
//! other simulation. The *film* ([`film`]) replays the flash commands of these IOs one by one, and
//! keeps a picture of the flash between two commands. The counts that users see are those of the
//! film. Once the film has caught up, they equal the counters of the drive.

pub mod abi;
mod curve;
mod dropped;
mod engine;
mod film;
mod numbers;
mod playground;
mod recorder;
mod theory;
mod workload;

pub use dropped::DroppedProfile;
pub use film::{PageState, Touch};
pub use numbers::Numbers;
pub use playground::{Playground, Refusal, Setup};
pub use workload::{Pattern, Workload};
