//! Tests an attached drive with real programs: fio, ext4 and PostgreSQL on a loop device over FUSE,
//! and the data that a power cut leaves. If root, /dev/fuse or a program is missing, a test prints
//! a note and is skipped.

#![allow(clippy::print_stdout, reason = "prints which tests are skipped, and why")]

mod file_system;
mod fio;
mod machine;
mod postgres;
mod power_cut;
mod verify;
