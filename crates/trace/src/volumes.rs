use std::collections::BTreeMap;

/// The volumes of a trace are numbered in the order in which they appear.
pub type VolumeId = u32;

/// The names of the volumes of a trace, by number.
///
/// A volume is an address space of its own: what the format calls a device, disk, LUN or file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Volumes {
    names: Vec<Box<str>>,
    ids: BTreeMap<Box<str>, VolumeId>,
    /// The name that was looked up last: neighbours in a trace are mostly of the same volume.
    last: VolumeId,
}

impl Volumes {
    /// No volumes yet.
    pub fn new() -> Volumes {
        Volumes::default()
    }

    /// The number of a volume, by its name; a new one where it is new.
    ///
    /// What is no UTF-8 in a name is replaced.
    #[inline]
    pub fn id(&mut self, name: &[u8]) -> VolumeId {
        match self.names.get(self.last as usize) {
            Some(last) if last.as_bytes() == name => self.last,
            _ => self.look_up(name),
        }
    }

    fn look_up(&mut self, name: &[u8]) -> VolumeId {
        let name = String::from_utf8_lossy(name);
        self.last = match self.ids.get(name.as_ref()) {
            Some(id) => *id,
            None => {
                let id = VolumeId::try_from(self.names.len()).unwrap_or(VolumeId::MAX);
                self.names.push(name.as_ref().into());
                self.ids.insert(name.as_ref().into(), id);
                id
            }
        };
        self.last
    }

    /// The number of a volume that has appeared.
    pub fn find(&self, name: &str) -> Option<VolumeId> {
        self.ids.get(name).copied()
    }

    /// The name of a volume.
    pub fn name(&self, id: VolumeId) -> &str {
        self.names.get(id as usize).map_or("?", |name| name)
    }

    /// The names, in the order of their numbers.
    pub fn names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.names.iter().map(AsRef::as_ref)
    }

    /// How many have appeared so far.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether none has appeared yet.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Does each name have one number, in the order of appearance?
    #[test]
    fn numbers_are_in_the_order_of_appearance() {
        let mut volumes = Volumes::new();
        let ids = ["b", "a", "b", "b", "c", "a"].map(|name| volumes.id(name.as_bytes()));
        assert_eq!(ids, [0, 1, 0, 0, 2, 1]);
        assert_eq!(volumes.names().collect::<Vec<_>>(), ["b", "a", "c"]);
        assert_eq!((volumes.find("c"), volumes.find("d")), (Some(2), None));
        assert_eq!((volumes.name(1), volumes.len()), ("a", 3));
    }
}
