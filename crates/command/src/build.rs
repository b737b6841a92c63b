//! The build that produced this program.

use flashscope_document::manifest::Tool;

/// Version, commit and date of the commit, such as `0.2.0 (0123456789ab 2026-11-23)`; the version
/// alone for a build from an archive of the sources.
pub const VERSION: &str = env!("FLASHSCOPE_VERSION");

/// Returns the identity of this build, as results record it.
pub fn tool() -> Tool {
    Tool {
        version: env!("CARGO_PKG_VERSION").into(),
        commit: option_env!("FLASHSCOPE_COMMIT").map(str::to_owned),
    }
}
