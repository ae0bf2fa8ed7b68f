//! The values of a reply's extensions.

use super::ReflectorConfiguration;
use super::sessions::Previous;
use crate::stamp::HostTimestamp;
use crate::timestamp::WireTimestamp;
use crate::tlv::{ClassOfService, DirectMeasurement, FollowUp, Method, TimestampInformation, kind};

/// The values for the extensions.
pub(super) struct Fill<'a> {
    pub(super) configuration: &'a ReflectorConfiguration,
    pub(super) received: &'a HostTimestamp,
    pub(super) previous: Option<Previous>,
    pub(super) counts: Option<(u32, u32)>,
    pub(super) traffic_class: Option<u8>,
}

impl Fill<'_> {
    /// Fills in an extension. Returns the DSCP for the reply, if the extension requests one.
    pub(super) fn value(&self, kind: u8, value: &mut [u8]) -> Option<u8> {
        let sent = self
            .previous
            .and_then(|previous| Some((previous.sequence, previous.sent?)));
        match kind {
            kind::TIMESTAMP_INFORMATION => {
                let information = TimestampInformation {
                    source_in: Some(self.configuration.source),
                    method_in: Some(self.received.method),
                    source_out: Some(self.configuration.source),
                    method_out: Some(Method::Software),
                };
                value[..4].copy_from_slice(&information.octets());
            }
            kind::CLASS_OF_SERVICE => {
                let class = self.traffic_class?;
                let wanted = ClassOfService::read(value)?.wanted_dscp;
                let granted = self.configuration.grant_dscp || wanted == class >> 2;
                let answer = ClassOfService {
                    wanted_dscp: wanted,
                    received_dscp: class >> 2,
                    received_ecn: class & 3,
                    refused: !granted,
                };
                value.copy_from_slice(&answer.octets());
                return granted.then_some(wanted);
            }
            kind::DIRECT_MEASUREMENT => {
                let counts = DirectMeasurement::read(value)?;
                let (reflector_received, reflector_sent) = self.counts.unwrap_or_default();
                let counts = DirectMeasurement {
                    reflector_received,
                    reflector_sent,
                    ..counts
                };
                value.copy_from_slice(&counts.octets());
            }
            kind::FOLLOW_UP => {
                let follow_up = sent.map(|(sequence, sent)| FollowUp {
                    sequence,
                    timestamp: WireTimestamp::encode(
                        sent.utc,
                        self.configuration.format,
                        self.configuration.tai_offset,
                    ),
                    method: sent.method,
                });
                value.copy_from_slice(&FollowUp::octets(follow_up));
            }
            _ => {}
        }
        None
    }
}
