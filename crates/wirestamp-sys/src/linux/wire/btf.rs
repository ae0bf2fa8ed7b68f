//! BTF, the kernel's description of its own types and functions: finds the number of a function. Pure: the bytes come in, and nothing
//! in them is trusted.
//!
//! Source: the kernel's `Documentation/bpf/btf.rst`.

const MAGIC: u16 = 0xeb9f;
/// Bytes of `btf_header`, at least.
const HEADER: usize = 24;
/// Bytes of `btf_type`, which what a kind adds follows.
const TYPE: usize = 12;
const FUNCTION: u32 = 12;

/// Finds the number of the function called `name`. `None`: there is none, or the bytes are no BTF.
pub fn function(btf: &[u8], name: &str) -> Option<u32> {
    let head: &[u8; HEADER] = btf.first_chunk()?;
    if u16::from_ne_bytes([head[0], head[1]]) != MAGIC {
        return None;
    }
    let field = |at| word(head, at).map(|value| value as usize);
    let body = btf.get(field(4)?..)?;
    let types = body.get(field(8)?..)?.get(..field(12)?)?;
    let strings = body.get(field(16)?..)?.get(..field(20)?)?;
    let (mut at, mut number) = (0, 1);
    while at < types.len() {
        let (name_at, info) = (word(types, at)? as usize, word(types, at + 4)?);
        let (kind, entries) = (info >> 24 & 31, (info & 0xffff) as usize);
        if kind == FUNCTION && text(strings, name_at)? == name.as_bytes() {
            return Some(number);
        }
        at += TYPE + added(kind, entries)?;
        number += 1;
    }
    None
}

/// How many bytes stand behind a type of this kind.
fn added(kind: u32, entries: usize) -> Option<usize> {
    Some(match kind {
        1 | 14 | 17 => 4,                // INT, VAR, DECL_TAG
        2 | 7..=12 | 16 | 18 => 0, // PTR, FWD, TYPEDEF, VOLATILE, CONST, RESTRICT, FUNC, FLOAT, TYPE_TAG
        3 => 12,                   // ARRAY
        4 | 5 | 15 | 19 => 12 * entries, // STRUCT, UNION, DATASEC, ENUM64
        6 | 13 => 8 * entries,     // ENUM, FUNC_PROTO
        _ => return None,
    })
}

fn text(strings: &[u8], at: usize) -> Option<&[u8]> {
    let rest = strings.get(at..)?;
    let end = rest.iter().position(|octet| *octet == 0)?;
    Some(&rest[..end])
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let four = bytes.get(at..)?.first_chunk()?;
    Some(u32::from_ne_bytes(*four))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// An integer, a structure with one member, a function `first`, another `second`.
    fn sample() -> Vec<u8> {
        let strings = b"\0first\0second\0";
        let mut types = Vec::new();
        for words in [
            &[0u32, 1 << 24, 4, 32][..],
            &[1, 4 << 24 | 1, 4, 1, 1, 0],
            &[1, 12 << 24, 1],
            &[7, 12 << 24, 1],
        ] {
            words
                .iter()
                .for_each(|word| types.extend(word.to_ne_bytes()));
        }
        let mut bytes = MAGIC.to_ne_bytes().to_vec();
        bytes.extend([1, 0]);
        let (types_length, strings_length) = (types.len() as u32, strings.len() as u32);
        for word in [24, 0, types_length, types_length, strings_length] {
            bytes.extend(u32::to_ne_bytes(word));
        }
        bytes.extend(types);
        bytes.extend(strings);
        bytes
    }

    #[test]
    fn a_function_is_found_by_its_name_and_nothing_else_is() {
        let bytes = sample();
        assert_eq!(function(&bytes, "first"), Some(3)); // 2 is a structure of this name
        assert_eq!(function(&bytes, "second"), Some(4));
        assert_eq!(function(&bytes, "secon"), None);
        assert_eq!(function(&bytes[..bytes.len() - 1], "second"), None);
        assert_eq!(function(&[], "first"), None);
    }

    #[test]
    #[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
    fn the_running_kernel_has_functions() {
        let bytes = match std::fs::read("/sys/kernel/btf/vmlinux") {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                eprintln!("skipped: BTF: this kernel was built without");
                assert!(std::env::var_os("WIRESTAMP_NO_SKIP").is_none());
                return;
            }
            read => read.expect("everybody may read it"),
        };
        assert!(function(&bytes, "schedule").is_some());
        assert_eq!(function(&bytes, "no_function_has_this_name"), None);
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_fail_or_never_end(bytes in proptest::collection::vec(any::<u8>(), 0..300), at in 0usize..80, octet: u8) {
            let _ = function(&bytes, "first");
            let mut changed = sample();
            let place = at % changed.len();
            changed[place] = octet;
            let _ = function(&changed, "second");
        }
    }
}
