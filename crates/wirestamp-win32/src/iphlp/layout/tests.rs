use super::*;

const BASE: usize = 0x10_0000;

fn listed(name: &str, index: u32, addresses: &[(&str, u8)]) -> Listed {
    let address = |(text, prefix_length): &(&str, u8)| InterfaceAddress {
        address: text.parse().expect("an address"),
        prefix_length: *prefix_length,
    };
    Listed {
        name: name.to_owned(),
        description: String::from("made up"),
        index,
        luid: u64::from(index) << 24 | 6 << 48,
        interface_type: 6,
        state: 1,
        mtu: 1_500,
        loopback: false,
        hardware_address: vec![2, 0, 0, 0, 0, 7],
        bits_per_second: 1_000_000_000,
        addresses: addresses.iter().map(address).collect(),
        has_ipv4: true,
        has_ipv6: false,
    }
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes(*bytes[at..].first_chunk().expect("four bytes"))
}

/// Follows a pointer; `None` for null.
fn follow(bytes: &[u8], at: usize) -> Option<usize> {
    let pointer = usize::from_ne_bytes(*bytes[at..].first_chunk().expect("a pointer"));
    if pointer == 0 {
        return None;
    }
    let target = pointer
        .checked_sub(BASE)
        .filter(|target| *target < bytes.len())
        .expect("into the buffer");
    assert_eq!(target % ALIGNMENT, 0);
    Some(target)
}

fn text(bytes: &[u8], at: usize) -> String {
    let characters = bytes[at..].chunks(size_of::<WideCharacter>());
    let values: Vec<_> = characters
        .map(|part| WideCharacter::from_ne_bytes(part.try_into().expect("whole")))
        .collect();
    narrow(
        values
            .split(|character| *character == 0)
            .next()
            .expect("a text"),
    )
    .expect("characters")
}

#[test]
fn records_lists_and_texts_are_found_by_their_pointers() {
    let adapters = [
        listed("eth0", 4, &[("192.0.2.9", 24), ("2001:db8::9", 64)]),
        listed("größe", 5, &[]),
    ];
    let bytes = of(&adapters, 0, BASE);
    assert_eq!((word(&bytes, 0), word(&bytes, 4)), (448, 4));
    assert_eq!(text(&bytes, follow(&bytes, 72).expect("a name")), "eth0");
    assert_eq!(
        u64::from_ne_bytes(*bytes[224..].first_chunk().expect("eight bytes")),
        0x0006_0000_0400_0000
    );
    assert_eq!(bytes[80..88], [2, 0, 0, 0, 0, 7, 0, 0]);
    let first = follow(&bytes, 24).expect("an address");
    let second = follow(&bytes, first + 8).expect("another");
    assert_eq!(follow(&bytes, second + 8), None);
    let socket_address = follow(&bytes, second + 16).expect("bytes");
    assert_eq!(
        (
            bytes[socket_address],
            word(&bytes, second + 24),
            bytes[second + 56]
        ),
        (23, 28, 64)
    );
    let next = follow(&bytes, 8).expect("the next adapter");
    assert_eq!(
        text(&bytes, follow(&bytes, next + 72).expect("a name")),
        "größe"
    );
    assert_eq!(
        (follow(&bytes, next + 24), follow(&bytes, next + 8)),
        (None, None)
    );
}

#[test]
fn the_size_does_not_depend_on_where_the_buffer_is() {
    let adapters = [listed("eth0", 4, &[("192.0.2.9", 24)])];
    assert_eq!(
        of(&adapters, 0, 0).len(),
        of(&adapters, 0, usize::MAX - 7).len()
    );
}

#[test]
fn flags_leave_out_and_add() {
    let adapters = [listed("eth0", 4, &[("192.0.2.9", 24)])];
    let bytes = of(
        &adapters,
        SKIP_UNICAST | SKIP_FRIENDLY_NAME | INCLUDE_PREFIX,
        BASE,
    );
    assert_eq!((follow(&bytes, 24), follow(&bytes, 72)), (None, None));
    let prefix = follow(&bytes, 176).expect("a prefix");
    let address = follow(&bytes, prefix + 16).expect("bytes");
    assert_eq!(bytes[address + 4..address + 8], [192, 0, 2, 0]);
    assert_eq!(word(&bytes, prefix + 32), 24);
}

#[test]
fn prefixes_of_any_length_have_a_network() {
    for (text, length, expected) in [
        ("10.1.2.3", 0, "0.0.0.0"),
        ("10.1.2.3", 32, "10.1.2.3"),
        ("2001:db8::9", 0, "::"),
        ("fe80::1", 200, "fe80::1"),
    ] {
        let known = InterfaceAddress {
            address: text.parse().expect("an address"),
            prefix_length: length,
        };
        assert_eq!(network(&known).to_string(), expected);
    }
}
