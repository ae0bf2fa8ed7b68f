//! The kinds of events that measurements yield.

/// A kind of event. The monitor's log, API and history use its [name](Self::name).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum EventKind {
    /// A clock began another generation.
    GenerationChange,
    /// The real-time clock was stepped.
    ClockStep,
    /// An interface appeared, went or was changed.
    Interface,
    /// A name has another address.
    AddressChanged,
    /// A measurement failed, and is tried again.
    TaskFailed,
    /// A measurement that failed runs again.
    TaskRunning,
    /// The sources of a PTP clock agree or disagree.
    Agreement,
    /// A PTP port is in another state, or follows another timeTransmitter.
    PtpState,
    /// A PTP clock measures nothing.
    PtpSilence,
    /// A PTP clock runs with something that its user may not want.
    PtpWarning,
    /// A reflector runs with something that its user may not want.
    ReflectorWarning,
}

impl EventKind {
    /// All kinds.
    pub const ALL: &[Self] = &[
        Self::GenerationChange,
        Self::ClockStep,
        Self::Interface,
        Self::AddressChanged,
        Self::TaskFailed,
        Self::TaskRunning,
        Self::Agreement,
        Self::PtpState,
        Self::PtpSilence,
        Self::PtpWarning,
        Self::ReflectorWarning,
    ];

    /// Returns a short, stable name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::GenerationChange => "generation_change",
            Self::ClockStep => "clock_step",
            Self::Interface => "interface",
            Self::AddressChanged => "address_changed",
            Self::TaskFailed => "task_failed",
            Self::TaskRunning => "task_running",
            Self::Agreement => "agreement",
            Self::PtpState => "ptp_state",
            Self::PtpSilence => "ptp_silence",
            Self::PtpWarning => "ptp_warning",
            Self::ReflectorWarning => "reflector_warning",
        }
    }
}
