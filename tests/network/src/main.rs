//! The test network for scripts: makes it, prints one JSON line about its hosts, and ends when its standard input
//! does. A line FROM:TO:LIST there changes a direction, and is printed when it is in force. With `--log` it writes what
//! it did to each packet, a JSON object a line.

#[cfg(target_os = "linux")]
mod linux {
    use clap::Parser;
    use std::fs::File;
    use std::io::{self, BufWriter, Write};
    use std::path::PathBuf;
    use wirestamp_test_network::{Direction, Network, missing};

    /// Network namespaces joined by a router that delays, reorders, duplicates, loses and re-marks packets.
    #[derive(Debug, Parser)]
    struct Arguments {
        /// Name of a host; give at least two
        #[arg(long = "host", value_name = "NAME", required = true)]
        hosts: Vec<String>,
        /// What happens to packets from one host to another, such as a:b:delay=3ms,loss=2%
        #[arg(long = "direction", value_name = "FROM:TO:LIST", value_parser = direction)]
        directions: Vec<(String, String, Direction)>,
        /// Decides everything that is left to chance
        #[arg(long, value_name = "N", default_value_t = 1)]
        seed: u64,
        /// Where to write what was done to each packet
        #[arg(long, value_name = "FILE")]
        log: Option<PathBuf>,
    }

    fn direction(text: &str) -> Result<(String, String, Direction), String> {
        let mut parts = text.splitn(3, ':');
        let mut part = || {
            parts
                .next()
                .ok_or_else(|| format!("'{text}' is no FROM:TO:LIST"))
        };
        Ok((part()?.to_owned(), part()?.to_owned(), part()?.parse()?))
    }

    pub(crate) fn run() -> io::Result<()> {
        let arguments = Arguments::parse();
        if let Some(what) = missing() {
            return Err(io::Error::other(what));
        }
        let mut builder = Network::builder()
            .hosts(arguments.hosts)
            .seed(arguments.seed);
        for (from, to, direction) in &arguments.directions {
            builder = builder.direction(from, to, *direction);
        }
        let network = builder.build()?;
        let hosts: serde_json::Map<_, _> = network
            .hosts()
            .iter()
            .map(|host| {
                let told = serde_json::json!({
                    "namespace": host.namespace(), "device": host.device(),
                    "ipv4": host.ipv4(), "ipv6": host.ipv6(),
                });
                (host.name().to_owned(), told)
            })
            .collect();
        writeln!(io::stdout(), "{}", serde_json::Value::Object(hosts))?;
        for line in io::stdin().lines() {
            let line = line?;
            let (from, to, changed) = direction(&line).map_err(io::Error::other)?;
            network.set_direction(&from, &to, changed)?;
            writeln!(io::stdout(), "{line}")?;
        }
        if let Some(path) = arguments.log {
            let mut file = BufWriter::new(File::create(path)?);
            for event in network.take_log() {
                serde_json::to_writer(&mut file, &event)?;
                writeln!(file)?;
            }
            file.flush()?;
        }
        Ok(())
    }
}

#[cfg(target_os = "linux")]
fn main() -> std::io::Result<()> {
    linux::run()
}

#[cfg(not(target_os = "linux"))]
fn main() -> std::io::Result<()> {
    Err(std::io::ErrorKind::Unsupported.into())
}
