//! C functions for the page, for one expression and one IO at a time. The page writes texts and
//! numbers to the memory of this module; an address stays valid until the next call.
#![allow(unsafe_code, reason = "exports unmangled functions, which Rust counts as unsafe")]

use std::cell::RefCell;

use flashscope_block::column::COLUMN_COUNT;

use crate::{Expression, Row, Run, parse};

/// The expression of this module, and the memory that the page reads and writes.
#[derive(Default)]
struct Page {
    input: Vec<u8>,
    expression: Option<Expression>,
    text: String,
    place: [u32; 2],
    micro_benchmark: String,
    experiment: String,
    /// The number of the run, the position, and the columns.
    numbers: [i64; COLUMN_COUNT + 2],
}

impl Page {
    fn run(&self) -> Run<'_> {
        Run {
            number: u32::try_from(self.numbers[0]).unwrap_or(u32::MAX),
            micro_benchmark: &self.micro_benchmark,
            experiment: &self.experiment,
        }
    }
}

thread_local! {
    static PAGE: RefCell<Page> = RefCell::default();
}

fn with<T>(act: impl FnOnce(&mut Page) -> T) -> T {
    PAGE.with_borrow_mut(act)
}

/// Returns the address of a buffer for a text of `len` bytes of UTF-8, which the next call reads.
#[unsafe(no_mangle)]
pub extern "C" fn query_input(len: usize) -> *mut u8 {
    with(|page| {
        page.input = vec![0; len];
        page.input.as_mut_ptr()
    })
}

/// Parses the input. Returns 1 if it is an expression, and [`query_text`] is then its canonical
/// form. Otherwise returns 0, and [`query_text`] is the error and [`query_place`] its place.
#[unsafe(no_mangle)]
pub extern "C" fn query_parse() -> u32 {
    with(|page| match parse(&String::from_utf8_lossy(&page.input)) {
        Ok(expression) => {
            page.text = expression.to_string();
            page.expression = Some(expression);
            1
        }
        Err(error) => {
            let place = [error.place.start, error.place.end];
            page.place = place.map(|character| u32::try_from(character).unwrap_or(u32::MAX));
            page.text = error.message;
            page.expression = None;
            0
        }
    })
}

/// Returns the text of the last call of [`query_parse`].
#[unsafe(no_mangle)]
pub extern "C" fn query_text() -> *const u8 {
    with(|page| page.text.as_ptr())
}

/// Returns the length of [`query_text`] in bytes.
#[unsafe(no_mangle)]
pub extern "C" fn query_text_len() -> usize {
    with(|page| page.text.len())
}

/// Returns the address of the place of an error: the index of its first character, and the index
/// after its last character.
#[unsafe(no_mangle)]
pub extern "C" fn query_place() -> *const u32 {
    with(|page| page.place.as_ptr())
}

/// Sets the micro-benchmark (0) or the experiment (1) of the next IOs to the input.
#[unsafe(no_mangle)]
pub extern "C" fn query_name(which: u32) {
    with(|page| {
        let name = String::from_utf8_lossy(&page.input).into_owned();
        match which {
            0 => page.micro_benchmark = name,
            _ => page.experiment = name,
        }
    });
}

/// Returns the address for the numbers of an IO: the number of its run, its position, and its
/// columns, 64 bits each.
#[unsafe(no_mangle)]
pub extern "C" fn query_numbers() -> *mut i64 {
    with(|page| page.numbers.as_mut_ptr())
}

/// Returns 0 or 1 if the expression is false or true for every IO of the run, and 2 if it depends
/// on the IO.
#[unsafe(no_mangle)]
pub extern "C" fn query_decided() -> u32 {
    with(|page| {
        let decided = page.expression.as_ref().map(|one| one.decided_by(&page.run()));
        decided.flatten().map_or(2, u32::from)
    })
}

/// Returns 1 if the expression holds for the IO, and 0 otherwise.
#[unsafe(no_mangle)]
pub extern "C" fn query_matches() -> u32 {
    with(|page| {
        let Some(expression) = &page.expression else { return 0 };
        let mut values = [0; COLUMN_COUNT];
        values.copy_from_slice(&page.numbers[2..]);
        let position = page.numbers[1].cast_unsigned();
        expression.matches(&Row { run: page.run(), position, values }).into()
    })
}
