//! `26214000 0 303574 7 0`: issue time in nanoseconds from the start of the trace; device or
//! application-specific unit; logical sector number and length in sectors of 512 bytes; 1 for a
//! read and 0 for a write.
//!
//! [MQSim](super::mqsim) has the same columns with the same meaning. Detection therefore
//! reports `mqsim`.

use super::Format;
use super::mqsim::MqSim;

pub(super) const FORMAT: Format = Format::text::<MqSim>(
    "ssdsim",
    "ASCII of the simulator SSDSim; same form as `mqsim`, which detection reports",
    "Hu et al., ICS 2011; the examples of SSDSim's repository",
);
