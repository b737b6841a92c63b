//! Untrusted text on a terminal: characters that steer it, or that hide or reorder what it shows, are escaped.
//!
//! A file name, the model of a drive and a submission are whatever somebody made them. Printed as they are, they could
//! clear the screen, set its title, answer for the user, or show something else than what is there (CVE-2021-42574).

use std::borrow::Cow;
use std::fmt::{self, Write as _};
use std::io::{self, Write};

/// How an escaped character is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// For people, as in Rust: `\u{9b}`.
    Text,
    /// Inside the strings of JSON, which stays the same JSON: `\u009b`.
    Json,
}

/// The text of a single field with everything escaped that is not shown as it stands, ends of lines among it.
pub fn escape_untrusted(text: &str) -> Cow<'_, str> {
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

/// The ranges of the characters that no terminal shows as they stand, rising: those that steer it (category `Cc`), that
/// separate lines (`Zl`, `Zp`), that format invisibly (`Cf`), and others that are invisible
/// (`Default_Ignorable_Code_Point`), by Unicode 17.
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

/// Whether a terminal may take the character for something else than a character to show.
pub fn is_unsafe(c: char) -> bool {
    // Nearly all text is ASCII.
    if (' '..='~').contains(&c) {
        return false;
    }
    let after = UNSAFE.partition_point(|(first, _)| *first <= c);
    after > 0 && c <= UNSAFE[after - 1].1
}

/// The same in the midst of text of our own, whose lines end.
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

/// Writes text with what is unsafe escaped, but for ends of lines; bytes that are no UTF-8 as `\xff`.
pub struct Escaping<W: Write> {
    out: W,
    form: Form,
    /// The beginning of a character whose other bytes have not come yet.
    begun: Vec<u8>,
}

impl<W: Write> Escaping<W> {
    pub fn new(out: W, form: Form) -> Escaping<W> {
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
            let Some(wrong) = error.error_len() else {
                self.begun = rest.into();
                return Ok(());
            };
            self.no_text(&rest[..wrong])?;
            bytes = &rest[wrong..];
        }
    }

    fn no_text(&mut self, bytes: &[u8]) -> io::Result<()> {
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
        // There is nobody left to report an error to.
        let _ = self.no_text(&begun);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// What comes of writes of these pieces.
    fn written(pieces: &[&[u8]], form: Form) -> Vec<u8> {
        let mut out = Vec::new();
        let mut escaping = Escaping::new(&mut out, form);
        pieces.iter().for_each(|piece| escaping.write_all(piece).unwrap());
        drop(escaping);
        out
    }

    /// What a terminal obeys, or does not show, but for ends of lines; said otherwise than by the table.
    fn steers(c: char) -> bool {
        c != '\n' && c.is_control()
            || matches!(c, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}')
            || matches!(c, '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
    }

    /// Strings rich in what is to be escaped.
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
        fn no_text_steers_a_terminal(text in hostile(), cut in any::<prop::sample::Index>()) {
            let bytes = text.as_bytes();
            let (start, end) = bytes.split_at(cut.index(bytes.len() + 1));
            let out = String::from_utf8(written(&[start, end], Form::Text)).unwrap();
            prop_assert!(!out.contains(steers), "{out:?}");
            prop_assert!(!escape_untrusted(&text).contains(|c| c == '\n' || steers(c)));
            // What is safe is printed as it is, wherever a write ends.
            let kept: String = text.chars().filter(|c| !is_unsafe_in_lines(*c)).collect();
            if kept == text {
                prop_assert_eq!(out, text);
            }
        }

        #[test]
        fn any_bytes_become_safe_text(bytes in any::<Vec<u8>>(), cut in any::<prop::sample::Index>()) {
            let (start, end) = bytes.split_at(cut.index(bytes.len() + 1));
            let out = written(&[start, end], Form::Text);
            let out = String::from_utf8(out).unwrap();
            prop_assert!(!out.contains(steers), "{out:?}");
            prop_assert_eq!(&out, &String::from_utf8(written(&[&bytes], Form::Text)).unwrap());
        }

        #[test]
        fn json_stays_the_same_json(text in hostile()) {
            let value = serde_json::json!({ &text: [&text] });
            let mut out = Vec::new();
            serde_json::to_writer_pretty(Escaping::new(&mut out, Form::Json), &value).unwrap();
            let out = String::from_utf8(out).unwrap();
            prop_assert!(!out.contains(steers), "{out:?}");
            prop_assert_eq!(serde_json::from_str::<serde_json::Value>(&out).unwrap(), value);
        }
    }

    #[test]
    fn escapes_are_readable() {
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
    fn the_table_rises_and_has_every_control() {
        assert!(UNSAFE.windows(2).all(|two| two[0].1 < two[1].0));
        assert!(UNSAFE.iter().all(|(first, last)| first <= last));
        for c in '\0'..=char::MAX {
            assert!(!steers(c) || is_unsafe(c), "{c:?}");
        }
    }
}
