//! The models, compared with published values, with each other, and with the simulator.

mod range;
mod reference;
mod surface;
mod table;
mod traces;
