//! An attached drive under real programs: fio, ext4 and PostgreSQL, on a loop device over FUSE; and
//! what is left after its power was cut. Where root, /dev/fuse or a program is missing, each test
//! says so and is passed by.

#![allow(clippy::print_stdout, reason = "says what is passed by, and why")]

mod file_system;
mod fio;
mod machine;
mod postgres;
mod power_cut;
