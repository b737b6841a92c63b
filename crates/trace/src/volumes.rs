use std::collections::BTreeMap;

/// The index of a volume, in the order of first appearance in the trace.
pub type VolumeId = u32;

/// The names of the volumes of a trace, by number.
///
/// A volume is a separate address space: a device, disk, LUN or file, depending on the format.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Volumes {
    names: Vec<Box<str>>,
    ids: BTreeMap<Box<str>, VolumeId>,
    /// The last number returned: adjacent requests mostly have the same volume.
    last: VolumeId,
}

impl Volumes {
    /// Creates an empty list.
    pub fn new() -> Volumes {
        Volumes::default()
    }

    /// Returns the number of the volume with this name; adds the volume if it is new.
    ///
    /// Replaces invalid UTF-8 in the name.
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

    /// Returns the number of a known volume.
    pub fn find(&self, name: &str) -> Option<VolumeId> {
        self.ids.get(name).copied()
    }

    /// Returns the name of a volume.
    pub fn name(&self, id: VolumeId) -> &str {
        self.names.get(id as usize).map_or("?", |name| name)
    }

    /// Returns the names in the order of their numbers.
    pub fn names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.names.iter().map(AsRef::as_ref)
    }

    /// Returns the number of volumes.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Returns true if there is no volume yet.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Each name has one number, in the order of appearance.
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
