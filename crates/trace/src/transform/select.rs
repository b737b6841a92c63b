use flashscope_block::{Bytes, Nanos, Op};

use super::super::{Error, Request, Volumes};
use super::{Start, quantity};

/// Selects the requests that match all filters.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Select {
    volumes: Option<Vec<String>>,
    /// For each volume read until now: true if the selection includes it.
    wanted: Vec<bool>,
    ops: Option<Vec<Op>>,
    pub(super) from: Option<Nanos>,
    pub(super) until: Option<Nanos>,
    range: Option<(Bytes, Bytes)>,
    start: Start,
}

impl Select {
    pub(super) fn set_volumes(&mut self, value: &str) -> Result<(), String> {
        let names: Vec<String> = value.split(',').map(str::to_string).collect();
        if names.iter().any(String::is_empty) {
            return Err("it must be names of volumes, separated by commas".into());
        }
        self.volumes = Some(names);
        Ok(())
    }

    pub(super) fn set_ops(&mut self, value: &str) -> Result<(), String> {
        let op = |name: &str| match name {
            "read" => Ok(Op::Read),
            "write" => Ok(Op::Write),
            "trim" => Ok(Op::Trim),
            "flush" => Ok(Op::Flush),
            _ => Err("it must be one or more of `read`, `write`, `trim` and `flush`".to_string()),
        };
        self.ops = Some(value.split(',').map(op).collect::<Result<_, _>>()?);
        Ok(())
    }

    pub(super) fn set_range(&mut self, value: &str) -> Result<(), String> {
        let rule =
            "it must be like `1GiB..2GiB`, `1GiB..` or `..2GiB`, with the smaller address first";
        let (start, end) = value.split_once("..").ok_or(rule)?;
        let start = if start.is_empty() { Bytes(0) } else { quantity(start)? };
        let end = if end.is_empty() { Bytes(u64::MAX) } else { quantity(end)? };
        if start >= end {
            return Err(rule.into());
        }
        self.range = Some((start, end));
        Ok(())
    }

    /// Removes the requests of a batch that the filters reject.
    pub(super) fn keep(&mut self, batch: &mut Vec<Request>, volumes: &Volumes) {
        if let Some(names) = &self.volumes {
            let new = volumes.names().skip(self.wanted.len());
            self.wanted.extend(new.map(|volume| names.iter().any(|name| name == volume)));
        }
        let start = self.start.of(batch);
        let after = |time: Nanos| Nanos(start.0.saturating_add(time.0));
        let from = self.from.map_or(Nanos(0), after);
        let until = self.until.map(after);
        batch.retain_mut(|request| {
            (self.volumes.is_none() || self.wanted[request.volume as usize])
                && self.ops.as_ref().is_none_or(|ops| ops.contains(&request.op))
                && request.at >= from
                && until.is_none_or(|until| request.at < until)
                && self.range.is_none_or(|range| cut(request, range))
        });
    }

    /// Checks that each selected volume occurs in the trace.
    pub(super) fn check_volumes(&self, volumes: &Volumes) -> Result<(), Error> {
        let missing = self.volumes.iter().flatten().find(|name| volumes.find(name).is_none());
        let Some(missing) = missing else { return Ok(()) };
        let most = 20;
        let mut there: Vec<_> = volumes.names().take(most).collect();
        if volumes.len() > most {
            there.push("…");
        }
        Err(Error::Damaged {
            name: "the trace".into(),
            reason: format!("it has no volume `{missing}`; it has {}", there.join(", ")),
        })
    }
}

/// Clips a request to a range. Returns false if nothing remains. A flush covers all addresses and
/// always remains.
fn cut(request: &mut Request, (start, end): (Bytes, Bytes)) -> bool {
    if request.op == Op::Flush {
        return true;
    }
    let (first, last) = (request.offset.max(start), request.end().min(end));
    request.offset = first;
    request.len = Bytes(last.0.saturating_sub(first.0));
    request.len.0 > 0
}
