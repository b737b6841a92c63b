//! Everything that the program prints goes through here, and is escaped on the way: what a command found on standard
//! output, notes and errors on standard error. `clippy.toml` refuses the standard streams elsewhere.

mod escape;

use std::ffi::OsString;
use std::fmt;
use std::io::{self, IsTerminal, StdoutLock, Write};
use std::path::Path;
use std::sync::OnceLock;

use clap::ColorChoice;
pub use escape::escape_untrusted;
use escape::{Escaping, Form, is_unsafe};
use flashscope_command::options::JsonArgs;
use serde::Serialize;

use crate::args::TerminalArgs;

/// The user's choice of progress, notes and colour; set once, before the first output.
static TERMINAL: OnceLock<TerminalArgs> = OnceLock::new();

/// Sets the user's choice.
pub fn set(terminal: &TerminalArgs) {
    let _ = TERMINAL.set(terminal.clone());
}

/// The user's choice.
pub fn terminal() -> &'static TerminalArgs {
    TERMINAL.get_or_init(TerminalArgs::default)
}

/// The colour that was typed, known before the options are read: help and errors about them have it too.
pub fn typed_color() -> ColorChoice {
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

/// True if standard error is a terminal.
#[allow(clippy::disallowed_methods, reason = "nothing is printed")]
pub fn is_terminal() -> bool {
    io::stderr().is_terminal()
}

/// True if standard error shows colour.
#[allow(clippy::disallowed_methods, reason = "the command line reads the environment")]
fn is_coloured() -> bool {
    match terminal().color {
        ColorChoice::Always => true,
        ColorChoice::Never => false,
        ColorChoice::Auto => io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none(),
    }
}

/// Prints why a command ends.
#[allow(clippy::disallowed_methods, reason = "what is not a colour is escaped")]
pub fn failure(words: &str) {
    if is_coloured() {
        // Standard error may be closed: then nobody reads it.
        let _ = io::stderr().write_all(b"\x1b[1;31mflashscope:\x1b[0m ");
        to_user(format_args!("{words}"));
    } else {
        to_user(format_args!("flashscope: {words}"));
    }
}

/// Prints something worth knowing on standard error, unless the user wants quiet.
pub fn note(words: fmt::Arguments) {
    if !terminal().quiet {
        to_user(words);
    }
}

/// Prints a line for the user on standard error.
macro_rules! notice {
    ($($words:tt)*) => { $crate::print::to_user(format_args!($($words)*)) };
}
pub(crate) use notice;

/// Prints what was found: as JSON, for programs, or as a text.
pub fn document(
    json: JsonArgs,
    found: &impl Serialize,
    text: impl FnOnce() -> String,
) -> anyhow::Result<()> {
    if json.is_given {
        let mut out = json_lines();
        serde_json::to_writer_pretty(&mut out, found)?;
        writeln!(out)?;
    } else {
        write!(text_lines(), "{}", text())?;
    }
    Ok(())
}

/// Where a result is, and how it is seen.
pub fn result(path: &Path) -> String {
    let path = path.display();
    format!("\nresult: {path}\nsee it: flashscope report {path}\n")
}

/// Prints a line at once: whoever waits for it may read through a pipe.
#[cfg(feature = "serve")]
pub fn line(mut out: impl Write, words: &impl fmt::Display) -> io::Result<()> {
    writeln!(out, "{words}")?;
    out.flush()
}

/// Standard output for text.
pub fn text_lines() -> Escaping<StdoutLock<'static>> {
    standard_output(Form::Text)
}

/// Standard output for JSON.
pub fn json_lines() -> Escaping<StdoutLock<'static>> {
    standard_output(Form::Json)
}

#[allow(clippy::disallowed_methods, reason = "it is escaped here")]
fn standard_output(form: Form) -> Escaping<StdoutLock<'static>> {
    Escaping::new(io::stdout().lock(), form)
}

/// Standard output for data such as a trace: a program gets the bytes as they are, and a terminal text.
#[allow(clippy::disallowed_methods, reason = "it is escaped here")]
pub fn data() -> Box<dyn Write + Send> {
    let out = io::stdout();
    match out.is_terminal() {
        true => Box::new(Escaping::new(out, Form::Text)),
        false => Box::new(out),
    }
}

/// Prints a line for the user on standard error: see [`notice`]. Lines that follow are indented, so that no text in it
/// passes for a line of its own.
#[allow(clippy::disallowed_methods, reason = "it is escaped here")]
pub fn to_user(words: fmt::Arguments) {
    let line = words.to_string().replace('\n', "\n  ") + "\n";
    // Standard error may be closed: then nobody reads it.
    let _ = Escaping::new(io::stderr().lock(), Form::Text).write_all(line.as_bytes());
}

/// Prints what is wrong with the options that were given, or the help that was asked for; returns the exit status.
/// `clap` repeats the options as they were typed, by a script perhaps that takes names of files: if any of them is not
/// shown as it stands, its words are escaped, and without colour.
pub fn options(error: &clap::Error) -> i32 {
    let shown_as_it_stands =
        |argument: OsString| argument.to_str().is_some_and(|text| !text.contains(is_unsafe));
    if std::env::args_os().all(shown_as_it_stands) {
        // Who has closed the stream reads nothing.
        let _ = error.print();
    } else {
        to_user(format_args!("{}", error.render().to_string().trim_end()));
    }
    error.exit_code()
}

#[cfg(test)]
mod tests {
    use super::*;

    // Does a line break in a name forge no line that looks like one of the program?
    #[test]
    fn lines_that_follow_are_indented() {
        let words = format_args!("flashscope: a\nflashscope: all is well").to_string();
        assert_eq!(words.replace('\n', "\n  "), "flashscope: a\n  flashscope: all is well");
        assert!(result(Path::new("r")).contains("see it: flashscope report r\n"));
    }
}
