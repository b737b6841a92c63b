//! Explains that a command is missing from this build: `make demo` omits commands to save build
//! time, and some commands need Linux.

use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::print::notice;

/// The commands behind features, and whether this build has them.
const OPTIONAL: [(&str, bool); 7] = [
    ("attach", cfg!(feature = "attach")),
    ("devices", cfg!(feature = "attach")),
    ("registry", cfg!(feature = "serve")),
    ("reproduce", cfg!(feature = "papers")),
    ("serve", cfg!(feature = "serve")),
    ("submit", cfg!(feature = "serve")),
    ("watch", cfg!(feature = "attach")),
];

/// The commands that need interfaces of the Linux kernel.
const LINUX_ONLY: [&str; 4] = ["attach", "devices", "record", "watch"];

/// Prints a notice if a command is unknown in this build, but exists in another build.
pub(crate) fn notice(error: &clap::Error) {
    let Some(ContextValue::String(name)) = error.get(ContextKind::InvalidSubcommand) else {
        return;
    };
    if error.kind() != ErrorKind::InvalidSubcommand {
        return;
    }
    if cfg!(not(target_os = "linux")) && LINUX_ONLY.contains(&name.as_str()) {
        return notice!("flashscope: `{name}` works on Linux only");
    }
    let is_left_out = OPTIONAL.iter().any(|(command, built)| command == name && !built);
    if is_left_out {
        notice!(
            "flashscope: this build leaves out `{name}`; `make build` builds the complete program"
        );
    }
}
