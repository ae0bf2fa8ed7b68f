//! The pictures of `latency`: `--plot` as SVG, `--html` as a report with plots that can be zoomed.

use super::text::shown;
use super::{Figures, Latency};
use crate::output::graph::Scale;
use crate::output::graph::distribution::{Distributions, STEPS, steps_with_values};
use crate::output::graph::quantiles::{self, Line};
use crate::output::graph::{FIRST, FONT, INK, SECOND, TEXT, THIRD, TITLE};
use crate::output::grouped;
use crate::output::html::{Axis, Grid, Html, Kind, Plot, Series, Style};
use plotters::prelude::{IntoDrawingArea as _, IntoFont as _, RGBColor, SVGBackend, Text, WHITE};
use std::error::Error as StdError;
use wirestamp::Span;
use wirestamp::latency::Histogram;

const SIZE: (u32, u32) = (1_200, 900);
const COLOURS: [RGBColor; 3] = [FIRST, SECOND, THIRD];

impl Latency {
    /// The distribution of each path, and its quantiles.
    pub(super) fn picture(&self) -> Result<String, Box<dyn StdError>> {
        let mut text = String::new();
        self.paint(&mut text)?;
        Ok(text)
    }

    fn paint(&self, text: &mut String) -> Result<(), Box<dyn StdError>> {
        let area = SVGBackend::with_string(text, SIZE).into_drawing_area();
        area.fill(&WHITE)?;
        let words = |size| (FONT, size).into_font().color(&INK);
        area.draw(&Text::new(self.title(), (16, 14), words(TITLE)))?;
        area.draw(&Text::new(self.outcome(), (16, 40), words(TEXT)))?;
        let (_, below) = area.split_vertically(66);
        let (upper, lower) = below.split_vertically((SIZE.1 - 66) / 2);
        let measured = self.measured();
        let histograms: Vec<_> = measured.iter().map(|path| path.histogram).collect();
        if let Some(distributions) = Distributions::of(&histograms) {
            let names: Vec<_> = measured
                .iter()
                .map(|path| (path.name.to_owned(), path.colour))
                .collect();
            distributions.draw(&upper, "How long packets took", &names)?;
            let lines: Vec<_> = measured
                .iter()
                .map(|path| Line {
                    name: path.name.to_owned(),
                    colour: path.colour,
                    points: path.quantiles(),
                })
                .collect();
            quantiles::draw(&lower, "Quantiles", &lines)?;
        }
        area.present()?;
        Ok(())
    }

    /// The report as one file.
    pub(super) fn html(&self) -> Result<String, Box<dyn StdError>> {
        let html = Html {
            title: self.title(),
            summary: self.outcome(),
            tables: vec![self.quantile_grid(), self.conditions_grid()],
            plots: self.plots(),
            picture: self.picture()?,
        };
        Ok(html.into_text()?)
    }

    fn title(&self) -> String {
        format!("Latency on {}", self.interface)
    }

    fn outcome(&self) -> String {
        format!("{}; {}", self.conditions(), self.losses_in_words())
    }

    fn quantile_grid(&self) -> Grid {
        let row = |(name, figures): (&str, &Figures)| {
            let Figures {
                min,
                p50,
                p90,
                p99,
                p99_9,
                max,
                mean,
                ..
            } = figures;
            let cells = [min, p50, p90, p99, p99_9, max, mean]
                .map(|figure| figure.map_or_else(|| "-".to_owned(), shown));
            std::iter::once(name.to_owned()).chain(cells).collect()
        };
        let head = ["path", "min", "p50", "p90", "p99", "p99.9", "max", "mean"];
        Grid {
            caption: "Quantiles".to_owned(),
            columns: head.map(str::to_owned).into(),
            rows: self.figures().map(row).collect(),
        }
    }

    fn conditions_grid(&self) -> Grid {
        let or = |value: Option<String>, none: &str| value.unwrap_or_else(|| none.to_owned());
        let rows = [
            ("interface", self.interface.clone()),
            (
                "simulated",
                (if self.simulated { "yes" } else { "no" }).to_owned(),
            ),
            ("timestamps", self.source.to_owned()),
            ("family", self.family.to_owned()),
            ("payload", format!("{} bytes", self.size_bytes)),
            (
                "rate",
                or(
                    self.rate_pps.map(|rate| format!("{rate} packets a second")),
                    "the next when the last has arrived",
                ),
            ),
            (
                "echo service",
                or(self.peer.map(|peer| peer.to_string()), "none"),
            ),
            ("timeout", shown(self.timeout_ns)),
            ("packets", grouped(self.packets)),
            ("lost", self.losses_in_words()),
            (
                "clock conversion adds at most",
                or(self.max_error_bound_ns.map(shown), "-"),
            ),
            ("warm-up", shown(self.warm_up_ns)),
            (
                "interrupted",
                (if self.interrupted { "yes" } else { "no" }).to_owned(),
            ),
        ];
        Grid {
            caption: "Conditions".to_owned(),
            columns: Vec::new(),
            rows: rows
                .map(|(name, value)| vec![name.to_owned(), value])
                .into(),
        }
    }

    fn plots(&self) -> Vec<Plot> {
        let measured = self.measured();
        let histograms: Vec<_> = measured.iter().map(|path| path.histogram).collect();
        let Some(distributions) = Distributions::of(&histograms) else {
            return Vec::new();
        };
        let kind = match distributions.scale {
            Scale::Logarithmic => Kind::LogNanoseconds,
            Scale::Signed(_) => Kind::SignedNanoseconds,
        };
        let series = |path: &Measured<'_>, style, values| Series {
            name: path.name.to_owned(),
            meaning: path.meaning.to_owned(),
            style,
            values,
        };
        let start = |step| distributions.scale.value(distributions.start(step));
        let of_packets = Plot {
            title: "How long packets took".to_owned(),
            x: Axis {
                label: "latency".to_owned(),
                kind,
            },
            y: Axis {
                label: "packets in a step".to_owned(),
                kind: Kind::Percent,
            },
            at: (0..STEPS).map(start).collect(),
            series: measured
                .iter()
                .zip(&distributions.percent)
                .map(|(path, percent)| series(path, Style::Steps, shown_steps(percent)))
                .collect(),
        };
        // all paths at the same shares; where a path has fewer values its line ends earlier
        let longest = measured
            .iter()
            .map(Measured::quantiles)
            .max_by_key(|points| points.last().map_or(0, |(place, _)| (*place * 1e9) as u64));
        let at: Vec<f64> = longest
            .into_iter()
            .flatten()
            .map(|(place, _)| place)
            .collect();
        let of_shares = Plot {
            title: "Quantiles".to_owned(),
            x: Axis {
                label: "share of packets that took at most as long".to_owned(),
                kind: Kind::Percentile,
            },
            y: Axis {
                label: "latency".to_owned(),
                kind,
            },
            series: measured
                .iter()
                .map(|path| Series {
                    values: at.iter().map(|place| path.at(*place)).collect(),
                    ..series(path, Style::Line, Vec::new())
                })
                .collect(),
            at,
        };
        vec![of_packets, of_shares]
    }

    /// What has values.
    fn measured(&self) -> Vec<Measured<'_>> {
        let paths = self.paths().into_iter().zip(&self.pictures).zip(COLOURS);
        paths
            .map(|(((name, meaning), histogram), colour)| Measured {
                name,
                meaning,
                histogram,
                colour,
            })
            .filter(|path| path.histogram.count() > 0)
            .collect()
    }
}

/// Nothing is drawn where no packet is.
fn shown_steps(percent: &[f64]) -> Vec<Option<f64>> {
    let with_values = steps_with_values(percent);
    let steps = percent.iter().enumerate();
    steps
        .map(|(step, percent)| with_values.contains(&step).then_some(*percent))
        .collect()
}

struct Measured<'a> {
    name: &'static str,
    meaning: &'static str,
    histogram: &'a Histogram,
    colour: RGBColor,
}

impl Measured<'_> {
    fn quantiles(&self) -> Vec<(f64, f64)> {
        quantiles::points(self.histogram.count(), |share| {
            self.histogram
                .quantile(share)
                .map(Span::saturating_nanoseconds)
        })
    }

    /// The quantile at the place of a share; `None` beyond the slowest packet.
    fn at(&self, place: f64) -> Option<f64> {
        let share = 1.0 - 10_f64.powf(-place);
        let value = self.histogram.quantile(share)?;
        (place <= (self.histogram.count() as f64).log10() + 1e-9)
            .then(|| value.saturating_nanoseconds() as f64)
    }
}
