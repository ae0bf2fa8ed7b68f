//! The files of the web page. They contain nothing about the host: the page requests its data, with the token if there
//! is one.

const HTML: &str = "text/html; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";

/// uPlot 1.6.32, MIT: links to the files that reports are made with.
const LIBRARY: &str = include_str!("page/uPlot.iife.min.js");
const LIBRARY_STYLE: &str = include_str!("page/uPlot.min.css");
const LIBRARY_LICENCE: &str = include_str!("page/uPlot.LICENSE");

const _: () = assert!(
    LIBRARY.len() > 10_000 && LIBRARY_STYLE.len() > 1_000 && LIBRARY_LICENCE.len() > 500,
    "uPlot's files are symbolic links that this checkout did not make: git config core.symlinks true"
);

macro_rules! scripts {
    ($($name:literal),+ $(,)?) => {
        &[$((concat!("/page/", $name), include_str!(concat!("page/", $name)))),+]
    };
}

/// Modules of the page, by path.
const SCRIPTS: &[(&str, &str)] = scripts![
    "ages.js",
    "attention.js",
    "clocks.js",
    "connection.js",
    "delays.js",
    "elements.js",
    "events.js",
    "heatmap.js",
    "main.js",
    "metrics.js",
    "offsets.js",
    "plot.js",
    "problems.js",
    "range.js",
    "tables.js",
    "tiles.js",
    "units.js",
];

/// Media type and content of the file at a path.
pub(super) fn file(path: &str) -> Option<(&'static str, &'static str)> {
    match path {
        "/" => Some((HTML, include_str!("page/index.html"))),
        "/page/icon.svg" => Some(("image/svg+xml", include_str!("page/icon.svg"))),
        "/page/page.css" => Some((STYLE, include_str!("page/page.css"))),
        "/page/uPlot.min.css" => Some((STYLE, LIBRARY_STYLE)),
        "/page/uPlot.iife.min.js" => Some((SCRIPT, LIBRARY)),
        "/page/uPlot.LICENSE" => Some(("text/plain; charset=utf-8", LIBRARY_LICENCE)),
        _ => SCRIPTS
            .iter()
            .find(|(name, _)| *name == path)
            .map(|(_, text)| (SCRIPT, *text)),
    }
}
