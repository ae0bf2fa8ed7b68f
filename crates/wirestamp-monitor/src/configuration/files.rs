//! Reads and checks the files with certificates, keys and tokens that a configuration names.

use super::Configuration;
use crate::http::{Tls, token};
use std::path::Path;
use wirestamp::Result;

impl Configuration {
    /// Reads the certificate, key and token files that are named, as the monitor does; returns them.
    ///
    /// # Errors
    /// `InvalidInput`, naming the first file that cannot be read or is not what it should be, such as the key of another certificate.
    pub fn read_files(&self) -> Result<Vec<&Path>> {
        if let (Some(certificate), Some(key)) = (&self.http.certificate, &self.http.key) {
            Tls::read(certificate, key)?;
        }
        if let Some(file) = &self.http.token_file {
            token(file)?;
        }
        #[cfg(feature = "otlp")]
        if let Some(receiver) = &self.otlp {
            crate::otlp::bearer(receiver)?;
        }
        for ntp in self.ntp.iter().filter(|ntp| ntp.nts) {
            wirestamp_measure::nts::check(ntp.nts_ca.as_deref())?;
        }
        for file in self.key_files() {
            wirestamp_measure::key::read(Some(file))?;
        }
        let mut read = Vec::new();
        for file in self
            .http
            .certificate
            .as_deref()
            .into_iter()
            .chain(self.authorities())
            .chain(self.secrets())
        {
            // several sessions may have one key
            if !read.contains(&file) {
                read.push(file);
            }
        }
        Ok(read)
    }

    /// Returns the files with keys and tokens that everybody on this host may read or write, or that the group may write. Unix only.
    pub fn exposed_files(&self) -> Vec<&Path> {
        self.secrets().filter(|path| is_exposed(path)).collect()
    }

    /// Keys and tokens, which anyone who reads them can use.
    fn secrets(&self) -> impl Iterator<Item = &Path> {
        let tokens = [
            self.http.key.as_deref(),
            self.http.token_file.as_deref(),
            self.otlp
                .as_ref()
                .and_then(|otlp| otlp.token_file.as_deref()),
        ];
        tokens.into_iter().flatten().chain(self.key_files())
    }

    /// The certificate authorities for NTS.
    fn authorities(&self) -> impl Iterator<Item = &Path> {
        let asked = self.ntp.iter().filter(|ntp| ntp.nts);
        asked.filter_map(|ntp| ntp.nts_ca.as_deref())
    }

    fn key_files(&self) -> impl Iterator<Item = &Path> {
        let reflector = self
            .reflector
            .iter()
            .filter_map(|reflector| reflector.key_file.as_deref());
        let sessions = self.stamp.iter().filter_map(|one| one.key_file.as_deref());
        reflector.chain(sessions)
    }
}

#[cfg(unix)]
fn is_exposed(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    /// Reading and writing of others, writing of the group.
    const TOO_MUCH: u32 = 0o026;
    std::fs::metadata(path).is_ok_and(|file| file.permissions().mode() & TOO_MUCH != 0)
}

#[cfg(not(unix))]
fn is_exposed(_path: &Path) -> bool {
    false
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    /// A configuration that names one file of each kind, in a folder.
    fn named(folder: &Path) -> Configuration {
        let place = folder.display();
        let text = format!(
            "[http]\ncertificate = '{place}/certificate'\nkey = '{place}/key'\ntoken_file = '{place}/token'
             [reflector]\nkey_file = '{place}/reflector'
             [[stamp]]\npeer = 'a'\nkey_file = '{place}/stamp'
             [otlp]\nendpoint = 'http://127.0.0.1/v1/metrics'\ntoken_file = '{place}/otlp'"
        );
        toml::from_str(&text).expect("it can be read")
    }

    fn write(folder: &Path) {
        let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).expect("made");
        for (name, content) in [
            ("certificate", made.cert.pem()),
            ("key", made.signing_key.serialize_pem()),
            ("token", "secret\n".to_owned()),
            ("otlp", "secret\n".to_owned()),
            ("reflector", "00112233445566778899aabbccddeeff".to_owned()),
            ("stamp", "ffeeddccbbaa99887766554433221100".to_owned()),
        ] {
            let path = folder.join(name);
            fs::write(&path, content).expect("written");
            fs::set_permissions(path, fs::Permissions::from_mode(0o640)).expect("set");
        }
    }

    /// Tools write names into PEM files, between the blocks, in whatever encoding they have.
    #[test]
    fn text_beside_a_certificate_may_be_of_any_encoding() {
        let folder = tempfile::tempdir().expect("a folder");
        write(folder.path());
        for name in ["certificate", "key"] {
            let path = folder.path().join(name);
            let block = fs::read(&path).expect("it is there");
            fs::write(
                &path,
                [b"subject=O = M\xfcller\n".as_slice(), &block].concat(),
            )
            .expect("written");
        }
        named(folder.path()).read_files().expect("it is right");
    }

    #[test]
    fn every_file_is_read_and_a_wrong_one_is_named() {
        let folder = tempfile::tempdir().expect("a folder");
        let configuration = named(folder.path());
        write(folder.path());
        let mut read: Vec<_> = configuration
            .read_files()
            .expect("they are right")
            .into_iter()
            .map(|path| path.file_name().expect("a name").to_string_lossy())
            .collect();
        read.sort();
        let otlp = cfg!(feature = "otlp");
        assert_eq!(
            read,
            ["certificate", "key", "otlp", "reflector", "stamp", "token"]
        );
        let another = rcgen::generate_simple_self_signed(vec!["other".to_owned()]).expect("made");
        let long = "a".repeat(10_000);
        for (name, content) in [
            ("certificate", ""),
            ("key", ""),
            ("key", &another.signing_key.serialize_pem()),
            ("token", ""),
            ("token", " \n"),
            ("token", &long),
            ("otlp", "two\nlines"),
            ("reflector", "no key"),
            ("stamp", "00"),
        ] {
            if name == "otlp" && !otlp {
                continue;
            }
            write(folder.path());
            fs::write(folder.path().join(name), content).expect("written");
            let said = configuration.read_files().expect_err("it is wrong");
            // a key that is not the certificate's is the fault of either
            let either = name == "key" && said.target().ends_with("/certificate");
            assert!(
                either || said.target().ends_with(&format!("/{name}")),
                "{name}: {said}"
            );
            fs::remove_file(folder.path().join(name)).expect("removed");
            configuration.read_files().expect_err("it is not there");
        }
    }

    #[test]
    fn secrets_that_everybody_may_read_are_told() {
        let folder = tempfile::tempdir().expect("a folder");
        let configuration = named(folder.path());
        write(folder.path());
        assert!(configuration.exposed_files().is_empty());
        for (mode, is_told) in [
            (0o400, false),
            (0o600, false),
            (0o644, true),
            (0o660, true),
            (0o602, true),
        ] {
            for name in ["certificate", "key", "token", "otlp", "reflector", "stamp"] {
                write(folder.path());
                let path = folder.path().join(name);
                fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("set");
                let told = configuration.exposed_files();
                // certificates are public
                match is_told && name != "certificate" {
                    true => assert_eq!(told, [path], "{mode:o}"),
                    false => assert!(told.is_empty(), "{name} {mode:o}: {told:?}"),
                }
            }
        }
    }
}
