use flashscope_block::Nanos;

use super::reader::{BATCH, Reader, SkippedInput};
use super::{Error, Request, VolumeId, Volumes};

/// The origin of time for merged traces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Zero {
    /// A common clock: times stay unchanged.
    #[default]
    Same,
    /// The first request of each trace: all traces start together.
    Each,
}

/// Merges several traces in time order; the volumes of each trace stay separate.
pub(super) struct Merge {
    inputs: Vec<Input>,
    volumes: Volumes,
    skipped: SkippedInput,
    zero: Zero,
    /// The time between the first requests of the earliest and the latest trace, before any shift.
    apart: Nanos,
}

/// The largest plausible offset between traces merged on a common clock.
const FAR: Nanos = Nanos::secs(24 * 3600);

struct Input {
    name: String,
    reader: Box<dyn Reader>,
    batch: Vec<Request>,
    next: usize,
    /// The time that becomes 0: the time of the first request with [`Zero::Each`], else 0.
    zero: Nanos,
    /// The number of each volume of this input in the merged trace.
    volumes: Vec<VolumeId>,
}

impl Merge {
    pub(super) fn new(readers: Vec<(String, Box<dyn Reader>)>, zero: Zero) -> Result<Merge, Error> {
        let mut inputs = Vec::new();
        let (mut earliest, mut latest) = (Nanos::MAX, Nanos(0));
        for (name, reader) in readers {
            let mut input =
                Input { name, reader, batch: Vec::new(), next: 0, zero: Nanos(0), volumes: vec![] };
            input.reader.read(&mut input.batch)?;
            if let Some(first) = input.batch.first() {
                (earliest, latest) = (earliest.min(first.at), latest.max(first.at));
                input.zero = if zero == Zero::Each { first.at } else { Nanos(0) };
            }
            inputs.push(input);
        }
        let apart = Nanos(latest.0.saturating_sub(earliest.0));
        let (volumes, skipped) = (Volumes::new(), SkippedInput::default());
        let mut merge = Merge { inputs, volumes, skipped, zero, apart };
        for index in 0..merge.inputs.len() {
            merge.name_volumes(index);
        }
        Ok(merge)
    }

    /// Assigns merged numbers to the new volumes of an input. A volume keeps its name, or gets the
    /// name of the file as a prefix if another input has the same name.
    fn name_volumes(&mut self, index: usize) {
        let input = &mut self.inputs[index];
        for name in input.reader.volumes().names().skip(input.volumes.len()) {
            let taken = self.volumes.find(name).is_some();
            let own = if taken { format!("{}:{name}", input.name) } else { name.to_string() };
            input.volumes.push(self.volumes.id(own.as_bytes()));
        }
    }

    /// Returns the input whose next request is the earliest; on a tie, the first input.
    fn earliest(&self) -> Option<usize> {
        let due = |input: &Input| input.batch.get(input.next).map(|next| input.at(next));
        let due = self.inputs.iter().enumerate().filter_map(|(i, input)| Some((due(input)?, i)));
        due.min().map(|(_, index)| index)
    }

    fn take(&mut self, index: usize, batch: &mut Vec<Request>) -> Result<(), Error> {
        let input = &mut self.inputs[index];
        let request = input.batch[input.next];
        let volume = input.volumes[request.volume as usize];
        batch.push(Request { at: input.at(&request), volume, ..request });
        input.next += 1;
        if input.next == input.batch.len() {
            input.next = 0;
            input.reader.read(&mut input.batch)?;
            self.name_volumes(index);
        }
        Ok(())
    }

    fn note_skipped(&mut self) {
        self.skipped = SkippedInput::default();
        for input in &self.inputs {
            let SkippedInput { count, examples } = input.reader.skipped();
            self.skipped.count += count;
            self.skipped.examples.extend(examples.iter().cloned());
        }
    }
}

impl Input {
    fn at(&self, request: &Request) -> Nanos {
        Nanos(request.at.0.saturating_sub(self.zero.0))
    }
}

impl Reader for Merge {
    fn read(&mut self, batch: &mut Vec<Request>) -> Result<(), Error> {
        batch.clear();
        while batch.len() < BATCH
            && let Some(index) = self.earliest()
        {
            self.take(index, batch)?;
        }
        self.note_skipped();
        Ok(())
    }

    fn volumes(&self) -> &Volumes {
        &self.volumes
    }

    fn skipped(&self) -> &SkippedInput {
        &self.skipped
    }

    fn notes(&self) -> Vec<String> {
        match self.zero {
            Zero::Same if self.apart > FAR => vec![format!(
                "the traces begin up to {} apart; `merge=start` lets each begin at 0",
                self.apart
            )],
            _ => Vec::new(),
        }
    }
}
