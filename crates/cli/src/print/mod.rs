//! Prints all output of the program, escaped: results to standard output, notes and errors to
//! standard error. `clippy.toml` forbids the standard streams elsewhere.

mod escape;
pub(crate) mod layout;

use std::ffi::OsString;
use std::fmt;
use std::io::{self, IsTerminal, StdoutLock, Write};
use std::path::Path;
use std::sync::OnceLock;

use clap::ColorChoice;
pub(crate) use escape::escape_untrusted;
use escape::{Escaping, Form, is_unsafe};
use flashscope_command::options::JsonArgs;
use serde::Serialize;

/// Options for progress, notes and colour.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct TerminalArgs {
    /// Hide progress and notes
    #[arg(long, short, global = true, conflicts_with = "verbose", help_heading = "Terminal")]
    pub quiet: bool,

    /// Print a line for each phase, with its duration
    #[arg(long, short, global = true, help_heading = "Terminal")]
    pub verbose: bool,

    /// Use colour in help and errors
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        default_value = "auto",
        help_heading = "Terminal"
    )]
    pub color: ColorChoice,

    /// Show the progress of the command in a browser: the run under way, the time left and the
    /// results so far
    ///
    /// The address is printed on standard error; port 0 chooses a free port. In a terminal, the
    /// page stays after the end of the command until Ctrl-C.
    #[cfg(feature = "serve")]
    #[arg(
        long,
        global = true,
        value_name = "ADDRESS",
        value_parser = crate::listen::address,
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "127.0.0.1:0",
        help_heading = "Terminal"
    )]
    pub live: Option<std::net::SocketAddr>,
}

/// The options for progress, notes and colour; set once, before the first output.
static TERMINAL: OnceLock<TerminalArgs> = OnceLock::new();

/// Sets the options for progress, notes and colour.
pub(crate) fn set(terminal: &TerminalArgs) {
    let _ = TERMINAL.set(terminal.clone());
}

/// Returns the options for progress, notes and colour.
pub(crate) fn terminal() -> &'static TerminalArgs {
    TERMINAL.get_or_init(TerminalArgs::default)
}

/// Returns the value of `--color` before the options are parsed, because the help and the errors of
/// the parser need it.
pub(crate) fn typed_color() -> ColorChoice {
    let mut arguments = std::env::args_os().map(|argument| argument.to_string_lossy().into_owned());
    while let Some(argument) = arguments.next() {
        let value = match argument.strip_prefix("--color") {
            Some("") => arguments.next(),
            Some(rest) => rest.strip_prefix('=').map(str::to_owned),
            None => None,
        };
        if let Some(choice) = value.and_then(|value| value.parse().ok()) {
            return choice;
        }
    }
    ColorChoice::Auto
}

/// Returns true if standard error is a terminal.
#[allow(clippy::disallowed_methods, reason = "nothing is printed")]
pub(crate) fn is_terminal() -> bool {
    io::stderr().is_terminal()
}

/// Returns true if standard error shows colour.
#[allow(clippy::disallowed_methods, reason = "the command line reads the environment")]
fn is_coloured() -> bool {
    match terminal().color {
        ColorChoice::Always => true,
        ColorChoice::Never => false,
        ColorChoice::Auto => io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none(),
    }
}

/// Prints the error with which a command ends.
#[allow(clippy::disallowed_methods, reason = "only the colour is not escaped")]
pub(crate) fn failure(words: &str) {
    if is_coloured() {
        // Standard error may be closed.
        let _ = io::stderr().write_all(b"\x1b[1;31mflashscope:\x1b[0m ");
        to_user(format_args!("{words}"));
    } else {
        to_user(format_args!("flashscope: {words}"));
    }
}

/// Prints a note on standard error, unless `--quiet` is given.
pub(crate) fn note(words: fmt::Arguments) {
    if !terminal().quiet {
        to_user(words);
    }
}

/// Prints a line for the user on standard error.
macro_rules! notice {
    ($($words:tt)*) => { $crate::print::to_user(format_args!($($words)*)) };
}
pub(crate) use notice;

/// Prints a result, as JSON or as text.
pub(crate) fn document(
    json: JsonArgs,
    document: &impl Serialize,
    text: impl FnOnce() -> String,
) -> anyhow::Result<()> {
    if json.is_given {
        let mut out = json_lines();
        serde_json::to_writer_pretty(&mut out, document)?;
        writeln!(out)?;
    } else {
        write!(text_lines(), "{}", text())?;
    }
    Ok(())
}

/// Returns the path of a result, with the command that shows it.
pub(crate) fn result(path: &Path) -> String {
    let path = path.display();
    format!("\nresult: {path}\nsee it: flashscope report {path}\n")
}

/// Prints a line and flushes it, because the reader of a pipe may wait for it.
#[cfg(feature = "serve")]
pub(crate) fn line(mut out: impl Write, words: &impl fmt::Display) -> io::Result<()> {
    writeln!(out, "{words}")?;
    out.flush()
}

/// Returns standard output for text.
pub(crate) fn text_lines() -> Escaping<StdoutLock<'static>> {
    standard_output(Form::Text)
}

/// Returns standard output for JSON.
pub(crate) fn json_lines() -> Escaping<StdoutLock<'static>> {
    standard_output(Form::Json)
}

#[allow(clippy::disallowed_methods, reason = "the output is escaped here")]
fn standard_output(form: Form) -> Escaping<StdoutLock<'static>> {
    Escaping::new(io::stdout().lock(), form)
}

/// Returns standard output for data such as a trace. A terminal shows the data escaped; a program
/// receives the bytes unchanged.
#[allow(clippy::disallowed_methods, reason = "the output is escaped here")]
pub(crate) fn data() -> Box<dyn Write + Send> {
    let out = io::stdout();
    match out.is_terminal() {
        true => Box::new(Escaping::new(out, Form::Text)),
        false => Box::new(out),
    }
}

/// Prints a message on standard error, see [`notice`]. Indents all lines but the first, because a
/// line break in untrusted text could forge a message.
#[allow(clippy::disallowed_methods, reason = "the output is escaped here")]
pub(crate) fn to_user(words: fmt::Arguments) {
    let line = words.to_string().replace('\n', "\n  ") + "\n";
    // Standard error may be closed.
    let _ = Escaping::new(io::stderr().lock(), Form::Text).write_all(line.as_bytes());
}

/// Prints an error about the options, or the help, and returns the exit status. `clap` repeats the
/// options, which may contain untrusted file names. If any of them is unsafe, the message is
/// escaped and has no colour.
pub(crate) fn options(error: &clap::Error) -> i32 {
    let is_safe =
        |argument: OsString| argument.to_str().is_some_and(|text| !text.contains(is_unsafe));
    if std::env::args_os().all(is_safe) {
        // The stream may be closed.
        let _ = error.print();
    } else {
        to_user(format_args!("{}", error.render().to_string().trim_end()));
    }
    error.exit_code()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_breaks_in_names_cannot_forge_messages() {
        let words = format_args!("flashscope: a\nflashscope: all is well").to_string();
        assert_eq!(words.replace('\n', "\n  "), "flashscope: a\n  flashscope: all is well");
        assert!(result(Path::new("r")).contains("see it: flashscope report r\n"));
    }
}
