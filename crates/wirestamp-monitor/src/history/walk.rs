//! Reads the blocks of a segment and skips damaged parts.

use super::block;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};

/// Length and checksum.
pub(super) const HEAD: usize = 8;
/// The longest block.
pub(super) const LONGEST_BLOCK: usize = 384 * 1_024;
/// The number of bytes that are searched at a time for the next block.
const WINDOW: usize = 64 * 1_024;
/// The most places that are tried that look like a block and are not. Only a forged file has more.
const TRIES: usize = 256;

/// A part of a segment.
#[derive(Debug)]
pub(super) enum Part<'a> {
    Block(&'a [u8]),
    /// So many bytes before the next block.
    Damaged(u64),
}

/// The contents of a segment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Walked {
    /// Bytes up to the end of the last block.
    pub(super) end: u64,
    /// Bytes among them that belong to no block.
    pub(super) damaged: u64,
    /// Bytes behind the last block.
    pub(super) rest: u64,
    /// Whether a write that did not end can have left these: the beginning of a block, or zeros.
    pub(super) is_torn: bool,
}

/// Calls `each` with every block, and with what lies between two if that is damaged.
pub(super) fn walk(file: File, mut each: impl FnMut(Part<'_>)) -> io::Result<Walked> {
    let length = file.metadata()?.len();
    let mut segment = Segment {
        reader: BufReader::new(file),
        length,
        tries: TRIES,
    };
    let (mut walked, mut block) = (Walked::default(), Vec::new());
    loop {
        let begin = match segment.is_block(walked.end, &mut block)? {
            true => walked.end,
            false => match segment.find(walked.end + 1, &mut block)? {
                Some(begin) => begin,
                None => break,
            },
        };
        if begin > walked.end {
            each(Part::Damaged(begin - walked.end));
            walked.damaged += begin - walked.end;
        }
        each(Part::Block(&block));
        walked.end = begin + (HEAD + block.len()) as u64;
    }
    walked.rest = length.saturating_sub(walked.end);
    walked.is_torn = segment.is_torn(walked.end)?;
    Ok(walked)
}

struct Segment {
    reader: BufReader<File>,
    length: u64,
    /// How many more places may be tried.
    tries: usize,
}

impl Segment {
    fn seek(&mut self, at: u64) -> io::Result<()> {
        // records read in order stay in the buffer
        let here = self.reader.stream_position()?;
        let step = i64::try_from(at).ok().zip(i64::try_from(here).ok());
        match step {
            Some((at, here)) => self.reader.seek_relative(at - here),
            None => self.reader.seek(SeekFrom::Start(at)).map(drop),
        }
    }

    /// The length and the checksum that a block at this place has; `None`: it is no block, or not all of it is there.
    fn head(&self, at: u64, head: [u8; HEAD]) -> Option<(usize, u32)> {
        let [a, b, c, d, sum @ ..] = head;
        let length = u32::from_le_bytes([a, b, c, d]) as usize;
        let fits = at + (HEAD + length) as u64 <= self.length;
        let is_one = (1..=LONGEST_BLOCK).contains(&length) && fits;
        is_one.then(|| (length, u32::from_le_bytes(sum)))
    }

    /// Reads the block at this place; `false`: there is none.
    fn is_block(&mut self, at: u64, block: &mut Vec<u8>) -> io::Result<bool> {
        if at + HEAD as u64 > self.length {
            return Ok(false);
        }
        let mut head = [0; HEAD];
        self.seek(at)?;
        self.reader.read_exact(&mut head)?;
        let Some((length, sum)) = self.head(at, head) else {
            return Ok(false);
        };
        block.resize(length, 0);
        self.reader.read_exact(block)?;
        Ok(crc32fast::hash(block) == sum)
    }

    /// Finds the first block from this place on.
    fn find(&mut self, mut from: u64, block: &mut Vec<u8>) -> io::Result<Option<u64>> {
        const NEEDED: usize = HEAD + block::HEAD;
        while from + NEEDED as u64 <= self.length {
            let wanted = (self.length - from).min(WINDOW as u64) as usize;
            let mut window = vec![0; wanted];
            self.seek(from)?;
            self.reader.read_exact(&mut window)?;
            for (place, needed) in (from..).zip(window.windows(NEEDED)) {
                let (head, times) = needed.split_at(HEAD);
                let head = head.try_into().unwrap_or_default();
                if block::times(times).is_none() || self.head(place, head).is_none() {
                    continue;
                }
                if self.is_block(place, block)? {
                    return Ok(Some(place));
                }
                self.tries = self.tries.saturating_sub(1);
                if self.tries == 0 {
                    return Ok(None);
                }
            }
            from += (wanted - NEEDED + 1) as u64;
        }
        Ok(None)
    }

    /// Whether what lies behind the last block can be a write that did not end.
    fn is_torn(&mut self, end: u64) -> io::Result<bool> {
        let rest = self.length.saturating_sub(end);
        if rest < HEAD as u64 || self.tries == 0 {
            return Ok(rest < HEAD as u64);
        }
        self.seek(end)?;
        let mut head = [0; HEAD];
        self.reader.read_exact(&mut head)?;
        let [a, b, c, d, ..] = head;
        let length = u32::from_le_bytes([a, b, c, d]) as usize;
        if length != 0 {
            return Ok(length <= LONGEST_BLOCK && (HEAD + length) as u64 > rest);
        }
        let mut is_zero = head == [0; HEAD];
        for octet in (&mut self.reader).bytes() {
            is_zero &= octet? == 0;
            if !is_zero {
                break;
            }
        }
        Ok(is_zero)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    fn block(payload: &[u8]) -> Vec<u8> {
        let head = [payload.len() as u32, crc32fast::hash(payload)].map(u32::to_le_bytes);
        [&head.concat()[..], payload].concat()
    }

    /// The head of a block that is found: version 2, and times.
    fn payload(last: u8, length: usize) -> Vec<u8> {
        let mut payload = vec![2];
        payload.extend([0; 16]);
        payload.resize(length, 7);
        payload.push(last);
        payload
    }

    fn walked(octets: &[u8]) -> (Walked, String) {
        let mut file = tempfile::tempfile().expect("made");
        file.write_all(octets).expect("written");
        file.rewind().expect("it is a file");
        let mut parts = String::new();
        let walked = walk(file, |part| match part {
            Part::Block(block) => parts += &format!("{} ", block[block.len() - 1]),
            Part::Damaged(bytes) => parts += &format!("({bytes}) "),
        });
        (walked.expect("it reads"), parts)
    }

    #[test]
    fn a_block_that_is_longer_than_any_is_not_read() {
        for (length, end) in [
            (LONGEST_BLOCK, HEAD + LONGEST_BLOCK),
            (LONGEST_BLOCK + 1, 0),
        ] {
            let (walked, _) = walked(&block(&vec![1; length]));
            assert_eq!(walked.end, end as u64);
        }
    }

    /// Whichever bit of a segment is another one, the blocks that do not have it are read, and nothing is taken for a torn write but at its end.
    #[test]
    fn one_bit_costs_one_block() {
        let blocks: Vec<_> = (1..=4).map(|last| block(&payload(last, 40))).collect();
        let (whole, each) = (blocks.concat(), blocks[0].len());
        assert_eq!(walked(&whole).1, "1 2 3 4 ");
        for bit in 0..whole.len() * 8 {
            let mut octets = whole.clone();
            octets[bit / 8] ^= 1 << (bit % 8);
            let (walked, parts) = walked(&octets);
            let damaged = bit / 8 / each + 1;
            let expected: String = (1..=4)
                .filter(|number| !(damaged == 4 && *number == 4))
                .map(|number| match number == damaged {
                    true => format!("({each}) "),
                    false => format!("{number} "),
                })
                .collect();
            assert_eq!(parts, expected, "bit {bit}");
            let is_last = damaged == 4;
            let lost = if is_last { walked.rest } else { walked.damaged };
            assert_eq!((lost, walked.rest > 0), (each as u64, is_last), "bit {bit}");
            assert!(!walked.is_torn || bit / 8 < 3 * each + 4, "bit {bit}");
        }
    }

    #[test]
    fn a_write_that_did_not_end_is_told_from_damage() {
        let (one, two) = (block(&payload(1, 40)), block(&payload(2, 40)));
        for cut in 1..two.len() {
            let (walked, parts) = walked(&[&one[..], &two[..cut]].concat());
            assert_eq!((parts.as_str(), walked.rest), ("1 ", cut as u64));
            assert!(walked.is_torn, "{cut}");
        }
        for (behind, is_torn) in [
            (vec![], true),
            (vec![0; 4_096], true),
            (vec![0xff; 20], false),
            ([&[0; 100][..], &[1]].concat(), false),
        ] {
            let (walked, _) = walked(&[&one[..], &behind].concat());
            assert_eq!(walked.is_torn, is_torn, "{behind:?}");
        }
    }

    /// Every octet looks like the head of a long block.
    #[test]
    fn a_file_that_is_made_to_be_searched_is_given_up() {
        let head = [1_024_u32, 0].map(u32::to_le_bytes).concat();
        let trap = [&head[..], &payload(0, 17)].concat();
        let (walked, parts) = walked(&trap.repeat(100_000));
        assert_eq!((parts.as_str(), walked.end, walked.is_torn), ("", 0, false));
    }
}
