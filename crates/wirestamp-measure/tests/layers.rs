//! What knows what: counted in the sources, so that it stays so.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// What measures, each of the others' business.
const MEASUREMENTS: [&str; 6] = ["clock", "ntp", "path", "ptp", "reflector", "stamp"];

type Graph = BTreeMap<String, BTreeSet<String>>;

/// The text of each module without its tests, by path: "stamp::packets".
fn modules() -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    read(&source, "", &mut found);
    assert!(found.len() > 30, "{found:?}");
    found
}

fn read(folder: &Path, within: &str, into: &mut BTreeMap<String, String>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path.file_stem().expect("a name").to_string_lossy();
        let module = match within {
            "" => name.to_string(),
            within => format!("{within}::{name}"),
        };
        if path.is_dir() {
            read(&path, &module, into);
        } else if name != "lib" && name != "tests" {
            let text = std::fs::read_to_string(&path).expect("text");
            let shipped = text.split("#[cfg(test)]").next().unwrap_or_default();
            let code = shipped
                .lines()
                .filter(|line| !line.trim_start().starts_with("//"));
            into.insert(module, code.collect::<Vec<_>>().join("\n"));
        }
    }
}

/// What follows a prefix wherever it stands: the first names of each path.
fn paths_after<'t>(text: &'t str, prefix: &str) -> Vec<&'t str> {
    let mut paths = Vec::new();
    for (place, _) in text.match_indices(prefix) {
        let rest = &text[place + prefix.len()..];
        match rest.strip_prefix('{') {
            Some(group) => {
                let group = group.split('}').next().unwrap_or_default();
                paths.extend(group.split(',').map(str::trim));
            }
            None => {
                let is_end = |c: char| !(c.is_alphanumeric() || c == '_' || c == ':');
                paths.push(rest.split(is_end).next().unwrap_or_default());
            }
        }
    }
    paths
}

/// Which module imports which.
fn imports() -> Graph {
    let modules = modules();
    let known = |within: &str, path: &str| {
        let mut names: Vec<&str> = within.split("::").filter(|name| !name.is_empty()).collect();
        names.extend(path.split("::").filter(|name| !name.is_empty()));
        let longest = (1..=names.len())
            .rev()
            .map(|length| names[..length].join("::"));
        let mut longest = longest.skip_while(|module| !modules.contains_key(module));
        longest.next()
    };
    let mut graph = Graph::new();
    for (module, text) in &modules {
        let parent = module.rsplit_once("::").map_or("", |(parent, _)| parent);
        let mut imported = BTreeSet::new();
        for path in paths_after(text, "crate::") {
            imported.extend(known("", path));
        }
        for path in paths_after(text, "super::") {
            imported
                .extend(known(parent, path).filter(|found| found != parent || !path.is_empty()));
        }
        for path in paths_after(text, "use ") {
            let child = path.split("::").next().unwrap_or_default();
            let child = format!("{module}::{child}");
            imported.extend(modules.contains_key(&child).then_some(child));
        }
        imported.remove(module);
        graph.insert(module.clone(), imported);
    }
    graph
}

/// Takes away what imports nothing that is left, again and again: what stays is a ring, or imports one.
fn rings(mut graph: Graph) -> Graph {
    loop {
        let left: BTreeSet<String> = graph.keys().cloned().collect();
        let before = graph.len();
        graph.retain(|_, imported| imported.iter().any(|one| left.contains(one)));
        if graph.len() == before {
            return graph;
        }
    }
}

#[test]
fn modules_form_no_ring() {
    let graph = imports();
    let edges: usize = graph.values().map(BTreeSet::len).sum();
    assert!(edges > 80, "the sources were not understood: {graph:?}");
    let ring = rings(graph);
    assert!(ring.is_empty(), "{ring:#?}");
}

#[test]
fn a_ring_is_found() {
    let edge = |from: &str, to: &[&str]| {
        let to = to.iter().map(|name| (*name).to_owned()).collect();
        (from.to_owned(), to)
    };
    let graph = Graph::from([edge("a", &["b", "c"]), edge("b", &["a"]), edge("c", &[])]);
    assert_eq!(rings(graph).len(), 2);
}

#[test]
fn measurements_know_neither_each_other_nor_who_runs_them() {
    let top = |module: &str| module.split("::").next().unwrap_or_default().to_owned();
    let hidden = [
        "slot",
        "engine",
        "wanted",
        "carried",
        "delays",
        "interfaces",
        "realtime",
    ];
    for (module, imported) in imports() {
        let own = top(&module);
        if !MEASUREMENTS.contains(&own.as_str()) {
            continue;
        }
        for other in imported.iter().map(|other| top(other)) {
            let is_other = other != own && MEASUREMENTS.contains(&other.as_str());
            assert!(
                !is_other && !hidden.contains(&other.as_str()),
                "{module} imports {other}"
            );
        }
    }
}

#[test]
fn ntp_knows_no_stamp_and_nothing_knows_a_store() {
    for (module, text) in modules() {
        let is_ntp = module == "ntp" || module.starts_with("ntp::");
        assert!(!(is_ntp && text.contains("wirestamp_probe")), "{module}");
        for store in ["wirestamp_record", "wirestamp_monitor", "std::fs"] {
            assert!(!text.contains(store), "{module} knows {store}");
        }
    }
}

/// What a trait declares with a body of its own, a wrapper loses without a word.
#[test]
fn the_sink_in_between_passes_everything_on() {
    let source = |name: &str| {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        std::fs::read_to_string(path.join(name)).expect("a module")
    };
    let methods = |text: &str| -> Vec<String> {
        let names = text.lines().filter_map(|line| line.strip_prefix("    fn "));
        let names = names.filter_map(|rest| rest.split('(').next());
        names.map(str::to_owned).collect()
    };
    let (sink, counting) = (source("sink.rs"), source("slot/counting.rs"));
    let body = |text: &str, head: &str| {
        let (_, rest) = text.split_once(head).expect("it is there");
        let end = rest.find("\n}\n").expect("it ends");
        methods(&rest[..end])
    };
    let declared = body(&sink, "pub trait Sink {");
    let passed = body(&counting, "impl Sink for Counting<'_> {");
    assert!(declared.len() > 8, "{declared:?}");
    let lost: Vec<_> = declared
        .iter()
        .filter(|one| !passed.contains(one))
        .collect();
    assert!(lost.is_empty(), "{lost:?}");
}
