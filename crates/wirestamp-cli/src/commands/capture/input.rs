//! Where captures are read from: files, folders, pipes and standard input, also compressed.

use super::folder;
use crate::failure::told;
use flate2::read::MultiGzDecoder;
use std::fs::File;
use std::io::{self, Cursor, IsTerminal, Read};
use std::path::Path;
use wirestamp::{Error, ErrorKind};
use wirestamp_capture::read::Reader;

pub(super) const OPERATION: &str = "read the capture";
/// Boxed, so that each decoder is compiled once.
pub(super) type Input = Box<dyn Read + Send>;

const GZIP: &[u8] = &[0x1f, 0x8b];
const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];

/// Whether it is standard input.
pub(super) fn is_standard(path: &Path) -> bool {
    path == Path::new("-")
}

/// Opens a capture: a file, or a folder of files.
pub(super) fn open(path: &Path) -> Result<Reader<'static>, Error> {
    let name = path.display().to_string();
    if is_standard(path) {
        if io::stdin().is_terminal() {
            let cause = "standard input is a terminal";
            let error = Error::new(ErrorKind::InvalidInput, OPERATION, name, cause);
            return Err(error.with_remedy("pipe a capture into it"));
        }
        let name = "standard input";
        return Reader::new(name, uncompressed(name, Box::new(io::stdin()))?);
    }
    if path.is_dir() {
        return folder::open(path);
    }
    Reader::new(name, bytes(path)?)
}

/// Opens a file.
pub(super) fn bytes(path: &Path) -> Result<Input, Error> {
    let name = path.display().to_string();
    let file = File::open(path)
        .map_err(|error| told(ErrorKind::InvalidInput, OPERATION, &name, &error))?;
    of_file(&name, file)
}

/// Opens a file without waiting for the writer of a FIFO: the name may lead to one since it was looked at.
pub(super) fn open_at_once(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.read(true);
    #[cfg(target_os = "linux")]
    std::os::unix::fs::OpenOptionsExt::custom_flags(
        &mut options,
        libc::O_NONBLOCK | libc::O_NOCTTY,
    );
    options.open(path)
}

/// Reads a file that is open.
pub(super) fn of_file(name: &str, file: File) -> Result<Input, Error> {
    uncompressed(name, Box::new(file))
}

/// Returns the bytes of a capture that may be compressed, in bounded memory: blocks are decompressed as they are
/// read.
fn uncompressed(name: &str, mut input: Input) -> Result<Input, Error> {
    let mut head = Vec::new();
    let read = input.by_ref().take(4).read_to_end(&mut head);
    read.map_err(|error| told(ErrorKind::Io, OPERATION, name, &error))?;
    let format = [GZIP, ZSTD]
        .into_iter()
        .find(|magic| head.starts_with(magic));
    let whole: Input = Box::new(Cursor::new(head).chain(input));
    match format {
        Some(GZIP) => Ok(Box::new(MultiGzDecoder::new(whole))),
        Some(_) => zstd(name, whole),
        None => Ok(whole),
    }
}

#[cfg(all(feature = "parquet", not(windows)))]
fn zstd(name: &str, input: Input) -> Result<Input, Error> {
    /// The window of `zstd` itself: 128 MiB.
    const LARGEST_WINDOW: u32 = 27;
    let failed = |error: io::Error| told(ErrorKind::Io, OPERATION, name, &error);
    let mut decoder = zstd::Decoder::new(input).map_err(failed)?;
    decoder.window_log_max(LARGEST_WINDOW).map_err(failed)?;
    Ok(Box::new(decoder))
}

#[cfg(not(all(feature = "parquet", not(windows))))]
fn zstd(name: &str, _: Input) -> Result<Input, Error> {
    let cause = "is compressed by zstd, which this program does not read";
    let error = Error::new(ErrorKind::NotSupported, OPERATION, name.to_owned(), cause);
    Err(error.with_remedy("zstd -dc FILE | wirestamp capture answers -"))
}
