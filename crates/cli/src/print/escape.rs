//! Escapes untrusted text for a terminal: control characters, and characters that hide or reorder
//! text.
//!
//! File names, models of drives and submissions are untrusted. Printed unescaped, they could clear
//! the screen, set its title, type input for the user, or disguise text (CVE-2021-42574).

use std::borrow::Cow;
use std::fmt::{self, Write as _};
use std::io::{self, Write};

/// The notation of an escaped character.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// As in Rust, for people: `\u{9b}`.
    Text,
    /// As in JSON, inside strings: `\u009b`.
    Json,
}

/// Escapes the text of a single field: every character that a terminal does not show literally,
/// line breaks included.
pub(crate) fn escape_untrusted(text: &str) -> Cow<'_, str> {
    if !text.contains(is_unsafe) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        let written = match is_unsafe(c) {
            true => escape(c, Form::Text, &mut escaped),
            false => escaped.write_char(c),
        };
        written.expect("a String can always be written to");
    }
    Cow::Owned(escaped)
}

/// The sorted ranges of characters that a terminal may not show literally, by Unicode
/// 17: controls (category `Cc`), line separators
/// (`Zl`, `Zp`), formatting (`Cf`), and other invisible characters
/// (`Default_Ignorable_Code_Point`). Noncharacters such as U+FFFE are also listed.
const UNSAFE: [(char, char); 34] = [
    ('\0', '\u{1f}'),
    ('\u{7f}', '\u{9f}'),
    ('\u{ad}', '\u{ad}'),
    ('\u{34f}', '\u{34f}'),
    ('\u{600}', '\u{605}'),
    ('\u{61c}', '\u{61c}'),
    ('\u{6dd}', '\u{6dd}'),
    ('\u{70f}', '\u{70f}'),
    ('\u{890}', '\u{891}'),
    ('\u{8e2}', '\u{8e2}'),
    ('\u{115f}', '\u{1160}'),
    ('\u{17b4}', '\u{17b5}'),
    ('\u{180b}', '\u{180f}'),
    ('\u{200b}', '\u{200f}'),
    ('\u{2028}', '\u{202e}'),
    ('\u{2060}', '\u{206f}'),
    ('\u{3164}', '\u{3164}'),
    ('\u{fe00}', '\u{fe0f}'),
    ('\u{feff}', '\u{feff}'),
    ('\u{ffa0}', '\u{ffa0}'),
    ('\u{fff0}', '\u{fffb}'),
    ('\u{fffe}', '\u{ffff}'),
    ('\u{110bd}', '\u{110bd}'),
    ('\u{110cd}', '\u{110cd}'),
    ('\u{13430}', '\u{1343f}'),
    ('\u{16fe4}', '\u{16fe4}'),
    ('\u{1bca0}', '\u{1bca3}'),
    ('\u{1d173}', '\u{1d17a}'),
    ('\u{1fffe}', '\u{1ffff}'),
    ('\u{2fffe}', '\u{2ffff}'),
    ('\u{3fffe}', '\u{3ffff}'),
    ('\u{e0000}', '\u{e0fff}'),
    ('\u{ffffe}', '\u{fffff}'),
    ('\u{10fffe}', '\u{10ffff}'),
];

/// Returns true if a terminal may not show the character literally.
pub(crate) fn is_unsafe(c: char) -> bool {
    // Nearly all text is ASCII.
    if (' '..='~').contains(&c) {
        return false;
    }
    let after = UNSAFE.partition_point(|(first, _)| *first <= c);
    after > 0 && c <= UNSAFE[after - 1].1
}

/// Returns true for an unsafe character other than a line break, which separates lines of the
/// output.
fn is_unsafe_in_lines(c: char) -> bool {
    c != '\n' && is_unsafe(c)
}

fn escape(c: char, form: Form, out: &mut impl fmt::Write) -> fmt::Result {
    match form {
        Form::Text if matches!(c, '\n' | '\r' | '\t') => write!(out, "{}", c.escape_default()),
        Form::Text => write!(out, "{}", c.escape_unicode()),
        Form::Json => {
            c.encode_utf16(&mut [0; 2]).iter().try_for_each(|unit| write!(out, "\\u{unit:04x}"))
        }
    }
}

/// A writer that escapes unsafe characters except line breaks, and bytes that are not UTF-8 as
/// `\xff`.
pub(crate) struct Escaping<W: Write> {
    out: W,
    form: Form,
    /// The first bytes of a character whose remaining bytes have not arrived.
    begun: Vec<u8>,
}

impl<W: Write> Escaping<W> {
    pub(crate) fn new(out: W, form: Form) -> Escaping<W> {
        Escaping { out, form, begun: Vec::new() }
    }

    fn text(&mut self, mut text: &str) -> io::Result<()> {
        while let Some(at) = text.find(is_unsafe_in_lines) {
            let (safe, rest) = text.split_at(at);
            self.out.write_all(safe.as_bytes())?;
            let mut rest = rest.chars();
            if let Some(c) = rest.next() {
                let mut escaped = String::new();
                escape(c, self.form, &mut escaped).expect("a String can always be written to");
                self.out.write_all(escaped.as_bytes())?;
            }
            text = rest.as_str();
        }
        self.out.write_all(text.as_bytes())
    }

    fn bytes(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        loop {
            let error = match std::str::from_utf8(bytes) {
                Ok(text) => return self.text(text),
                Err(error) => error,
            };
            let (valid, rest) = bytes.split_at(error.valid_up_to());
            self.text(std::str::from_utf8(valid).unwrap_or_default())?;
            let Some(invalid) = error.error_len() else {
                self.begun = rest.into();
                return Ok(());
            };
            self.invalid(&rest[..invalid])?;
            bytes = &rest[invalid..];
        }
    }

    fn invalid(&mut self, bytes: &[u8]) -> io::Result<()> {
        bytes.iter().try_for_each(|byte| write!(self.out, "\\x{byte:02x}"))
    }
}

impl<W: Write> Write for Escaping<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.begun.is_empty() {
            self.bytes(bytes)?;
        } else {
            let mut whole = std::mem::take(&mut self.begun);
            whole.extend(bytes);
            self.bytes(&whole)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl<W: Write> Drop for Escaping<W> {
    fn drop(&mut self) {
        let begun = std::mem::take(&mut self.begun);
        // A destructor cannot report an error.
        let _ = self.invalid(&begun);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Returns the output of writing these pieces.
    fn written(pieces: &[&[u8]], form: Form) -> Vec<u8> {
        let mut out = Vec::new();
        let mut escaping = Escaping::new(&mut out, form);
        pieces.iter().for_each(|piece| escaping.write_all(piece).unwrap());
        drop(escaping);
        out
    }

    /// Returns true if a terminal interprets or hides the character, except line breaks; defined
    /// independently of the table.
    fn steers(c: char) -> bool {
        c != '\n' && c.is_control()
            || matches!(c, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}')
            || matches!(c, '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
    }

    /// Generates strings with many unsafe characters.
    fn hostile() -> impl Strategy<Value = String> {
        let unsafe_ones = prop::sample::select(UNSAFE.to_vec()).prop_flat_map(|(first, last)| {
            (first as u32..=last as u32).prop_filter_map("surrogate", char::from_u32)
        });
        let one = prop_oneof![
            any::<char>(),
            unsafe_ones,
            Just('\n'),
            Just('\\'),
            prop::char::range(' ', '~')
        ];
        prop::collection::vec(one, 0..40).prop_map(String::from_iter)
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

        #[test]
        fn escaped_text_contains_no_controls(text in hostile(), cut in any::<prop::sample::Index>()) {
            let bytes = text.as_bytes();
            let (start, end) = bytes.split_at(cut.index(bytes.len() + 1));
            let out = String::from_utf8(written(&[start, end], Form::Text)).unwrap();
            prop_assert!(!out.contains(steers), "{out:?}");
            prop_assert!(!escape_untrusted(&text).contains(|c| c == '\n' || steers(c)));
            // Safe text is printed unchanged, wherever a write ends.
            let kept: String = text.chars().filter(|c| !is_unsafe_in_lines(*c)).collect();
            if kept == text {
                prop_assert_eq!(out, text);
            }
        }

        #[test]
        fn invalid_utf8_becomes_safe_text(bytes in any::<Vec<u8>>(), cut in any::<prop::sample::Index>()) {
            let (start, end) = bytes.split_at(cut.index(bytes.len() + 1));
            let out = written(&[start, end], Form::Text);
            let out = String::from_utf8(out).unwrap();
            prop_assert!(!out.contains(steers), "{out:?}");
            prop_assert_eq!(&out, &String::from_utf8(written(&[&bytes], Form::Text)).unwrap());
        }

        #[test]
        fn escaping_keeps_the_value_of_json(text in hostile()) {
            let value = serde_json::json!({ &text: [&text] });
            let mut out = Vec::new();
            serde_json::to_writer_pretty(Escaping::new(&mut out, Form::Json), &value).unwrap();
            let out = String::from_utf8(out).unwrap();
            prop_assert!(!out.contains(steers), "{out:?}");
            prop_assert_eq!(serde_json::from_str::<serde_json::Value>(&out).unwrap(), value);
        }
    }

    #[test]
    fn escapes_are_readable_and_harmless_text_is_unchanged() {
        let shown = |text: &str| escape_untrusted(text).into_owned();
        assert_eq!(shown("\u{1b}[2J a\u{9b}31m b"), "\\u{1b}[2J a\\u{9b}31m b");
        assert_eq!(shown("txt.\u{202e}exe"), "txt.\\u{202e}exe");
        assert_eq!(shown("two\nlines\r\tand a tab"), "two\\nlines\\r\\tand a tab");
        assert_eq!(written(&[b"a\xff\xe2\x80"], Form::Text), b"a\\xff\\xe2\\x80");
        for harmless in ["Größe 3 µs ± 0.5 ²", "الأقراص", "磁盘 ドライブ", "héllo", "a\\b"]
        {
            assert_eq!(shown(harmless), harmless);
        }
    }

    #[test]
    fn unsafe_ranges_are_sorted_and_contain_every_control() {
        assert!(UNSAFE.windows(2).all(|two| two[0].1 < two[1].0));
        assert!(UNSAFE.iter().all(|(first, last)| first <= last));
        for c in '\0'..=char::MAX {
            assert!(!steers(c) || is_unsafe(c), "{c:?}");
        }
    }
}
