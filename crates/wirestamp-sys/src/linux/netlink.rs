//! One conversation with the kernel over netlink: a request, all its answers. Does not
//! know what is asked.

use netlink_packet_core::{
    NetlinkDeserializable, NetlinkMessage, NetlinkPayload, NetlinkSerializable,
};
use netlink_sys::{Socket, SocketAddr};
use std::io;

/// Sends `request` and collects the answers until the kernel says that there are no more.
/// With `dump` clear, one answer (or an acknowledgement) is the end.
pub(super) fn ask<T>(
    protocol: isize,
    mut request: NetlinkMessage<T>,
    dump: bool,
) -> io::Result<Vec<T>>
where
    T: NetlinkSerializable + NetlinkDeserializable,
{
    let mut socket = Socket::new(protocol)?;
    socket.bind_auto()?;
    socket.connect(&SocketAddr::new(0, 0))?;
    request.finalize();
    let mut bytes = vec![0; request.buffer_len()];
    request.serialize(&mut bytes);
    socket.send(&bytes, 0)?;
    let mut answers = Vec::new();
    loop {
        let (datagram, _) = socket.recv_from_full()?;
        if read(&datagram, dump, &mut answers)? {
            return Ok(answers);
        }
    }
}

/// Reads the messages of one datagram; returns whether the conversation is over.
fn read<T: NetlinkDeserializable>(
    datagram: &[u8],
    dump: bool,
    answers: &mut Vec<T>,
) -> io::Result<bool> {
    let mut rest = datagram;
    while !rest.is_empty() {
        let message = NetlinkMessage::<T>::deserialize(rest)
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.to_string()))?;
        let length = (message.header.length as usize).next_multiple_of(4);
        match message.payload {
            NetlinkPayload::Done(_) => return Ok(true),
            NetlinkPayload::Error(error) => {
                return match error.code {
                    None => Ok(true),
                    Some(code) => Err(io::Error::from_raw_os_error(-code.get())),
                };
            }
            NetlinkPayload::InnerMessage(answer) => answers.push(answer),
            _ => {}
        }
        rest = rest.get(length.max(1)..).unwrap_or(&[]);
    }
    Ok(!dump && !answers.is_empty())
}
