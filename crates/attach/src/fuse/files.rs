//! The file system operations on the folder and its file.

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
use super::reply::{Parts, Recipient, Reply};
use crate::attached::AttachedDrive;
use crate::request::{PendingRequest, Request};

/// The inode number of the file; the folder is the root.
const INODE: INodeNo = INodeNo(2);

/// The time for which the kernel may cache names and attributes: none. Programs therefore notice at
/// once when serving has ended.
const CACHE_TIMEOUT: Duration = Duration::ZERO;

/// The maximum number of asynchronous requests that the kernel keeps in flight. Its default of 12
/// would limit the queue depth of the drive.
const IN_FLIGHT: u16 = 1024;

/// The maximum length of a request that writes zeros, in bytes.
const ZEROS: u64 = 1 << 20;

/// The file system with the one file `drive`.
pub(super) struct Files {
    drive: Arc<AttachedDrive<Recipient>>,
    uid: u32,
    gid: u32,
}

impl Files {
    /// Creates the file system; its file belongs to the user of this process.
    pub(super) fn new(drive: Arc<AttachedDrive<Recipient>>) -> Files {
        let (uid, gid) = (geteuid().as_raw(), getegid().as_raw());
        Files { drive, uid, gid }
    }

    /// Returns the name of the drive.
    pub(super) fn name(&self) -> &str {
        &self.drive.export().name
    }

    /// Returns true if the file belongs to root.
    pub(super) fn owner_is_root(&self) -> bool {
        self.uid == 0
    }

    /// Returns true if the file may be written.
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
        // A drive records no timestamps.
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

    /// Returns the part of a range that lies within the drive.
    fn within(&self, offset: u64, len: u64) -> Range<u64> {
        offset..offset.saturating_add(len).min(self.size())
    }

    fn submit(&self, request: Request, from: Reply) {
        self.drive.submit(&mut vec![PendingRequest { request, from: Recipient(from) }]);
    }

    /// Submits several requests that together answer one request of the kernel.
    fn submit_parts(&self, requests: Vec<Request>, reply: ReplyEmpty) {
        if requests.is_empty() {
            return reply.ok();
        }
        let parts = Parts::new(requests.len(), reply);
        let from =
            |request| PendingRequest { request, from: Recipient(Reply::Part(Arc::clone(&parts))) };
        self.drive.submit(&mut requests.into_iter().map(from).collect());
    }
}

/// Creates a request without data, which is durable after the next flush.
fn request(op: Op, range: Range<u64>) -> Request {
    let (offset, len) = (Bytes(range.start), Bytes(range.end.saturating_sub(range.start)));
    Request {
        op,
        offset,
        len,
        data: Vec::new(),
        durable: false,
        appends: false,
        stream: 0,
        metadata: None,
    }
}

/// Returns requests that write zeros to a range.
fn zeros(range: Range<u64>) -> impl Iterator<Item = Request> {
    let starts = (range.start..range.end).step_by(usize::try_from(ZEROS).unwrap_or(usize::MAX));
    starts.map(move |start| request(Op::Write, start..range.end.min(start + ZEROS)))
}

/// Returns requests that punch a hole: a trim of the complete blocks in the range, and writes of
/// zeros to the partial blocks at its ends. The range then reads as zeros.
fn hole(range: Range<u64>, block: u64) -> Vec<Request> {
    let (first, last) = (range.start.next_multiple_of(block), range.end / block * block);
    if first >= last {
        return zeros(range).collect();
    }
    let trim = request(Op::Trim, first..last);
    zeros(range.start..first).chain([trim]).chain(zeros(last..range.end)).collect()
}

/// Returns true if a program may set the size of the file to `requested`, which changes nothing:
/// its own size, or 0 without a file handle. The kernel sends the latter when a program opens the
/// file to truncate it, as `dd` does, and cannot be distinguished from a call of `truncate` on the
/// path.
fn may_set_size(size: u64, requested: u64, has_handle: bool) -> bool {
    requested == size || (requested == 0 && !has_handle)
}

impl Filesystem for Files {
    fn init(&mut self, _: &fuser::Request, config: &mut KernelConfig) -> io::Result<()> {
        // An older kernel without this capability sends the requests of asynchronous IO one at a
        // time.
        let _ = config.add_capabilities(InitFlags::FUSE_ASYNC_DIO);
        let _ = config.set_max_background(IN_FLIGHT);
        Ok(())
    }

    fn lookup(&self, _: &fuser::Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        match self.attributes(INODE) {
            Some(file) if parent == INodeNo::ROOT && name == FILE => {
                reply.entry(&CACHE_TIMEOUT, &file, Generation(0));
            }
            _ => reply.error(Errno::ENOENT),
        }
    }

    fn getattr(&self, _: &fuser::Request, of: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        match self.attributes(of) {
            Some(attributes) => reply.attr(&CACHE_TIMEOUT, &attributes),
            None => reply.error(Errno::ENOENT),
        }
    }

    /// Accepts a change of the size that [`may_set_size`] permits; it has no effect. Rejects all
    /// other changes.
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
            (Some(attributes), Some(size))
                if may_set_size(attributes.size, size, open.is_some()) =>
            {
                reply.attr(&CACHE_TIMEOUT, &attributes)
            }
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
        // A loop device uses the block size as its discard granularity.
        let block = self.drive.export().logical_block.0;
        let size = u32::try_from(block).unwrap_or(4096);
        reply.statfs(self.size() / block, 0, 0, 1, 0, size, 255, size);
    }

    fn open(&self, _: &fuser::Request, _of: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        // Closing the file need not flush anything (NOFLUSH), because this process caches nothing.
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
            false => self.submit(request(Op::Read, range), Reply::Read(reply)),
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
        self.submit(Request { data, durable, ..request }, Reply::Write(reply));
    }

    fn fsync(&self, _: &fuser::Request, _of: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        self.submit_parts(vec![request(Op::Flush, 0..0)], reply);
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
        let grows = mode & libc::FALLOC_FL_KEEP_SIZE == 0;
        if grows && offset.saturating_add(length) > self.size() {
            return reply.error(Errno::ENOSPC);
        }
        match mode & !libc::FALLOC_FL_KEEP_SIZE {
            libc::FALLOC_FL_PUNCH_HOLE if self.drive.trims_to_zeros() => {
                self.submit_parts(hole(range, export.logical_block.0), reply);
            }
            libc::FALLOC_FL_ZERO_RANGE => self.submit_parts(zeros(range).collect(), reply),
            _ => reply.error(Errno::EOPNOTSUPP),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn triples(requests: Vec<Request>) -> Vec<(Op, u64, u64)> {
        requests.iter().map(|request| (request.op, request.offset.0, request.len.0)).collect()
    }

    // Only complete blocks are trimmed; the partial blocks at the ends are written with zeros.
    #[test]
    fn a_hole_trims_whole_blocks_and_zeroes_its_ends() {
        assert_eq!(triples(hole(4096..12288, 4096)), [(Op::Trim, 4096, 8192)]);
        let ends = [(Op::Write, 100, 3996), (Op::Trim, 4096, 4096), (Op::Write, 8192, 8)];
        assert_eq!(triples(hole(100..8200, 4096)), ends);
        assert_eq!(triples(hole(100..8000, 4096)), [(Op::Write, 100, 7900)]);
        assert_eq!(triples(hole(4096..4096, 4096)), []);
        #[allow(clippy::reversed_empty_ranges, reason = "ranges past the end are reversed")]
        let past = hole(8192..4096, 4096);
        assert_eq!(triples(past), []);
    }

    // `dd` opens the file to truncate it, and `truncate` sets the size that the file has.
    #[test]
    fn the_size_of_the_file_stays() {
        let may = |requested, has_handle| may_set_size(8192, requested, has_handle);
        assert!(may(8192, true) && may(8192, false) && may(0, false));
        for requested in [1, 4096, 8191, 8193, u64::MAX] {
            assert!(!may(requested, true) && !may(requested, false), "{requested}");
        }
        assert!(!may(0, true));
    }

    // A long range of zeros is split into requests of the maximum length.
    #[test]
    fn zeros_are_split_into_requests() {
        let pieces = triples(zeros(512..2 * ZEROS).collect());
        let rest = (Op::Write, 512 + ZEROS, ZEROS - 512);
        assert_eq!(pieces, [(Op::Write, 512, ZEROS), rest]);
    }
}
