//! Where captures are read from: files, pipes and standard input, also compressed.

use crate::failure::told;
use flate2::read::MultiGzDecoder;
use std::fs::File;
use std::io::{self, Cursor, IsTerminal, Read};
use std::path::Path;
use wirestamp::{Error, ErrorKind};
use wirestamp_capture::read::Reader;

const OPERATION: &str = "read the capture";
/// Boxed, so that each decoder is compiled once.
type Input = Box<dyn Read + Send>;

const GZIP: &[u8] = &[0x1f, 0x8b];
const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];

/// Whether it is standard input.
pub(super) fn is_standard(path: &Path) -> bool {
    path == Path::new("-")
}

/// Opens a capture.
pub(super) fn open(path: &Path) -> Result<Reader<'static>, Error> {
    let name = path.display().to_string();
    let refuse = |cause| Error::new(ErrorKind::InvalidInput, OPERATION, name.clone(), cause);
    if is_standard(path) {
        if io::stdin().is_terminal() {
            return Err(
                refuse("standard input is a terminal").with_remedy("pipe a capture into it")
            );
        }
        return uncompressed("standard input", Box::new(io::stdin()));
    }
    // Windows says of one that access is denied
    if path.is_dir() {
        return Err(refuse("is a folder").with_remedy("name a file in it"));
    }
    let file = File::open(path)
        .map_err(|error| told(ErrorKind::InvalidInput, OPERATION, &name, &error))?;
    uncompressed(&name, Box::new(file))
}

/// Reads a capture that may be compressed, in bounded memory: blocks are decompressed as they are
/// read.
fn uncompressed(name: &str, mut input: Input) -> Result<Reader<'static>, Error> {
    let mut head = Vec::new();
    let read = input.by_ref().take(4).read_to_end(&mut head);
    read.map_err(|error| told(ErrorKind::Io, OPERATION, name, &error))?;
    let format = [GZIP, ZSTD]
        .into_iter()
        .find(|magic| head.starts_with(magic));
    let whole: Input = Box::new(Cursor::new(head).chain(input));
    match format {
        Some(GZIP) => Reader::new(name, MultiGzDecoder::new(whole)),
        Some(_) => zstd(name, whole),
        None => Reader::new(name, whole),
    }
}

#[cfg(all(feature = "parquet", not(windows)))]
fn zstd(name: &str, input: Input) -> Result<Reader<'static>, Error> {
    /// The window of `zstd` itself: 128 MiB.
    const LARGEST_WINDOW: u32 = 27;
    let failed = |error: io::Error| told(ErrorKind::Io, OPERATION, name, &error);
    let mut decoder = zstd::Decoder::new(input).map_err(failed)?;
    decoder.window_log_max(LARGEST_WINDOW).map_err(failed)?;
    Reader::new(name, decoder)
}

#[cfg(not(all(feature = "parquet", not(windows))))]
fn zstd(name: &str, _: Input) -> Result<Reader<'static>, Error> {
    let cause = "is compressed by zstd, which this program does not read";
    let error = Error::new(ErrorKind::NotSupported, OPERATION, name.to_owned(), cause);
    Err(error.with_remedy("zstd -dc FILE | wirestamp capture answers -"))
}
