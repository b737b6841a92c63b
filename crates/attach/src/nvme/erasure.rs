//! The erasures of a drive: formats of namespaces, and the last sanitize operation of the whole
//! drive.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

use super::status::Status;
use crate::lock;

/// The state of the last sanitize operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum SanitizeState {
    #[default]
    Never,
    /// In progress, with the number of bytes that are already erased.
    Begun(u64),
    Done,
    Failed,
}

/// The number of erasures of a namespace that have begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct ErasureCount {
    formats: u64,
    sanitizes: u64,
}

impl ErasureCount {
    /// Returns an error if an erasure has begun since this count: `now` is the later count.
    pub(super) fn check(self, now: ErasureCount) -> Result<(), Status> {
        match self {
            _ if self.sanitizes != now.sanitizes => Err(Status::SANITIZE_IN_PROGRESS),
            _ if self.formats != now.formats => Err(Status::FORMAT_IN_PROGRESS),
            _ => Ok(()),
        }
    }
}

/// The erasures of all namespaces.
#[derive(Debug, Default)]
pub(super) struct Erasures(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// The namespaces that are being formatted.
    formatting: BTreeSet<u32>,
    /// The number of formats that have begun, by namespace.
    formats: BTreeMap<u32, u64>,
    /// The number of sanitize operations that have begun.
    sanitizes: u64,
    sanitized: SanitizeState,
    /// Dword 10 of the last Sanitize command.
    options: u32,
    /// True if the last sanitize operation succeeded and nothing was written since.
    is_empty: bool,
}

impl Erasures {
    /// Returns an error while the namespace is being erased, and after a failed sanitize operation.
    pub(super) fn check(&self, namespace: u32) -> Result<(), Status> {
        lock(&self.0).check(namespace)
    }

    /// Begins to format namespaces: all of them, or none.
    pub(super) fn begin_formats(&self, namespaces: &[u32]) -> Result<(), Status> {
        let mut state = lock(&self.0);
        namespaces.iter().try_for_each(|namespace| state.check(*namespace))?;
        state.formatting.extend(namespaces);
        for namespace in namespaces {
            *state.formats.entry(*namespace).or_default() += 1;
        }
        Ok(())
    }

    /// Ends the format of namespaces.
    pub(super) fn end_formats(&self, namespaces: &[u32]) {
        lock(&self.0).formatting.retain(|namespace| !namespaces.contains(namespace));
    }

    /// Begins to sanitize the drive. `options` is dword 10 of the command.
    pub(super) fn begin_sanitize(&self, options: u32) -> Result<(), Status> {
        let mut state = lock(&self.0);
        match state.sanitized {
            _ if !state.formatting.is_empty() => Err(Status::FORMAT_IN_PROGRESS),
            SanitizeState::Begun(_) => Err(Status::SANITIZE_IN_PROGRESS),
            // A failed sanitize operation can only be followed by another one.
            SanitizeState::Never | SanitizeState::Done | SanitizeState::Failed => {
                (state.sanitized, state.options) = (SanitizeState::Begun(0), options);
                state.sanitizes += 1;
                Ok(())
            }
        }
    }

    /// Records that a sanitize operation has erased everything before the byte `end`.
    pub(super) fn sanitized_until(&self, end: u64) {
        if let SanitizeState::Begun(erased) = &mut lock(&self.0).sanitized {
            *erased = end;
        }
    }

    /// Ends the sanitize operation.
    pub(super) fn end_sanitize(&self, is_done: bool) {
        let mut state = lock(&self.0);
        state.sanitized = if is_done { SanitizeState::Done } else { SanitizeState::Failed };
        state.is_empty = is_done;
    }

    /// Returns the number of erasures of a namespace that have begun.
    pub(super) fn count(&self, namespace: u32) -> ErasureCount {
        let state = lock(&self.0);
        let formats = state.formats.get(&namespace).copied().unwrap_or_default();
        ErasureCount { formats, sanitizes: state.sanitizes }
    }

    /// Records that a host changes data.
    pub(super) fn written(&self) {
        lock(&self.0).is_empty = false;
    }

    /// Returns the state of the last sanitize operation, dword 10 of its command, and true if
    /// nothing was written since.
    pub(super) fn sanitized(&self) -> (SanitizeState, u32, bool) {
        let state = lock(&self.0);
        (state.sanitized, state.options, state.is_empty)
    }
}

impl State {
    fn check(&self, namespace: u32) -> Result<(), Status> {
        match self.sanitized {
            _ if self.formatting.contains(&namespace) => Err(Status::FORMAT_IN_PROGRESS),
            SanitizeState::Begun(_) => Err(Status::SANITIZE_IN_PROGRESS),
            SanitizeState::Failed => Err(Status::SANITIZE_FAILED),
            SanitizeState::Never | SanitizeState::Done => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Commands of a namespace that is being formatted are refused with the reason; other namespaces
    // accept commands. A sanitize operation refuses all commands. After a failed sanitize
    // operation, only another one is accepted.
    #[test]
    fn one_erasure_excludes_everything_else() {
        let erasures = Erasures::default();
        erasures.begin_formats(&[2]).unwrap();
        assert_eq!(erasures.check(2), Err(Status::FORMAT_IN_PROGRESS));
        assert_eq!(erasures.check(1), Ok(()));
        assert_eq!(erasures.begin_formats(&[1, 2]), Err(Status::FORMAT_IN_PROGRESS));
        assert_eq!(erasures.check(1), Ok(()), "a refused format begins nothing");
        erasures.begin_formats(&[1]).unwrap();
        assert_eq!(erasures.begin_sanitize(2), Err(Status::FORMAT_IN_PROGRESS));
        erasures.end_formats(&[1, 2]);
        erasures.begin_sanitize(2).unwrap();
        erasures.sanitized_until(512 * 1024);
        assert_eq!(erasures.sanitized(), (SanitizeState::Begun(512 * 1024), 2, false));
        assert_eq!(erasures.check(1), Err(Status::SANITIZE_IN_PROGRESS));
        erasures.end_sanitize(false);
        assert_eq!(erasures.begin_formats(&[1]), Err(Status::SANITIZE_FAILED));
        erasures.begin_sanitize(2).unwrap();
        erasures.end_sanitize(true);
        assert_eq!(erasures.sanitized(), (SanitizeState::Done, 2, true));
        erasures.written();
        assert_eq!(erasures.sanitized(), (SanitizeState::Done, 2, false));
    }
}
