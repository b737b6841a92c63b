//! The functions that the page calls. The page writes the file into memory of this module. The text
//! stays valid until the next call of [`trace_read`].
#![allow(unsafe_code, reason = "exports unmangled functions, which Rust counts as unsafe")]

use std::cell::RefCell;

use crate::statistics;

/// The memory that the page writes and reads.
#[derive(Default)]
struct Page {
    input: Vec<u8>,
    text: String,
}

thread_local! {
    static PAGE: RefCell<Page> = RefCell::default();
}

fn with<T>(act: impl FnOnce(&mut Page) -> T) -> T {
    PAGE.with_borrow_mut(act)
}

/// Returns the address of a buffer of `len` bytes, for the name of a file and its content. The next
/// call of [`trace_read`] reads the buffer.
#[unsafe(no_mangle)]
pub extern "C" fn trace_input(len: usize) -> *mut u8 {
    with(|page| {
        page.input = vec![0; len];
        page.input.as_mut_ptr()
    })
}

/// Reads the input as a trace; the first `name` bytes are the name of its file. Returns 1; then
/// [`trace_text`] is the document of its statistics. Returns 0 if the file is no trace; then the
/// text is the reason.
#[unsafe(no_mangle)]
pub extern "C" fn trace_read(name: usize) -> u32 {
    with(|page| {
        let mut input = std::mem::take(&mut page.input);
        let content = input.split_off(name.min(input.len()));
        let read = statistics(&String::from_utf8_lossy(&input), content)
            .and_then(|trace| serde_json::to_string(&trace).map_err(|error| error.to_string()));
        let is_read = read.is_ok();
        page.text = read.unwrap_or_else(|reason| reason);
        is_read.into()
    })
}

/// Returns the address of the text of the last call of [`trace_read`].
#[unsafe(no_mangle)]
pub extern "C" fn trace_text() -> *const u8 {
    with(|page| page.text.as_ptr())
}

/// Returns the length in bytes of the text at [`trace_text`].
#[unsafe(no_mangle)]
pub extern "C" fn trace_text_len() -> usize {
    with(|page| page.text.len())
}
