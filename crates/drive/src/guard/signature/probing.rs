//! What libblkid, the library of `blkid(8)` and `wipefs(8)`, says that something bears.
//!
//! It is never linked, as its licence (LGPL) would then bind how this program is passed on: it is loaded where it is
//! installed, and where that cannot be, as in the static build, `blkid` is run.

#[cfg(not(target_feature = "crt-static"))]
mod library;
mod program;

use std::fs::File;

/// The answer of libblkid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Answer {
    /// It knows nothing of what is there.
    Nothing,
    /// One thing.
    Type {
        /// As in the list of `blkid -k`; of a partition table the `PTTYPE`.
        name: String,
        /// Of its magic, as far as that is known.
        offset: Option<u64>,
        /// Whether it is a partition table.
        is_table: bool,
    },
    /// Several things that exclude each other.
    Several,
    /// It is not installed, or could not read what it wanted to.
    Unavailable,
}

impl Answer {
    /// A type by the name that libblkid gives it, which a terminal may show.
    fn of_type(name: &str, offset: Option<u64>, is_table: bool) -> Answer {
        let plain = |c: char| c.is_ascii_alphanumeric() || "_-+.".contains(c);
        let is_plain = !name.is_empty() && name.len() <= 40 && name.chars().all(plain);
        let name = if is_plain { name } else { "unknown" };
        Answer::Type { name: name.into(), offset, is_table }
    }
}

/// Asks libblkid what is there, if it can be asked. Nothing is written.
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
