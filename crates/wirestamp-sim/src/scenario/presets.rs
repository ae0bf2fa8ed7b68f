//! The list of presets. Each is a small scenario file, named after the product or the fault that it imitates.

macro_rules! presets {
    ($($name:literal: $description:literal,)*) => {
        /// Names and one-line descriptions.
        pub(super) const LIST: &[(&str, &str)] = &[$(($name, $description)),*];

        /// A preset's file.
        pub(super) fn text(name: &str) -> Option<&'static str> {
            match name {
                $($name => Some(include_str!(concat!("../presets/", $name, ".toml"))),)*
                _ => None,
            }
        }
    };
}

presets! {
    "i225": "a good NIC: hardware timestamps of every packet in both directions",
    "ideal": "no noise, no drift, latched cross timestamps",
    "igb": "Intel 82576: one transmit slot, receives PTPv2 events only, upgrades the filter",
    "igb-vm": "the same as recorded in an emulated machine: wider, noisier cross timestamps",
    "igc": "Intel I225 as its driver has it: four transmit slots, latched cross timestamps",
    "e1000e-silent": "Intel 82574 as emulated: advertises hardware timestamps that never come",
    "software-only": "veth or virtio: software timestamps, no hardware clock",
    "ena": "a cloud NIC: hardware timestamps on receive only, a clock that may be read seldom",
    "rx-only": "timestamps nothing that is sent",
    "tx-never": "advertises transmit timestamps that never come",
    "tx-zero": "transmit timestamps are zero",
    "tx-late": "transmit timestamps come after 1 us to 1 s, out of order, some twice",
    "cold-start": "packets of the first 5 ms after enabling have no receive timestamp",
    "buffer-full": "the system holds two waiting transmit timestamps",
    "counter-ids": "a kernel that can't carry ids, behind a firewall that refuses some sends",
    "counter-old": "a kernel before Linux 6.9, whose count of timestamped sends moves although they fail",
    "miscounted-ids": "a kernel whose count of timestamped sends is off by one",
    "control-truncated": "half of the received control data is cut, the timestamps with it",
    "filter-downgrade": "grants a PTPv2 filter where all packets were asked for; another program switches it off after 3 s",
    "hardware-no-cross": "hardware timestamps, and no cross timestamps",
    "equal-brackets": "both system times of a cross timestamp are the same",
    "counter-reset": "the NIC is reset after 3 s and its counter starts anew",
    "counter-wrap": "the counter wraps after 3 s",
    "clock-steps": "another program steps the hardware clock, and the real-time clock is set",
    "noisy-cross": "cross timestamps with outliers, asymmetry, invalid readings and refusals",
    "slow-cross": "cross timestamps over a slow bus: 18 us each way",
    "poor-oscillator": "the frequency swings by 1 ppm in 300 s and wanders",
    "lossy-link": "the cable loses, doubles and reorders datagrams",
    "storm": "notification storms, and lost notifications",
    "vanishing": "the NIC goes away after 2 s and comes back under another index",
    "unprivileged": "the user may not configure NICs nor open clocks",
    "windows-modern": "Windows 11 with a driver that does everything",
    "windows-api-off": "Windows 11 with timestamping switched off in the driver: all timestamps zero",
    "windows-no-api": "a Windows without the interface (or Wine): packets flow, nothing timestamps",
    "windows-old-abi": "a Windows 10 with the older interface: capabilities, and no cross timestamps",
    "windows-bad-driver": "Windows with a driver whose configuration is refused (2001)",
    "windows-by-value": "Windows whose driver does not say what is active (2001), and timestamps",
    "windows-oid-rejected": "Windows where some layer refuses the queries (23)",
    "windows-no-frequency": "Windows with a driver that does not tell its clock's frequency",
}
