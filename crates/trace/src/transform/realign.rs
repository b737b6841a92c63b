use std::collections::VecDeque;

use flashscope_block::{Bytes, Op};

use super::super::{Error, Reader, Request};
use super::{PAGE, quantity};

/// The number of requests examined to find the most common misalignment.
const LOOKED_AT: usize = 10_000;

/// The smallest unit of addresses, in bytes.
const SECTOR: u64 = 512;

/// The distance by which all addresses move.
#[derive(Debug, Clone, Copy)]
pub(super) enum Shift {
    /// That of the most common misalignment.
    Auto,
    /// This many bytes.
    By(Bytes),
}

impl Shift {
    pub(super) fn parse(value: &str) -> Result<Shift, String> {
        match value {
            "auto" => Ok(Shift::Auto),
            bytes => match quantity(bytes) {
                Ok(bytes) => Ok(Shift::By(bytes)),
                Err(error) => Err(format!("{error}, or `auto`")),
            },
        }
    }
}

/// Moves all addresses up to align them. Traces from disks whose partitions begin at an odd sector
/// are misaligned throughout: in the TPC-C trace of Agrawal et al. (section 4), every sector is 7
/// modulo 8. On flash, this makes each one-page write touch two pages.
#[derive(Debug)]
pub(super) struct Realign {
    shift: Option<Bytes>,
    found: String,
    ahead: VecDeque<Vec<Request>>,
    /// The error that ended reading ahead. It follows the requests before it.
    error: Option<Error>,
}

impl Realign {
    pub(super) fn new(shift: Shift) -> Realign {
        let shift = match shift {
            Shift::Auto => None,
            Shift::By(shift) => Some(shift),
        };
        Realign { shift, found: String::new(), ahead: VecDeque::new(), error: None }
    }

    /// Reads the next batch into `batch`. First reads ahead until the shift is known.
    pub(super) fn read(
        &mut self,
        reader: &mut dyn Reader,
        batch: &mut Vec<Request>,
    ) -> Result<(), Error> {
        if self.shift.is_none() {
            self.look_ahead(reader);
        }
        match self.ahead.pop_front() {
            Some(next) => *batch = next,
            None => match self.error.take() {
                Some(error) => return Err(error),
                None => reader.read(batch)?,
            },
        }
        Ok(())
    }

    fn look_ahead(&mut self, reader: &mut dyn Reader) {
        let mut misaligned = [0usize; (PAGE / SECTOR) as usize];
        // Flushes have no address, but count towards the limit. If they did not, a trace of
        // flushes alone would be read to its end.
        let (mut looked_at, mut seen) = (0, 0);
        while looked_at < LOOKED_AT && self.error.is_none() {
            let mut batch = Vec::new();
            // The requests before an error are valid.
            self.error = reader.read(&mut batch).err();
            if batch.is_empty() {
                break;
            }
            looked_at += batch.len();
            for request in batch.iter().filter(|request| request.op != Op::Flush) {
                #[allow(clippy::cast_possible_truncation)] // a page has 8 sectors
                let sector = (request.offset.0 % PAGE / SECTOR) as usize;
                misaligned[sector] += 1;
                seen += 1;
            }
            self.ahead.push_back(batch);
        }
        let commonest = (0..misaligned.len()).max_by_key(|sector| misaligned[*sector]);
        let sector = commonest.filter(|sector| 2 * misaligned[*sector] > seen).unwrap_or(0);
        let shift = (PAGE - sector as u64 * SECTOR) % PAGE;
        self.shift = Some(Bytes(shift));
        self.found = format!(
            " (the sector modulo 8 is {sector} in {} of the first {seen} requests)",
            misaligned[sector]
        );
    }

    pub(super) fn shift(&self, batch: &mut [Request]) {
        let shift = self.shift.unwrap_or_default();
        for request in batch.iter_mut().filter(|request| request.op != Op::Flush) {
            request.offset = Bytes(request.offset.0.saturating_add(shift.0));
        }
    }

    pub(super) fn note(&self) -> String {
        let shift = self.shift.unwrap_or_default();
        format!("addresses were moved up by {} B{}", shift.0, self.found)
    }
}

#[cfg(test)]
mod tests {
    use flashscope_block::Nanos;

    use super::super::super::{BATCH, SkippedInput, Volumes};
    use super::*;

    /// An endless trace of flushes.
    #[derive(Default)]
    struct Flushes {
        batches: usize,
        volumes: Volumes,
        skipped: SkippedInput,
    }

    impl Reader for Flushes {
        fn read(&mut self, batch: &mut Vec<Request>) -> Result<(), Error> {
            self.batches += 1;
            assert!(self.batches < 1000, "the trace is read without an end");
            let (at, offset, len) = (Nanos(0), Bytes(0), Bytes(0));
            let flush = Request { at, latency: None, offset, len, volume: 0, op: Op::Flush };
            batch.clear();
            batch.resize(BATCH, flush);
            Ok(())
        }

        fn volumes(&self) -> &Volumes {
            &self.volumes
        }

        fn skipped(&self) -> &SkippedInput {
            &self.skipped
        }
    }

    // Read-ahead is bounded for a trace of flushes, too.
    #[test]
    fn flushes_alone_are_not_read_to_their_end() {
        let (mut realign, mut reader) = (Realign::new(Shift::Auto), Flushes::default());
        realign.look_ahead(&mut reader);
        assert_eq!(reader.batches, LOOKED_AT.div_ceil(BATCH));
        assert_eq!(realign.shift, Some(Bytes(0)));
    }
}
