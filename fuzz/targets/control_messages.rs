//! The walk over control messages: every message of a buffer, none outside of it, and what is
//! written is what is read.

#![no_main]

use libfuzzer_sys::fuzz_target;
use wirestamp_fuzz::control::{Buffer, Found, walk};
use wirestamp_sys::cmsg::{ControlBuffer, messages};

const ROOM: usize = 512;

fuzz_target!(|input: (Buffer<'_>, &[u8])| {
    check(&input.0.bytes());
    check(input.1);
});

fn check(bytes: &[u8]) {
    let offset = |data: &[u8]| data.as_ptr() as usize - bytes.as_ptr() as usize;
    let read: Vec<_> = messages(bytes).collect();
    let found: Vec<_> = read
        .iter()
        .map(|message| {
            let begin = offset(message.data);
            Found {
                what: (message.level, message.kind),
                begin,
                end: begin + message.data.len(),
            }
        })
        .collect();
    assert_eq!(found, walk(bytes));

    let mut written = ControlBuffer::<ROOM>::new();
    let fit = read
        .iter()
        .take_while(|message| written.push(message.level, message.kind, message.data))
        .count();
    assert!(written.written().len() <= ROOM);
    assert!(
        messages(written.written()).eq(read[..fit].iter().copied()),
        "what was written is not what is read"
    );
    let refused = read.get(fit).map(|message| message.data.len());
    assert!(
        refused.is_none_or(|length| written.written().len() + length + 24 > ROOM),
        "refused with room left"
    );
}
