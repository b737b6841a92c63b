//! What the kernel asks of the folder and its file.

use std::ffi::OsStr;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use flashscope_block::{Bytes, Op};
use fuser::{
    BsdFileFlags, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation,
    INodeNo, InitFlags, KernelConfig, LockOwner, OpenFlags, ReplyAttr, ReplyData, ReplyDirectory,
    ReplyEmpty, ReplyEntry, ReplyOpen, ReplyStatfs, ReplyWrite, TimeOrNow, WriteFlags,
};
use rustix::process::{getegid, geteuid};

use super::FILE;
use super::reply::{Parts, Reply, To};
use crate::attached::Attached;
use crate::request::{Asked, Request};

/// The file; the folder is the root.
const INODE: INodeNo = INodeNo(2);

/// How long the kernel believes what it was told: once the drive is gone, it shall be seen.
const BELIEVED: Duration = Duration::ZERO;

/// How many requests the kernel makes at once on behalf of those who do not wait for each. Its own
/// 12 would keep a deep queue from the drive.
const IN_FLIGHT: u16 = 1024;

/// How many zeros are written at once.
const ZEROS: u64 = 1 << 20;

/// See the module.
pub(super) struct Files {
    drive: Arc<Attached<To>>,
    uid: u32,
    gid: u32,
}

impl Files {
    /// The file is this user's.
    pub(super) fn new(drive: Arc<Attached<To>>) -> Files {
        let (uid, gid) = (geteuid().as_raw(), getegid().as_raw());
        Files { drive, uid, gid }
    }

    /// How the drive was named.
    pub(super) fn name(&self) -> &str {
        &self.drive.export().name
    }

    /// Whether the file is root's.
    pub(super) fn owner_is_root(&self) -> bool {
        self.uid == 0
    }

    /// Whether the file may be written.
    pub(super) fn is_writable(&self) -> bool {
        self.drive.export().writable
    }

    fn size(&self) -> u64 {
        self.drive.export().size.0
    }

    fn attributes(&self, inode: INodeNo) -> Option<FileAttr> {
        let (kind, perm, nlink, size) = match inode {
            INodeNo::ROOT => (FileType::Directory, 0o500, 2, 0),
            INODE if self.is_writable() => (FileType::RegularFile, 0o600, 1, self.size()),
            INODE => (FileType::RegularFile, 0o400, 1, self.size()),
            _ => return None,
        };
        let block = self.drive.export().logical_block.0;
        // Nobody asks a drive when it was written.
        let time = SystemTime::UNIX_EPOCH;
        Some(FileAttr {
            ino: inode,
            size,
            blocks: size.div_ceil(512),
            atime: time,
            mtime: time,
            ctime: time,
            crtime: time,
            kind,
            perm,
            nlink,
            uid: self.uid,
            gid: self.gid,
            rdev: 0,
            blksize: u32::try_from(block.max(4096)).unwrap_or(4096),
            flags: 0,
        })
    }

    /// The part of a range that is within the drive.
    fn within(&self, offset: u64, len: u64) -> Range<u64> {
        offset..offset.saturating_add(len).min(self.size())
    }

    fn ask(&self, request: Request, from: Reply) {
        self.drive.submit(&mut vec![Asked { request, from: To(from) }]);
    }

    /// Asks for what together is one request of the kernel's.
    fn ask_parts(&self, requests: Vec<Request>, reply: ReplyEmpty) {
        if requests.is_empty() {
            return reply.ok();
        }
        let parts = Parts::new(requests.len(), reply);
        let from = |request| Asked { request, from: To(Reply::Part(Arc::clone(&parts))) };
        self.drive.submit(&mut requests.into_iter().map(from).collect());
    }
}

/// A request without data, to be durable by the next flush.
fn request(op: Op, range: Range<u64>) -> Request {
    let (offset, len) = (Bytes(range.start), Bytes(range.end.saturating_sub(range.start)));
    Request { op, offset, len, data: Vec::new(), durable: false }
}

/// Writes zeros.
fn zeros(range: Range<u64>) -> impl Iterator<Item = Request> {
    let starts = (range.start..range.end).step_by(usize::try_from(ZEROS).unwrap_or(usize::MAX));
    starts.map(move |start| request(Op::Write, start..range.end.min(start + ZEROS)))
}

/// Trims the blocks that lie within a range, and writes zeros to what is left at its ends: a hole
/// reads as zeros, and the drive forgets whole blocks.
fn hole(range: Range<u64>, block: u64) -> Vec<Request> {
    let (first, last) = (range.start.next_multiple_of(block), range.end / block * block);
    if first >= last {
        return zeros(range).collect();
    }
    let trim = request(Op::Trim, first..last);
    zeros(range.start..first).chain([trim]).chain(zeros(last..range.end)).collect()
}

impl Filesystem for Files {
    fn init(&mut self, _: &fuser::Request, config: &mut KernelConfig) -> io::Result<()> {
        // A kernel too old for it sends the requests of who does not wait one after the other.
        let _ = config.add_capabilities(InitFlags::FUSE_ASYNC_DIO);
        let _ = config.set_max_background(IN_FLIGHT);
        Ok(())
    }

    fn lookup(&self, _: &fuser::Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        match self.attributes(INODE) {
            Some(file) if parent == INodeNo::ROOT && name == FILE => {
                reply.entry(&BELIEVED, &file, Generation(0));
            }
            _ => reply.error(Errno::ENOENT),
        }
    }

    fn getattr(&self, _: &fuser::Request, of: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        match self.attributes(of) {
            Some(attributes) => reply.attr(&BELIEVED, &attributes),
            None => reply.error(Errno::ENOENT),
        }
    }

    /// As of a block device: who opens it to truncate it may, and nothing is.
    fn setattr(
        &self,
        _: &fuser::Request,
        of: INodeNo,
        _mode: Option<u32>,
        _uid: Option<u32>,
        _gid: Option<u32>,
        size: Option<u64>,
        _atime: Option<TimeOrNow>,
        _mtime: Option<TimeOrNow>,
        _ctime: Option<SystemTime>,
        open: Option<FileHandle>,
        _crtime: Option<SystemTime>,
        _chgtime: Option<SystemTime>,
        _bkuptime: Option<SystemTime>,
        _flags: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        match (self.attributes(of), size) {
            (Some(attributes), Some(_)) if open.is_none() => reply.attr(&BELIEVED, &attributes),
            (Some(_), Some(_)) => reply.error(Errno::EINVAL),
            _ => reply.error(Errno::EPERM),
        }
    }

    fn readdir(
        &self,
        _: &fuser::Request,
        _of: INodeNo,
        _: FileHandle,
        offset: u64,
        mut reply: ReplyDirectory,
    ) {
        let folder = (INodeNo::ROOT, FileType::Directory);
        let all = [(folder, "."), (folder, ".."), ((INODE, FileType::RegularFile), FILE)];
        for (((inode, kind), name), next) in
            all.into_iter().zip(1..).skip_while(|(_, at)| *at <= offset)
        {
            if reply.add(inode, next, kind, name) {
                break;
            }
        }
        reply.ok();
    }

    fn statfs(&self, _: &fuser::Request, _of: INodeNo, reply: ReplyStatfs) {
        // A loop device takes the size of a block as what it may discard.
        let block = self.drive.export().logical_block.0;
        let size = u32::try_from(block).unwrap_or(4096);
        reply.statfs(self.size() / block, 0, 0, 1, 0, size, 255, size);
    }

    fn open(&self, _: &fuser::Request, _of: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        // Nothing is kept back here that closing the file would have to write.
        let flags = FopenFlags::FOPEN_DIRECT_IO
            | FopenFlags::FOPEN_PARALLEL_DIRECT_WRITES
            | FopenFlags::FOPEN_NOFLUSH;
        reply.opened(FileHandle(0), flags);
    }

    fn read(
        &self,
        _: &fuser::Request,
        _of: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let range = self.within(offset, u64::from(size));
        match range.is_empty() {
            true => reply.data(&[]),
            false => self.ask(request(Op::Read, range), Reply::Read(reply)),
        }
    }

    fn write(
        &self,
        _: &fuser::Request,
        _of: INodeNo,
        _: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        flags: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let range = self.within(offset, data.len() as u64);
        if range.is_empty() {
            return reply.error(Errno::ENOSPC);
        }
        let request = request(Op::Write, range);
        let len = usize::try_from(request.len.0).unwrap_or(data.len());
        let durable = flags.0 & libc::O_DSYNC != 0;
        let data = data[..len].to_vec();
        self.ask(Request { data, durable, ..request }, Reply::Write(reply));
    }

    fn fsync(&self, _: &fuser::Request, _of: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        self.ask_parts(vec![request(Op::Flush, 0..0)], reply);
    }

    fn fallocate(
        &self,
        _: &fuser::Request,
        _of: INodeNo,
        _: FileHandle,
        offset: u64,
        length: u64,
        mode: i32,
        reply: ReplyEmpty,
    ) {
        let (range, export) = (self.within(offset, length), self.drive.export());
        match mode & !libc::FALLOC_FL_KEEP_SIZE {
            libc::FALLOC_FL_PUNCH_HOLE if self.drive.trims_to_zeros() => {
                self.ask_parts(hole(range, export.logical_block.0), reply);
            }
            libc::FALLOC_FL_ZERO_RANGE => self.ask_parts(zeros(range).collect(), reply),
            _ => reply.error(Errno::EOPNOTSUPP),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(requests: Vec<Request>) -> Vec<(Op, u64, u64)> {
        requests.iter().map(|request| (request.op, request.offset.0, request.len.0)).collect()
    }

    // Are whole blocks alone trimmed, and is all of a hole zero whatever its ends?
    #[test]
    fn holes() {
        assert_eq!(asked(hole(4096..12288, 4096)), [(Op::Trim, 4096, 8192)]);
        let ends = [(Op::Write, 100, 3996), (Op::Trim, 4096, 4096), (Op::Write, 8192, 8)];
        assert_eq!(asked(hole(100..8200, 4096)), ends);
        assert_eq!(asked(hole(100..8000, 4096)), [(Op::Write, 100, 7900)]);
        assert_eq!(asked(hole(4096..4096, 4096)), []);
        #[allow(clippy::reversed_empty_ranges, reason = "what lies past the drive")]
        let past = hole(8192..4096, 4096);
        assert_eq!(asked(past), []);
    }

    // Are many zeros written in pieces that a drive takes?
    #[test]
    fn pieces_of_zeros() {
        let pieces = asked(zeros(512..2 * ZEROS).collect());
        let rest = (Op::Write, 512 + ZEROS, ZEROS - 512);
        assert_eq!(pieces, [(Op::Write, 512, ZEROS), rest]);
    }
}
