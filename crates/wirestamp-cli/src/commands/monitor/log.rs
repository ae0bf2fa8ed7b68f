//! Where log lines go: to the journal with their fields, if standard error is connected to it, else to standard error as text or JSON.

use crate::arguments::LogFormat;

pub(super) fn start(format: LogFormat) {
    #[cfg(target_os = "linux")]
    if format == LogFormat::Auto && journal::start() {
        return;
    }
    let lines = tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .with_target(false)
        .with_ansi(false);
    match format {
        LogFormat::Auto | LogFormat::Text => lines.init(),
        LogFormat::Json => lines.json().init(),
    }
}

/// systemd's journal: systemd.exec(5), `$JOURNAL_STREAM`.
#[cfg(target_os = "linux")]
mod journal {
    use std::fs::File;
    use std::os::fd::AsFd;
    use std::os::linux::fs::MetadataExt as _;
    use tracing_subscriber::filter::LevelFilter;
    use tracing_subscriber::layer::SubscriberExt as _;
    use tracing_subscriber::util::SubscriberInitExt as _;

    /// Sends what is logged to the journal, if standard error goes there anyway; `false`: it does not, or the journal cannot be reached.
    pub(super) fn start() -> bool {
        let Some(stream) = std::env::var_os("JOURNAL_STREAM") else {
            return false;
        };
        if !is_named(&stream.to_string_lossy(), std::io::stderr()) {
            return false;
        }
        let Ok(journal) = tracing_journald::layer() else {
            return false;
        };
        tracing_subscriber::registry()
            .with(journal.with_field_prefix(Some("WIRESTAMP".to_owned())))
            .with(LevelFilter::INFO)
            .init();
        true
    }

    /// Whether a descriptor is the file that is named as DEVICE:INODE. The variable alone says nothing: a child whose standard error was
    /// redirected has it, too.
    fn is_named(stream: &str, descriptor: impl AsFd) -> bool {
        let named = stream
            .split_once(':')
            .and_then(|(device, inode)| Some((device.parse().ok()?, inode.parse().ok()?)));
        let own = descriptor
            .as_fd()
            .try_clone_to_owned()
            .and_then(|descriptor| File::from(descriptor).metadata())
            .map(|file| (file.st_dev(), file.st_ino()));
        own.is_ok_and(|own: (u64, u64)| named == Some(own))
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn a_descriptor_is_named_by_its_device_and_inode_alone() {
            let file = tempfile::tempfile().expect("a file");
            let metadata = file.metadata().expect("known");
            let (device, inode) = (metadata.st_dev(), metadata.st_ino());
            assert!(is_named(&format!("{device}:{inode}"), &file));
            for other in [
                String::new(),
                format!("{device}"),
                format!("{device}:{}", inode + 1),
                format!("{}:{inode}", device + 1),
                format!("{inode}:{device}"),
                format!("{device}:{inode}:"),
            ] {
                assert!(!is_named(&other, &file), "{other}");
            }
        }
    }
}
