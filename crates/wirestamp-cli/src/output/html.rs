//! A report as one HTML file: tables, and plots that can be zoomed. It loads nothing, so it can be sent and opened anywhere.
//! Without scripts it shows a picture instead of the plots. Knows no command.

use super::made::Made;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::Serialize;
use sha2::{Digest as _, Sha256};
use std::fmt::Write as _;
use std::io;

/// uPlot 1.6.32, MIT: the licence is in uPlot.LICENSE and in each report.
const LIBRARY: &str = include_str!("html/uPlot.iife.min.js");
const LIBRARY_STYLE: &str = include_str!("html/uPlot.min.css");
const LIBRARY_LICENCE: &str = include_str!("html/uPlot.LICENSE");
const SCRIPT: &str = include_str!("html/report.js");
const STYLE: &str = include_str!("html/report.css");

/// What a report shows, from top to bottom.
#[derive(Debug, Default)]
pub(crate) struct Html {
    pub(crate) title: String,
    /// One or two sentences.
    pub(crate) summary: String,
    pub(crate) tables: Vec<Grid>,
    pub(crate) plots: Vec<Plot>,
    /// An SVG picture that stands where scripts do not run.
    pub(crate) picture: String,
}

/// A table; the first cell of each row is its heading.
#[derive(Debug, Default, Clone)]
pub(crate) struct Grid {
    pub(crate) caption: String,
    /// Empty: rows of a name and a value.
    pub(crate) columns: Vec<String>,
    pub(crate) rows: Vec<Vec<String>>,
}

impl Grid {
    /// Rows of a name and a value.
    pub(crate) fn of_values(
        caption: &str,
        rows: impl IntoIterator<Item = (&'static str, String)>,
    ) -> Self {
        let rows = rows.into_iter();
        Self {
            caption: caption.to_owned(),
            columns: Vec::new(),
            rows: rows
                .map(|(name, value)| vec![name.to_owned(), value])
                .collect(),
        }
    }
}

/// A plot, as the script in the report draws it.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Plot {
    pub(crate) title: String,
    pub(crate) x: Axis,
    pub(crate) y: Axis,
    /// The places along x, ascending.
    pub(crate) at: Vec<f64>,
    pub(crate) series: Vec<Series>,
}

#[derive(Debug, Default, Serialize)]
pub(crate) struct Axis {
    pub(crate) label: String,
    pub(crate) kind: Kind,
}

/// How an axis is divided, and what its values are called.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kind {
    /// Seconds since the start.
    #[default]
    Seconds,
    /// Nanoseconds, on a logarithmic axis.
    LogNanoseconds,
    /// Nanoseconds of either sign: logarithmic beyond 10 ns.
    SignedNanoseconds,
    /// Percent, on a linear axis.
    Percent,
    /// The share that is not above, as the power of ten of what is left.
    Percentile,
}

#[derive(Debug, Default, Serialize)]
pub(crate) struct Series {
    pub(crate) name: String,
    /// What it is, in a sentence.
    pub(crate) meaning: String,
    pub(crate) style: Style,
    pub(crate) values: Vec<Option<f64>>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Style {
    #[default]
    Line,
    Points,
    /// From each place to the next.
    Steps,
    /// The edge of a band; two of them, the upper one first, are filled in between.
    Band,
}

impl Html {
    pub(crate) fn into_text(self, made: &Made) -> io::Result<String> {
        let data = embedded(&serde_json::to_string(&self.plots)?);
        let scripts = format!("{}\n{SCRIPT}", LIBRARY.trim_end());
        let styles = format!("{}\n{STYLE}", LIBRARY_STYLE.trim_end());
        let policy = format!(
            "default-src 'none'; script-src '{}'; style-src '{}'; base-uri 'none'; form-action 'none'",
            hash(&scripts),
            hash(&styles)
        );
        let title = escaped(&self.title);
        let mut text = format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"generator\" content=\"wirestamp {version}\">\n<title>{title}</title>\n\
             <style>{styles}</style>\n</head>\n<body>\n<main>\n<h1>{title}</h1>\n<p class=\"summary\">{summary}</p>\n",
            version = env!("CARGO_PKG_VERSION"),
            summary = escaped(&self.summary),
        );
        for grid in &self.tables {
            grid.write(&mut text);
        }
        if !self.plots.is_empty() {
            text.push_str("<div id=\"plots\"></div>\n");
        }
        let _ = write!(
            text,
            "<noscript>\n<p>The plots need scripts. This picture does not.</p>\n{}\n</noscript>\n</main>\n\
             <footer>Made by wirestamp {} {}: <code>{}</code>. Plots: uPlot.<details><summary>uPlot's licence</summary><pre>{}</pre></details></footer>\n\
             <script type=\"application/json\" id=\"data\">{data}</script>\n<script>{scripts}</script>\n</body>\n</html>\n",
            self.picture.trim_end(),
            env!("CARGO_PKG_VERSION"),
            escaped(&made.by()),
            escaped(made.command()),
            escaped(LIBRARY_LICENCE.trim_end()),
        );
        Ok(text)
    }
}

impl Grid {
    fn write(&self, text: &mut String) {
        let _ = write!(
            text,
            "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"{0}\"><table>\n<caption>{0}</caption>\n",
            escaped(&self.caption)
        );
        if !self.columns.is_empty() {
            let cells = self.columns.iter();
            let cells = cells.map(|cell| format!("<th scope=\"col\">{}</th>", escaped(cell)));
            let _ = writeln!(
                text,
                "<thead><tr>{}</tr></thead>",
                cells.collect::<String>()
            );
        }
        text.push_str("<tbody>\n");
        for row in &self.rows {
            text.push_str("<tr>");
            for (place, cell) in row.iter().map(|cell| escaped(cell)).enumerate() {
                let _ = if place == 0 {
                    write!(text, "<th scope=\"row\">{cell}</th>")
                } else {
                    write!(text, "<td>{cell}</td>")
                };
            }
            text.push_str("</tr>\n");
        }
        text.push_str("</tbody>\n</table></div>\n");
    }
}

/// Text as it may stand between tags and in attributes. Control characters and those that turn the direction of text
/// are shown as what they are.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            '\n' => safe.push('\n'),
            '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
                let _ = write!(safe, "{}", character.escape_unicode());
            }
            control if control.is_control() => {
                let _ = write!(safe, "{}", control.escape_unicode());
            }
            other => safe.push(other),
        }
    }
    safe
}

/// JSON that cannot end the element it stands in, nor turn the direction of text.
fn embedded(json: &str) -> String {
    let mut safe = String::with_capacity(json.len());
    for character in json.chars() {
        if character.is_ascii() && !matches!(character, '<' | '>' | '&') {
            safe.push(character);
        } else {
            for unit in character.encode_utf16(&mut [0; 2]) {
                let _ = write!(safe, "\\u{unit:04x}");
            }
        }
    }
    safe
}

/// As a content security policy names what may run.
fn hash(text: &str) -> String {
    format!("sha256-{}", BASE64.encode(Sha256::digest(text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOSTILE: &str = "</script><script>alert(1)</script>\"'&\u{202e}\u{0}";

    fn hostile() -> String {
        let words = || HOSTILE.to_owned();
        Html {
            title: words(),
            summary: words(),
            tables: vec![Grid {
                caption: words(),
                columns: vec![words(), words()],
                rows: vec![vec![words(), words()]],
            }],
            plots: vec![Plot {
                title: words(),
                x: Axis::default(),
                y: Axis {
                    label: words(),
                    kind: Kind::LogNanoseconds,
                },
                at: vec![0.0],
                series: vec![Series {
                    name: words(),
                    meaning: words(),
                    style: Style::Line,
                    values: vec![None],
                }],
            }],
            picture: String::new(),
        }
        .into_text(&Made::default())
        .expect("written")
    }

    #[test]
    fn nothing_that_is_shown_becomes_markup() {
        let text = hostile();
        assert_eq!(text.matches("<script").count(), 2, "data and script");
        assert_eq!(text.matches("</script").count(), 2);
        assert!(!text.contains("alert(1)</") && !text.contains(['\u{202e}', '\u{0}']));
        let (_, data) = text.split_once("id=\"data\">").expect("data");
        let (data, _) = data.split_once("</script>").expect("its end");
        let plots: serde_json::Value = serde_json::from_str(data).expect("JSON");
        assert_eq!(plots[0]["series"][0]["name"], HOSTILE, "as it was");
    }

    #[test]
    fn the_policy_names_what_the_report_runs() {
        let text = hostile();
        for (tag, directive) in [("script", "script-src"), ("style", "style-src")] {
            let (_, content) = text.split_once(&format!("<{tag}>")).expect("inline");
            let (content, _) = content.split_once(&format!("</{tag}>")).expect("its end");
            assert!(
                text.contains(&format!("{directive} '{}'", hash(content))),
                "{tag}"
            );
        }
        assert!(text.contains("default-src 'none'"));
        // what no policy with hashes lets through
        assert!(
            !SCRIPT.contains("eval(") && !text.contains(" style=\"") && !text.contains(" onload=")
        );
    }
}
