use std::fmt;

/// A Linux error number, as the result of a failed IO.
///
/// Simulated drives return the numbers that a real drive would return.
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

/// The errors that drives return: number, name and meaning.
const KNOWN: [(Errno, &str, &str); 13] = [
    (Errno::EIO, "EIO", "input/output error"),
    (Errno::ENXIO, "ENXIO", "no such device or address"),
    (Errno::EAGAIN, "EAGAIN", "resource temporarily unavailable"),
    (Errno::ENODEV, "ENODEV", "no such device"),
    (Errno::EINVAL, "EINVAL", "invalid argument"),
    (Errno::ENOSPC, "ENOSPC", "no space left on device"),
    (Errno::EROFS, "EROFS", "read-only device"),
    (Errno::ENODATA, "ENODATA", "unreadable or missing data"),
    (Errno::EPROTO, "EPROTO", "the drive broke the protocol"),
    (Errno::EOVERFLOW, "EOVERFLOW", "too many active zones"),
    (Errno::ETOOMANYREFS, "ETOOMANYREFS", "too many open zones"),
    (Errno::ETIMEDOUT, "ETIMEDOUT", "timed out"),
    (Errno::EOPNOTSUPP, "EOPNOTSUPP", "operation not supported"),
];

impl Errno {
    /// Input/output error.
    pub const EIO: Errno = Errno(5);
    /// No such device or address, or it was removed.
    pub(crate) const ENXIO: Errno = Errno(6);
    /// Resource temporarily unavailable.
    pub const EAGAIN: Errno = Errno(11);
    /// No such device, or it was removed.
    pub const ENODEV: Errno = Errno(19);
    /// Invalid argument, such as a range beyond the end of the drive.
    pub const EINVAL: Errno = Errno(22);
    /// No space left.
    pub const ENOSPC: Errno = Errno(28);
    /// The device is read-only.
    pub const EROFS: Errno = Errno(30);
    /// The data ends before the requested range does.
    pub const ENODATA: Errno = Errno(61);
    /// Protocol error: the drive completed an IO that was not in flight, or completed it before its
    /// submission.
    pub const EPROTO: Errno = Errno(71);
    /// Too many active zones.
    pub const EOVERFLOW: Errno = Errno(75);
    /// Too many open zones.
    pub const ETOOMANYREFS: Errno = Errno(109);
    /// Timed out.
    pub const ETIMEDOUT: Errno = Errno(110);
    /// Operation not supported.
    pub const EOPNOTSUPP: Errno = Errno(95);

    /// Returns true if the drive was removed, which means that every other IO will fail too.
    pub fn is_drive_gone(self) -> bool {
        matches!(self, Errno::ENODEV | Errno::ENXIO)
    }

    /// Returns the symbolic name, or `None` for a number that is not in [`KNOWN`].
    pub fn name(self) -> Option<&'static str> {
        KNOWN.iter().find(|known| known.0 == self).map(|known| known.1)
    }
}

impl From<std::io::Error> for Errno {
    /// Takes the error number of the operating system, or `EIO` for an error without one.
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

    #[test]
    fn display_shows_the_name_or_the_number() {
        assert_eq!(Errno::EIO.to_string(), "EIO (input/output error)");
        assert_eq!(Errno(4711).to_string(), "errno 4711");
    }
}
