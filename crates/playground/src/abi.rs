//! The functions that the page calls. A text goes in through [`playground_input`]. Results come out
//! as numbers, or as pointers to memory of this module that stay valid until the next call.
#![allow(unsafe_code, reason = "exports unmangled functions, which Rust counts as unsafe")]

use std::cell::RefCell;

use crate::{DroppedProfile, Numbers, Pattern, Playground, Refusal, Setup, Workload};

/// The playground of this module and the memory that the page reads. Each worker has its own
/// module.
#[derive(Default)]
struct Page {
    playground: Option<Playground>,
    input: Vec<u8>,
    text: String,
    emptied: Vec<u8>,
    numbers: Vec<f64>,
    curve: Vec<f64>,
    in_flight: Vec<u32>,
}

thread_local! {
    static PAGE: RefCell<Page> = RefCell::default();
}

fn with<T>(act: impl FnOnce(&mut Page) -> T) -> T {
    PAGE.with_borrow_mut(act)
}

fn on<T: Default>(act: impl FnOnce(&mut Playground) -> T) -> T {
    with(|page| page.playground.as_mut().map(act).unwrap_or_default())
}

/// Returns the address of a buffer for a text of `len` bytes of UTF-8, which the next call of
/// [`playground_open`] reads.
#[unsafe(no_mangle)]
pub extern "C" fn playground_input(len: usize) -> *mut u8 {
    with(|page| {
        page.input = vec![0; len];
        page.input.as_mut_ptr()
    })
}

/// Opens the drive that the input names: see [`Setup`]. `pattern` is the position in [`Pattern`],
/// and `skew` its value. Returns 1, or 0 if a setting is invalid; then [`playground_text`] is the
/// reason, and the playground is the previous one.
#[unsafe(no_mangle)]
pub extern "C" fn playground_open(
    pattern: u32,
    skew: f64,
    reads: f64,
    trims: f64,
    queue_depth: u32,
    filled: u32,
    seed: u32,
) -> u32 {
    with(|page| {
        let setup = Setup {
            drive: String::from_utf8_lossy(&page.input).into_owned(),
            workload: Workload { pattern: pattern_of(pattern, skew), reads, trims },
            queue_depth,
            filled: filled != 0,
            seed: seed.into(),
        };
        let opened = Playground::open(&setup).map(|playground| page.playground = Some(playground));
        done(page, opened)
    })
}

/// Reads the input as a profile: see [`DroppedProfile`]. Returns 1; then [`playground_text`] has
/// its fields, one per line. Returns 0 if the playground cannot show the profile; then the text is
/// the reason.
#[unsafe(no_mangle)]
pub extern "C" fn playground_read() -> u32 {
    with(|page| {
        let read = DroppedProfile::read(&String::from_utf8_lossy(&page.input));
        let read = read.map(|profile| page.text = profile.lines());
        done(page, read)
    })
}

/// Changes the workload: see [`Playground::change_workload`]. Returns as [`playground_open`] does,
/// and 0 without a drive.
#[unsafe(no_mangle)]
pub extern "C" fn playground_change(
    pattern: u32,
    skew: f64,
    reads: f64,
    trims: f64,
    queue_depth: u32,
) -> u32 {
    let workload = Workload { pattern: pattern_of(pattern, skew), reads, trims };
    with(|page| {
        let Some(playground) = &mut page.playground else { return 0 };
        let changed = playground.change_workload(workload, queue_depth);
        done(page, changed)
    })
}

fn done(page: &mut Page, result: Result<(), Refusal>) -> u32 {
    match result {
        Ok(()) => 1,
        Err(Refusal(reason)) => {
            page.text = reason;
            0
        }
    }
}

fn pattern_of(number: u32, skew: f64) -> Pattern {
    match number {
        0 => Pattern::Uniform,
        1 => Pattern::HotCold(skew),
        2 => Pattern::Zipf(skew),
        _ => Pattern::Sequential,
    }
}

/// Shows up to `commands` flash commands, but computes at most `ios` IOs: see
/// [`Playground::advance`].
#[unsafe(no_mangle)]
pub extern "C" fn playground_advance(commands: u32, ios: u32) -> u32 {
    on(|playground| playground.advance(commands, ios))
}

/// Shows the next IO: see [`Playground::advance_io`].
#[unsafe(no_mangle)]
pub extern "C" fn playground_advance_io() {
    on(Playground::advance_io);
}

/// Takes a picture: updates the values of [`playground_emptied`], [`playground_numbers`],
/// [`playground_curve`] and [`playground_in_flight`].
#[unsafe(no_mangle)]
pub extern "C" fn playground_picture() {
    with(|page| {
        let Some(playground) = &page.playground else { return };
        page.emptied.clear();
        page.emptied.extend(playground.emptied());
        page.numbers.clear();
        page.numbers.extend(playground.numbers().values());
        page.curve.clear();
        page.curve.extend(playground.curve().flat_map(|(host, value)| [host, value]));
        page.in_flight.clear();
        page.in_flight.extend(playground.in_flight().flatten());
    });
}

/// Clears the last touch of each flash page. The web page calls this after it has copied the
/// picture.
#[unsafe(no_mangle)]
pub extern "C" fn playground_forget_touches() {
    on(Playground::clear_touches);
}

/// Returns the address of one byte for each page, see [`Playground::pages`]; null without a drive.
#[unsafe(no_mangle)]
pub extern "C" fn playground_pages() -> *const u8 {
    with(|page| page.playground.as_ref().map_or(std::ptr::null(), |one| one.pages().as_ptr()))
}

/// Returns the number of all pages.
#[unsafe(no_mangle)]
pub extern "C" fn playground_pages_len() -> usize {
    on(|playground| playground.pages().len())
}

/// Returns the address of one byte for each block: see [`Playground::emptied`].
#[unsafe(no_mangle)]
pub extern "C" fn playground_emptied() -> *const u8 {
    with(|page| page.emptied.as_ptr())
}

/// Returns the number of blocks.
#[unsafe(no_mangle)]
pub extern "C" fn playground_emptied_len() -> usize {
    with(|page| page.emptied.len())
}

/// Returns the address of the number of erases of each block; null without a drive.
#[unsafe(no_mangle)]
pub extern "C" fn playground_erases() -> *const u32 {
    with(|page| page.playground.as_ref().map_or(std::ptr::null(), |one| one.erases().as_ptr()))
}

/// Returns the address of the numbers, in the order of [`playground_names`].
#[unsafe(no_mangle)]
pub extern "C" fn playground_numbers() -> *const f64 {
    with(|page| page.numbers.as_ptr())
}

/// Returns the address of the curve: see [`Playground::curve`].
#[unsafe(no_mangle)]
pub extern "C" fn playground_curve() -> *const f64 {
    with(|page| page.curve.as_ptr())
}

/// Returns the number of values of the curve, two for each point.
#[unsafe(no_mangle)]
pub extern "C" fn playground_curve_len() -> usize {
    with(|page| page.curve.len())
}

/// Returns the address of the IOs in flight: see [`Playground::in_flight`].
#[unsafe(no_mangle)]
pub extern "C" fn playground_in_flight() -> *const u32 {
    with(|page| page.in_flight.as_ptr())
}

/// Returns the number of values of [`playground_in_flight`], two for each IO.
#[unsafe(no_mangle)]
pub extern "C" fn playground_in_flight_len() -> usize {
    with(|page| page.in_flight.len())
}

/// Sets [`playground_text`] to the names of the numbers, separated by spaces.
#[unsafe(no_mangle)]
pub extern "C" fn playground_names() {
    with(|page| page.text = Numbers::NAMES.join(" "));
}

/// Sets [`playground_text`] to the command line: see [`Playground::command_line`].
#[unsafe(no_mangle)]
pub extern "C" fn playground_command_line() {
    with(|page| {
        page.text = page.playground.as_ref().map(Playground::command_line).unwrap_or_default()
    });
}

/// Sets [`playground_text`] to the reason why the drive failed, or to nothing.
#[unsafe(no_mangle)]
pub extern "C" fn playground_failure() {
    with(|page| {
        let failure = page.playground.as_ref().and_then(Playground::failure);
        page.text = failure.map(ToString::to_string).unwrap_or_default();
    });
}

/// Returns the address of the text of the last call that set one, in UTF-8.
#[unsafe(no_mangle)]
pub extern "C" fn playground_text() -> *const u8 {
    with(|page| page.text.as_ptr())
}

/// Returns the length of [`playground_text`] in bytes.
#[unsafe(no_mangle)]
pub extern "C" fn playground_text_len() -> usize {
    with(|page| page.text.len())
}
