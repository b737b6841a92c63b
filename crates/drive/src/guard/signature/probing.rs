//! Detection by libblkid, the library of `blkid(8)` and `wipefs(8)`.
//!
//! The library is loaded at run time if it is installed. It is not linked, because its licence
//! (LGPL) would affect the distribution of this program. If it cannot be loaded, as in the static
//! build, or does not answer, the program `blkid` runs instead.

#[cfg(not(target_feature = "crt-static"))]
mod library;
mod program;

use std::fs::File;

/// The answer of libblkid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Answer {
    /// It detects nothing.
    Nothing,
    /// It detects one signature.
    Type {
        /// The type, as listed by `blkid -k`; for a partition table, the `PTTYPE`.
        name: String,
        /// The offset of the magic, if known.
        offset: Option<u64>,
        /// True for a partition table.
        is_table: bool,
    },
    /// It detects several signatures that exclude each other.
    Several,
    /// It is not installed, or could not read the data.
    Unavailable,
}

impl Answer {
    /// Creates an answer with a type name of libblkid. A name that a terminal should not display
    /// becomes "unknown".
    fn of_type(name: &str, offset: Option<u64>, is_table: bool) -> Answer {
        let plain = |c: char| c.is_ascii_alphanumeric() || "_-+.".contains(c);
        let is_plain = !name.is_empty() && name.len() <= 40 && name.chars().all(plain);
        let name = if is_plain { name } else { "unknown" };
        Answer::Type { name: name.into(), offset, is_table }
    }
}

/// Returns the signature that libblkid detects in `file`, without writing to it.
pub(super) fn ask(file: &File) -> Answer {
    #[cfg(not(target_feature = "crt-static"))]
    if let answer @ (Answer::Nothing | Answer::Type { .. } | Answer::Several) = library::ask(file) {
        return answer;
    }
    program::ask(file)
}

#[cfg(test)]
pub(super) use program::ask as ask_program;

#[cfg(all(test, not(target_feature = "crt-static")))]
pub(super) use library::ask as ask_library;
