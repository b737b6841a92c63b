//! Who looks on while something takes its time.

/// How far something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step<'a> {
    /// What is done, in words: how much of it is left follows from what of it was done.
    pub phase: &'a str,
    /// What of it is done now, in words; empty where there is no more to say.
    pub now: &'a str,
    /// So much of it is done.
    pub done: u64,
    /// Of so much, where that is known.
    pub total: Option<u64>,
    /// What it is counted in.
    pub unit: Unit,
}

/// What progress is counted in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Bytes.
    Bytes,
    /// Things, such as IOs.
    Count,
    /// Work of no unit that would mean anything: only its share of the total does.
    Share,
}

/// Is shown how far something is, and told what whoever asked for it should know; on whatever thread.
pub trait Onlooker: Send {
    /// So far something is.
    fn show(&mut self, step: &Step<'_>);

    /// Something that whoever asked should know.
    fn note(&mut self, text: &str);
}
