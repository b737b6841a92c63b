//! A tree of files that follows from a log of changes, and the states that a crash leaves.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// The inode number of the root folder in FUSE.
pub(super) const ROOT: u64 = 1;

/// A change of a tree. Files and folders keep the inode numbers of their creation.
#[derive(Debug, Clone)]
pub(super) enum Change {
    MakeFolder {
        parent: u64,
        name: String,
        made: u64,
    },
    MakeFile {
        parent: u64,
        name: String,
        made: u64,
    },
    Write {
        file: u64,
        offset: usize,
        data: Vec<u8>,
    },
    SetLength {
        file: u64,
        len: usize,
    },
    Rename {
        from: u64,
        name: String,
        to: u64,
        new: String,
    },
    Remove {
        parent: u64,
        name: String,
    },
    /// The contents of the file, or the names in the folder, are on stable storage from here on.
    Sync {
        node: u64,
    },
}

/// The current and the durable contents of a file, or names in a folder.
#[derive(Debug, Clone)]
pub(super) enum Node {
    File { data: Vec<u8>, synced: Vec<u8> },
    Folder { names: BTreeMap<String, u64>, synced: BTreeMap<String, u64> },
}

/// The changes to a tree that survive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Durability {
    /// All changes, as `kill -9` leaves them.
    All,
    /// A power loss on a file system that writes names immediately, and data only when it is
    /// synced.
    SyncedData,
    /// A power loss on a file system that writes names, too, only when they are synced.
    SyncedNames,
}

#[derive(Debug, Clone)]
pub(super) struct Tree(pub BTreeMap<u64, Node>);

impl Tree {
    pub(super) fn new() -> Tree {
        Tree(BTreeMap::from([(ROOT, Node::folder())]))
    }

    pub(super) fn names(&self, folder: u64) -> Option<&BTreeMap<String, u64>> {
        match self.0.get(&folder)? {
            Node::Folder { names, .. } => Some(names),
            Node::File { .. } => None,
        }
    }

    pub(super) fn child(&self, folder: u64, name: &str) -> Option<u64> {
        self.names(folder)?.get(name).copied()
    }

    pub(super) fn data(&self, file: u64) -> Option<&Vec<u8>> {
        match self.0.get(&file)? {
            Node::File { data, .. } => Some(data),
            Node::Folder { .. } => None,
        }
    }

    fn names_mut(&mut self, folder: u64) -> &mut BTreeMap<String, u64> {
        match self.0.get_mut(&folder) {
            Some(Node::Folder { names, .. }) => names,
            other => panic!("{folder} is no folder: {other:?}"),
        }
    }

    fn data_mut(&mut self, file: u64) -> &mut Vec<u8> {
        match self.0.get_mut(&file) {
            Some(Node::File { data, .. }) => data,
            other => panic!("{file} is no file: {other:?}"),
        }
    }

    /// Applies a change, which must be possible. A process that has a removed file open can still
    /// write it.
    pub(super) fn apply(&mut self, change: &Change) {
        match change {
            Change::MakeFolder { parent, name, made } => {
                self.names_mut(*parent).insert(name.clone(), *made);
                self.0.insert(*made, Node::folder());
            }
            Change::MakeFile { parent, name, made } => {
                self.names_mut(*parent).insert(name.clone(), *made);
                self.0.insert(*made, Node::File { data: Vec::new(), synced: Vec::new() });
            }
            Change::Write { file, offset, data } => {
                let held = self.data_mut(*file);
                held.resize(held.len().max(offset + data.len()), 0);
                held[*offset..offset + data.len()].copy_from_slice(data);
            }
            Change::SetLength { file, len } => self.data_mut(*file).resize(*len, 0),
            Change::Rename { from, name, to, new } => {
                let node = self.names_mut(*from).remove(name).expect("it has that name");
                self.names_mut(*to).insert(new.clone(), node);
            }
            Change::Remove { parent, name } => {
                self.names_mut(*parent).remove(name);
            }
            Change::Sync { node } => match self.0.get_mut(node) {
                Some(Node::File { data, synced }) => synced.clone_from(data),
                Some(Node::Folder { names, synced }) => synced.clone_from(names),
                None => {}
            },
        }
    }

    /// Creates the tree at `place`, which must not exist.
    pub(super) fn write(&self, place: &Path, left: Durability) {
        self.write_node(ROOT, place, left);
    }

    fn write_node(&self, node: u64, place: &Path, left: Durability) {
        match &self.0[&node] {
            Node::File { data, synced } => {
                fs::write(place, if left == Durability::All { data } else { synced }).unwrap();
            }
            Node::Folder { names, synced } => {
                fs::create_dir(place).unwrap();
                let names = if left == Durability::SyncedNames { synced } else { names };
                for (name, node) in names {
                    self.write_node(*node, &place.join(name), left);
                }
            }
        }
    }

    /// Returns the number of 4 KiB blocks that the files and folders under the root occupy.
    pub(super) fn blocks(&self) -> usize {
        self.blocks_of(ROOT)
    }

    fn blocks_of(&self, node: u64) -> usize {
        match self.0.get(&node) {
            Some(Node::File { data, .. }) => data.len().div_ceil(4096),
            Some(Node::Folder { names, .. }) => {
                1 + names.values().map(|node| self.blocks_of(*node)).sum::<usize>()
            }
            None => 0,
        }
    }
}

impl Node {
    fn folder() -> Node {
        Node::Folder { names: BTreeMap::new(), synced: BTreeMap::new() }
    }
}

#[test]
fn power_loss_keeps_exactly_the_synced_data() {
    let mut tree = Tree::new();
    let name = String::from("a");
    let changes = [
        Change::MakeFile { parent: ROOT, name: name.clone(), made: 2 },
        Change::Write { file: 2, offset: 1, data: vec![1, 2] },
        Change::Sync { node: 2 },
        Change::Sync { node: ROOT },
        Change::Write { file: 2, offset: 2, data: vec![9, 9] },
        Change::Rename { from: ROOT, name, to: ROOT, new: "b".into() },
    ];
    changes.iter().for_each(|change| tree.apply(change));
    let place = tempfile::tempdir().unwrap();
    let read = |left: Durability, name: &str| {
        let at = place.path().join(format!("{left:?}"));
        if !at.exists() {
            tree.write(&at, left);
        }
        fs::read(at.join(name)).ok()
    };
    assert_eq!(read(Durability::All, "b"), Some(vec![0, 1, 9, 9]));
    assert_eq!(read(Durability::SyncedData, "b"), Some(vec![0, 1, 2]));
    assert_eq!(
        (read(Durability::SyncedNames, "a"), read(Durability::SyncedNames, "b")),
        (Some(vec![0, 1, 2]), None)
    );
}
