//! The structures in which the kernel receives memory and packets to send, and its answers. Pure
//! functions.
//!
//! A frame to send consists of headroom, [`METADATA`] bytes that request the NIC's timestamp and
//! later contain it, and the packet from [`PACKET`] on.
//!
//! Source: `linux/if_xdp.h`, the kernel's `Documentation/networking/xsk-tx-metadata.rst`.

/// Bytes of `xdp_umem_reg`, `xdp_desc`, `xsk_tx_metadata` (newer kernels have a launch time at its end, older ones ignore what is there).
pub(super) const REGISTRATION: usize = 32;
pub(super) const DESCRIPTOR: usize = 16;
pub(super) const METADATA: usize = 24;
/// Where in a frame its packet begins: on a cache line of its own.
pub(super) const PACKET: usize = 64;

/// `xdp_umem_reg`: where the memory is, how long, in frames of which size, and how many bytes in front of a packet are about sending it.
pub(super) fn registration(
    address: u64,
    length: u64,
    frame: u32,
    metadata: u32,
) -> [u8; REGISTRATION] {
    let flags = if metadata == 0 {
        0
    } else {
        libc::XDP_UMEM_TX_METADATA_LEN
    };
    let mut bytes = [0; REGISTRATION];
    bytes[..8].copy_from_slice(&address.to_ne_bytes());
    bytes[8..16].copy_from_slice(&length.to_ne_bytes());
    bytes[16..20].copy_from_slice(&frame.to_ne_bytes());
    bytes[24..28].copy_from_slice(&flags.to_ne_bytes());
    bytes[28..].copy_from_slice(&metadata.to_ne_bytes());
    bytes
}

/// `xdp_desc`: a packet to be sent, with metadata or without.
pub(super) fn descriptor(at: u64, length: u32, metadata: bool) -> [u8; DESCRIPTOR] {
    let options = if metadata { libc::XDP_TX_METADATA } else { 0 };
    let mut bytes = [0; DESCRIPTOR];
    bytes[..8].copy_from_slice(&at.to_ne_bytes());
    bytes[8..12].copy_from_slice(&length.to_ne_bytes());
    bytes[12..].copy_from_slice(&options.to_ne_bytes());
    bytes
}

/// `xsk_tx_metadata` that asks for the NIC's timestamp. Where the answer will be is 0: a driver that does not answer leaves it so.
pub(super) fn request() -> [u8; METADATA] {
    let mut bytes = [0; METADATA];
    bytes[..8].copy_from_slice(&u64::from(libc::XDP_TXMD_FLAGS_TIMESTAMP).to_ne_bytes());
    bytes
}

/// What `xsk_tx_metadata` has for the NIC's timestamp; 0: none.
pub(super) fn answer(metadata: &[u8; METADATA]) -> u64 {
    let answer = metadata[8..].first_chunk();
    answer.map_or(0, |answer| u64::from_ne_bytes(*answer))
}

#[cfg(test)]
mod tests {
    use super::*;
    use libc::{xdp_desc, xdp_umem_reg, xsk_tx_metadata, xsk_tx_metadata_completion};
    use std::mem::offset_of;

    fn word(bytes: &[u8], at: usize) -> u32 {
        u32::from_ne_bytes(*bytes[at..].first_chunk().expect("within"))
    }

    fn long(bytes: &[u8], at: usize) -> u64 {
        u64::from_ne_bytes(*bytes[at..].first_chunk().expect("within"))
    }

    #[test]
    fn the_registration_is_laid_out_as_in_the_headers() {
        assert_eq!(size_of::<xdp_umem_reg>(), REGISTRATION);
        let bytes = registration(1, 2, 3, 24);
        assert_eq!(long(&bytes, offset_of!(xdp_umem_reg, addr)), 1);
        assert_eq!(long(&bytes, offset_of!(xdp_umem_reg, len)), 2);
        assert_eq!(word(&bytes, offset_of!(xdp_umem_reg, chunk_size)), 3);
        assert_eq!(word(&bytes, offset_of!(xdp_umem_reg, headroom)), 0);
        assert_eq!(word(&bytes, offset_of!(xdp_umem_reg, tx_metadata_len)), 24);
        let flags = offset_of!(xdp_umem_reg, flags);
        assert_eq!(word(&bytes, flags), libc::XDP_UMEM_TX_METADATA_LEN);
        assert_eq!(word(&registration(1, 2, 3, 0), flags), 0);
    }

    #[test]
    fn the_descriptor_is_laid_out_as_in_the_headers() {
        assert_eq!(size_of::<xdp_desc>(), DESCRIPTOR);
        let bytes = descriptor(5, 6, true);
        assert_eq!(long(&bytes, offset_of!(xdp_desc, addr)), 5);
        assert_eq!(word(&bytes, offset_of!(xdp_desc, len)), 6);
        let options = offset_of!(xdp_desc, options);
        assert_eq!(word(&bytes, options), libc::XDP_TX_METADATA);
        assert_eq!(word(&descriptor(5, 6, false), options), 0);
    }

    #[test]
    fn the_request_is_laid_out_as_in_the_headers_and_its_answer_is_read_there() {
        // with room for what later kernels have behind; the kernel takes multiples of 8
        assert!(size_of::<xsk_tx_metadata>() <= METADATA && METADATA % 8 == 0);
        let asked = request();
        let flags = offset_of!(xsk_tx_metadata, flags);
        assert_eq!(
            long(&asked, flags),
            u64::from(libc::XDP_TXMD_FLAGS_TIMESTAMP)
        );
        assert_eq!(answer(&asked), 0, "no answer yet");
        let mut answered = asked;
        let at = offset_of!(xsk_tx_metadata, xsk_tx_metadata_union)
            + offset_of!(xsk_tx_metadata_completion, tx_timestamp);
        answered[at..at + 8].copy_from_slice(&9u64.to_ne_bytes());
        assert_eq!(answer(&answered), 9);
    }
}
