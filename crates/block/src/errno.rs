use std::fmt;

/// The error number of a failed IO, as Linux numbers them.
///
/// A simulated drive answers with the numbers a real one would give.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Hash,
    serde::Serialize,
    serde::Deserialize,
    schemars::JsonSchema,
)]
#[serde(transparent)]
pub struct Errno(pub i32);

/// Number, name and meaning of what drives answer.
const KNOWN: [(Errno, &str, &str); 11] = [
    (Errno::EIO, "EIO", "input/output error"),
    (Errno::ENXIO, "ENXIO", "no such device or address"),
    (Errno::EAGAIN, "EAGAIN", "resource temporarily unavailable"),
    (Errno::ENODEV, "ENODEV", "no such device"),
    (Errno::EINVAL, "EINVAL", "invalid argument"),
    (Errno::ENOSPC, "ENOSPC", "no space left on device"),
    (Errno::EROFS, "EROFS", "read-only device"),
    (Errno::ENODATA, "ENODATA", "unreadable or missing data"),
    (Errno::EPROTO, "EPROTO", "an answer that cannot be true"),
    (Errno::ETIMEDOUT, "ETIMEDOUT", "timed out"),
    (Errno::EOPNOTSUPP, "EOPNOTSUPP", "operation not supported"),
];

impl Errno {
    /// Input/output error.
    pub const EIO: Errno = Errno(5);
    /// No such device or address (any more).
    pub const ENXIO: Errno = Errno(6);
    /// Resource temporarily unavailable.
    pub const EAGAIN: Errno = Errno(11);
    /// No such device (any more).
    pub const ENODEV: Errno = Errno(19);
    /// Invalid argument, such as a range beyond the end of the drive.
    pub const EINVAL: Errno = Errno(22);
    /// No space left.
    pub const ENOSPC: Errno = Errno(28);
    /// The device is read-only.
    pub const EROFS: Errno = Errno(30);
    /// The data ends before the range does.
    pub const ENODATA: Errno = Errno(61);
    /// Protocol error: an answer to what was not asked, or before it was asked.
    pub const EPROTO: Errno = Errno(71);
    /// Timed out.
    pub const ETIMEDOUT: Errno = Errno(110);
    /// Operation not supported.
    pub const EOPNOTSUPP: Errno = Errno(95);

    /// Whether the drive is gone: it was removed, and every other IO will fail as well.
    pub fn is_of_a_drive_that_is_gone(self) -> bool {
        matches!(self, Errno::ENODEV | Errno::ENXIO)
    }

    /// The symbolic name, where it is one that drives answer with.
    pub fn name(self) -> Option<&'static str> {
        KNOWN.iter().find(|known| known.0 == self).map(|known| known.1)
    }
}

impl From<std::io::Error> for Errno {
    /// What the system says; `EIO` of an error that is not the system's.
    fn from(error: std::io::Error) -> Errno {
        error.raw_os_error().map_or(Errno::EIO, Errno)
    }
}

impl fmt::Display for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match KNOWN.iter().find(|known| known.0 == *self) {
            Some((_, name, meaning)) => write!(f, "{name} ({meaning})"),
            None => write!(f, "errno {}", self.0),
        }
    }
}

impl std::error::Error for Errno {}

#[cfg(test)]
mod tests {
    use super::*;

    // Does a message name the error, and at least number one that has no name here?
    #[test]
    fn display_names_the_error() {
        assert_eq!(Errno::EIO.to_string(), "EIO (input/output error)");
        assert_eq!(Errno(4711).to_string(), "errno 4711");
    }
}
