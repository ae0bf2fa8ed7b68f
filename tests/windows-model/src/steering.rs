//! How a test steers the simulation from outside and asks it what really happened: one line
//! of words a request and one a reply, over a loopback connection. Decides nothing itself.
//!
//! There is none unless `WIRESTAMP_WIN32_STEERING` names a file: the port is written into it.
//! Times are nanoseconds of the performance counter, as the program under test has them.

use std::fmt::Display;
use std::io::{self, BufRead, BufReader, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Once;
use std::{env, fs, thread};
use wirestamp_core::configuration::{HardwareConfiguration, ReceiveFilter};
use wirestamp_core::interface::InterfaceIndex;
use wirestamp_core::time::{HardwareTicks, MonotonicTime};
use wirestamp_core::timestamp::TransmitId;
use wirestamp_sim::{Datagram, NicName, World};
use wirestamp_win32::simulated::{self, Simulation};

/// Names the file that tells the port.
const ENVIRONMENT: &str = "WIRESTAMP_WIN32_STEERING";

/// Starts listening where the environment asks for it, once.
pub(crate) fn start() {
    static STARTED: Once = Once::new();
    STARTED.call_once(|| {
        let Some(file) = env::var_os(ENVIRONMENT).map(PathBuf::from) else {
            return;
        };
        // Without it the test waits for the port in vain, and says so.
        drop(
            thread::Builder::new()
                .name("wirestamp-steering".into())
                .spawn(move || listen(&file)),
        );
    });
}

fn listen(file: &Path) -> io::Result<()> {
    let Ok(Some(simulation)) = simulated::chosen() else {
        return Ok(());
    };
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    // Moved into place: whoever finds the file finds it whole.
    let unfinished = file.with_extension("new");
    fs::write(&unfinished, listener.local_addr()?.port().to_string())?;
    fs::rename(unfinished, file)?;
    let (stream, _) = listener.accept()?;
    serve(simulation, stream)
}

fn serve(simulation: &Simulation, stream: TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut replies = stream.try_clone()?;
    for request in BufReader::new(stream).lines() {
        let reply = answer(simulation, &request?).unwrap_or_else(|| String::from("what?"));
        simulation.announce();
        replies.write_all(format!("{reply}\n").as_bytes())?;
    }
    Ok(())
}

/// The reply; `None` to what is no request.
fn answer(simulation: &Simulation, request: &str) -> Option<String> {
    let words: Vec<&str> = request.split_ascii_whitespace().collect();
    let world = simulation.caught_up();
    act(world, &words).or_else(|| tell(simulation, &words))
}

/// What is done to the world.
fn act(world: &World, words: &[&str]) -> Option<String> {
    match *words {
        ["reset", name, to] => world.reset_nic(adapter(name)?, number(to)?),
        ["step-hardware", name, ticks] => world.step_hardware_clock(adapter(name)?, number(ticks)?),
        ["reconfigure", name, transmit, receive] => {
            let receive = *ReceiveFilter::ALL
                .iter()
                .find(|filter| filter.name() == receive)?;
            let configuration = HardwareConfiguration {
                transmit: transmit == "true",
                receive,
            };
            world.reconfigure_by_another(adapter(name)?, configuration);
        }
        ["link", state @ ("up" | "down")] => world.set_link(state == "up"),
        ["remove", name] => world.remove_nic(adapter(name)?),
        ["add", name] => world.add_nic(adapter(name)?),
        ["storm", count] => world.storm(number(count)?),
        ["lose-notifications", count] => world.lose_notifications(number(count)?),
        _ => return None,
    }
    Some(String::from("done"))
}

/// What really happened.
fn tell(simulation: &Simulation, words: &[&str]) -> Option<String> {
    let truth = simulation.caught_up().truth();
    let course = |datagram: Datagram| course(simulation, &datagram);
    Some(match *words {
        ["now"] => nanoseconds(simulation.shown()),
        ["datagrams"] => truth.datagrams().to_string(),
        ["invalid-readings"] => truth.invalid_readings().to_string(),
        ["datagram", sequence] => perhaps(truth.datagram(number(sequence)?).map(course)),
        ["datagram-with-id", id] => {
            perhaps(truth.datagram_with_id(TransmitId(number(id)?)).map(course))
        }
        ["ticks-at", index, at] => {
            let at = MonotonicTime::from_nanoseconds(number(at)?);
            let offset = simulation.to_counter(at) - at;
            let ticks = truth.hardware_ticks_at(InterfaceIndex::new(number(index)?)?, at - offset);
            perhaps(ticks.map(HardwareTicks::raw))
        }
        _ => return None,
    })
}

/// The times of a datagram, in the order of its way.
fn course(simulation: &Simulation, datagram: &Datagram) -> String {
    let times = [
        Some(datagram.sent_at),
        Some(datagram.transmit_software_at),
        datagram.transmit_hardware_at,
        datagram.receive_hardware_at,
        datagram.receive_software_at,
        datagram.delivered_at,
    ];
    times
        .map(|at| perhaps(at.map(|at| nanoseconds(simulation.to_counter(at)))))
        .join(" ")
}

fn nanoseconds(at: MonotonicTime) -> String {
    at.nanoseconds().to_string()
}

fn perhaps(value: Option<impl Display>) -> String {
    value.map_or_else(|| String::from("-"), |value| value.to_string())
}

fn adapter(name: &str) -> Option<NicName> {
    match name {
        "sim0" => Some(NicName::Sim0),
        "sim1" => Some(NicName::Sim1),
        _ => None,
    }
}

fn number<T: FromStr>(word: &str) -> Option<T> {
    word.parse().ok()
}
