//! A test disk in memory that logs all changes, and that can be full.

#![allow(clippy::cast_possible_truncation, reason = "the disk is far smaller than 4 GiB")]

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, SystemTime};

use fuser::{
    BackgroundSession, BsdFileFlags, Config, Errno, FileAttr, FileHandle, FileType, Filesystem,
    FopenFlags, Generation, INodeNo, LockOwner, MountOption, OpenFlags, RenameFlags, ReplyAttr,
    ReplyCreate, ReplyData, ReplyDirectory, ReplyEmpty, ReplyEntry, ReplyOpen, ReplyStatfs,
    ReplyWrite, Request, Session, TimeOrNow, WriteFlags,
};
use rustix::mount::{UnmountFlags, unmount};

use super::tree::{Change, Node, Tree};

/// The cache time of attributes. It can be long, because all changes go through the kernel.
const BELIEVED: Duration = Duration::from_secs(3600);

/// The contents of the disk, and the changes that led to them.
pub(super) struct DiskContents {
    pub tree: Tree,
    pub changes: Vec<Change>,
    next: u64,
    /// The capacity in blocks of 4 KiB.
    capacity: usize,
    /// The number of operations that the full disk refused, in whole or in part.
    pub refused: usize,
}

impl DiskContents {
    fn change(&mut self, change: Change) {
        self.tree.apply(&change);
        self.changes.push(change);
    }

    /// Returns true if the disk has space for this many more blocks. Counts a refusal if not.
    fn has_room(&mut self, blocks: usize) -> bool {
        let room = self.tree.blocks() + blocks <= self.capacity;
        self.refused += usize::from(!room);
        room
    }

    fn make(&mut self, parent: INodeNo, name: &OsStr, folder: bool) -> Result<u64, Errno> {
        let (parent, name) = (parent.0, name.to_str().ok_or(Errno::EINVAL)?.to_owned());
        if self.tree.child(parent, &name).is_some() {
            return Err(Errno::EEXIST);
        }
        if !self.has_room(1) {
            return Err(Errno::ENOSPC);
        }
        self.next += 1;
        let made = self.next;
        self.change(match folder {
            true => Change::MakeFolder { parent, name, made },
            false => Change::MakeFile { parent, name, made },
        });
        Ok(made)
    }

    fn remove(&mut self, parent: INodeNo, name: &OsStr) -> Result<(), Errno> {
        let (parent, name) = (parent.0, name.to_str().ok_or(Errno::ENOENT)?.to_owned());
        let node = self.tree.child(parent, &name).ok_or(Errno::ENOENT)?;
        if self.tree.names(node).is_some_and(|names| !names.is_empty()) {
            return Err(Errno::ENOTEMPTY);
        }
        self.change(Change::Remove { parent, name });
        Ok(())
    }

    fn rename(
        &mut self,
        from: INodeNo,
        name: &OsStr,
        to: INodeNo,
        new: &OsStr,
        flags: RenameFlags,
    ) -> Result<(), Errno> {
        let text = |name: &OsStr| name.to_str().map(str::to_owned).ok_or(Errno::EINVAL);
        let (from, to, name, new) = (from.0, to.0, text(name)?, text(new)?);
        self.tree.child(from, &name).ok_or(Errno::ENOENT)?;
        let taken = self.tree.child(to, &new).is_some();
        if taken && flags.contains(RenameFlags::RENAME_NOREPLACE) {
            return Err(Errno::EEXIST);
        }
        self.change(Change::Rename { from, name, to, new });
        Ok(())
    }

    /// Writes the part of `data` that fits on the disk. Returns its length.
    fn write(&mut self, file: u64, offset: usize, data: &[u8]) -> Result<usize, Errno> {
        let held = self.tree.data(file).ok_or(Errno::EISDIR)?.len();
        let has = held.div_ceil(4096);
        let most = (has + self.capacity.saturating_sub(self.tree.blocks())) * 4096;
        let len = data.len().min(most.saturating_sub(offset));
        self.refused += usize::from(len < data.len());
        if len == 0 && !data.is_empty() {
            return Err(Errno::ENOSPC);
        }
        self.change(Change::Write { file, offset, data: data[..len].to_vec() });
        Ok(len)
    }

    fn attributes(&self, node: u64) -> Option<FileAttr> {
        let (kind, perm, size) = match self.tree.0.get(&node)? {
            Node::File { data, .. } => (FileType::RegularFile, 0o644, data.len() as u64),
            Node::Folder { .. } => (FileType::Directory, 0o755, 0),
        };
        let time = SystemTime::UNIX_EPOCH;
        Some(FileAttr {
            ino: INodeNo(node),
            size,
            blocks: size.div_ceil(512),
            atime: time,
            mtime: time,
            ctime: time,
            crtime: time,
            kind,
            perm,
            nlink: 1,
            uid: 0,
            gid: 0,
            rdev: 0,
            blksize: 4096,
            flags: 0,
        })
    }
}

struct Files(Arc<Mutex<DiskContents>>);

impl Files {
    fn kept(&self) -> MutexGuard<'_, DiskContents> {
        self.0.lock().unwrap()
    }

    fn sync(&self, node: INodeNo, reply: ReplyEmpty) {
        self.kept().change(Change::Sync { node: node.0 });
        reply.ok();
    }
}

fn answer(reply: ReplyEmpty, outcome: Result<(), Errno>) {
    match outcome {
        Ok(()) => reply.ok(),
        Err(errno) => reply.error(errno),
    }
}

impl Filesystem for Files {
    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let kept = self.kept();
        let child = name.to_str().and_then(|name| kept.tree.child(parent.0, name));
        match child.and_then(|child| kept.attributes(child)) {
            Some(attributes) => reply.entry(&BELIEVED, &attributes, Generation(0)),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn getattr(&self, _: &Request, node: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        match self.kept().attributes(node.0) {
            Some(attributes) => reply.attr(&BELIEVED, &attributes),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn setattr(
        &self,
        _: &Request,
        node: INodeNo,
        _mode: Option<u32>,
        _uid: Option<u32>,
        _gid: Option<u32>,
        size: Option<u64>,
        _atime: Option<TimeOrNow>,
        _mtime: Option<TimeOrNow>,
        _ctime: Option<SystemTime>,
        _open: Option<FileHandle>,
        _crtime: Option<SystemTime>,
        _chgtime: Option<SystemTime>,
        _bkuptime: Option<SystemTime>,
        _flags: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        let mut kept = self.kept();
        if let Some(size) = size {
            let (len, held) = (size as usize, kept.tree.data(node.0).map_or(0, Vec::len));
            let more = len.div_ceil(4096).saturating_sub(held.div_ceil(4096));
            if more > 0 && !kept.has_room(more) {
                return reply.error(Errno::ENOSPC);
            }
            kept.change(Change::SetLength { file: node.0, len });
        }
        match kept.attributes(node.0) {
            Some(attributes) => reply.attr(&BELIEVED, &attributes),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn mkdir(&self, _: &Request, parent: INodeNo, name: &OsStr, _: u32, _: u32, reply: ReplyEntry) {
        let mut kept = self.kept();
        let made = kept.make(parent, name, true);
        match made.map(|made| kept.attributes(made).expect("just made")) {
            Ok(attributes) => reply.entry(&BELIEVED, &attributes, Generation(0)),
            Err(errno) => reply.error(errno),
        }
    }

    fn create(
        &self,
        _: &Request,
        parent: INodeNo,
        name: &OsStr,
        _mode: u32,
        _umask: u32,
        _flags: i32,
        reply: ReplyCreate,
    ) {
        let mut kept = self.kept();
        let made = kept.make(parent, name, false);
        let none = FopenFlags::empty();
        match made.map(|made| kept.attributes(made).expect("just made")) {
            Ok(made) => reply.created(&BELIEVED, &made, Generation(0), FileHandle(0), none),
            Err(errno) => reply.error(errno),
        }
    }

    fn unlink(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        answer(reply, self.kept().remove(parent, name));
    }

    fn rmdir(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        answer(reply, self.kept().remove(parent, name));
    }

    fn rename(
        &self,
        _: &Request,
        from: INodeNo,
        name: &OsStr,
        to: INodeNo,
        new: &OsStr,
        flags: RenameFlags,
        reply: ReplyEmpty,
    ) {
        answer(reply, self.kept().rename(from, name, to, new, flags));
    }

    fn open(&self, _: &Request, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        reply.opened(FileHandle(0), FopenFlags::FOPEN_KEEP_CACHE);
    }

    fn read(
        &self,
        _: &Request,
        file: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let kept = self.kept();
        let Some(data) = kept.tree.data(file.0) else { return reply.error(Errno::EISDIR) };
        let start = data.len().min(offset as usize);
        reply.data(&data[start..data.len().min(start + size as usize)]);
    }

    fn write(
        &self,
        _: &Request,
        file: INodeNo,
        _: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        match self.kept().write(file.0, offset as usize, data) {
            Ok(len) => reply.written(len as u32),
            Err(errno) => reply.error(errno),
        }
    }

    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        reply.ok();
    }

    fn fsync(&self, _: &Request, file: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        self.sync(file, reply);
    }

    fn fsyncdir(&self, _: &Request, folder: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        self.sync(folder, reply);
    }

    fn readdir(
        &self,
        _: &Request,
        folder: INodeNo,
        _: FileHandle,
        offset: u64,
        mut reply: ReplyDirectory,
    ) {
        let kept = self.kept();
        let Some(names) = kept.tree.names(folder.0) else { return reply.error(Errno::ENOTDIR) };
        let names = names.iter().map(|(name, node)| (name.as_str(), *node));
        let all = [(".", folder.0), ("..", folder.0)].into_iter().chain(names);
        for ((name, node), next) in all.zip(1..).skip(offset as usize) {
            let is_folder = kept.tree.names(node).is_some();
            let kind = if is_folder { FileType::Directory } else { FileType::RegularFile };
            if reply.add(INodeNo(node), next, kind, name) {
                break;
            }
        }
        reply.ok();
    }

    fn statfs(&self, _: &Request, _: INodeNo, reply: ReplyStatfs) {
        let kept = self.kept();
        let free = kept.capacity.saturating_sub(kept.tree.blocks()) as u64;
        reply.statfs(kept.capacity as u64, free, free, 1 << 20, 1 << 20, 4096, 255, 4096);
    }
}

/// A mounted test disk, which is unmounted when it is dropped.
pub(super) struct Disk {
    pub place: PathBuf,
    kept: Arc<Mutex<DiskContents>>,
    _session: BackgroundSession,
    _folder: tempfile::TempDir,
}

impl Disk {
    /// Mounts a disk of this many blocks of 4 KiB. Prints a note and returns `None` if that is
    /// impossible here.
    pub(super) fn mount(capacity: usize) -> Option<Disk> {
        let folder = tempfile::tempdir().unwrap();
        let kept = DiskContents {
            tree: Tree::new(),
            changes: Vec::new(),
            next: super::tree::ROOT,
            capacity,
            refused: 0,
        };
        let kept = Arc::new(Mutex::new(kept));
        let mut config = Config::default();
        config.mount_options = vec![MountOption::RW, MountOption::FSName("recorded".into())];
        let session = Session::new(Files(Arc::clone(&kept)), folder.path(), &config);
        match session.and_then(Session::spawn) {
            Ok(session) => {
                let place = folder.path().to_path_buf();
                Some(Disk { place, kept, _session: session, _folder: folder })
            }
            Err(error) => {
                println!("skipped: no file system of our own can be mounted here: {error}");
                None
            }
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.place
    }

    /// Returns the contents of the disk, and the changes that led to them.
    pub(super) fn kept(&self) -> MutexGuard<'_, DiskContents> {
        self.kept.lock().unwrap()
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // A program that inspects all mounts may have this one open for a moment. A lazy unmount
        // detaches it at once, and the session ends when the program is done.
        let ended = unmount(&self.place, UnmountFlags::DETACH);
        assert!(ended.is_ok() || std::thread::panicking(), "{ended:?}");
    }
}
