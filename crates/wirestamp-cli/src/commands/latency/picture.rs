//! The pictures of `latency`, with `--peer` and without: `--plot` as SVG, `--html` as a report with plots that can be zoomed.

use crate::output::graph::Scale;
use crate::output::graph::distribution::{Distributions, STEPS, steps_with_values};
use crate::output::graph::quantiles::{self, Line};
use crate::output::graph::{FIRST, FONT, INK, SECOND, TEXT, THIRD, TITLE};
use crate::output::html::{Axis, Grid, Html, Kind, Plot, Series, Style};
use crate::output::made::Made;
use plotters::prelude::{IntoDrawingArea as _, IntoFont as _, RGBColor, SVGBackend, Text, WHITE};
use std::error::Error as StdError;
use wirestamp::Span;
use wirestamp::latency::Histogram;

const SIZE: (u32, u32) = (1_200, 900);
const COLOURS: [RGBColor; 3] = [FIRST, SECOND, THIRD];

/// What a picture or a report shows.
pub(in crate::commands) struct Shown<'a> {
    pub(in crate::commands) title: String,
    /// A sentence or two.
    pub(in crate::commands) outcome: String,
    paths: Vec<Measured<'a>>,
    /// Of the report.
    pub(in crate::commands) tables: Vec<Grid>,
}

impl<'a> Shown<'a> {
    /// Shows up to three paths: name, meaning and values of each. Those without values are left out.
    pub(in crate::commands) fn of(
        paths: impl IntoIterator<Item = (&'static str, &'static str, &'a Histogram)>,
    ) -> Self {
        let paths = paths.into_iter().zip(COLOURS);
        let paths = paths.map(|((name, meaning, histogram), colour)| Measured {
            name,
            meaning,
            histogram,
            colour,
        });
        Self {
            title: String::new(),
            outcome: String::new(),
            paths: paths.filter(|path| path.histogram.count() > 0).collect(),
            tables: Vec::new(),
        }
    }

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
        area.draw(&Text::new(self.title.clone(), (16, 14), words(TITLE)))?;
        area.draw(&Text::new(self.outcome.clone(), (16, 40), words(TEXT)))?;
        let (_, below) = area.split_vertically(66);
        let (upper, lower) = below.split_vertically((SIZE.1 - 66) / 2);
        let measured = &self.paths;
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
    pub(super) fn html(&self, made: &Made) -> Result<String, Box<dyn StdError>> {
        let html = Html {
            title: self.title.clone(),
            summary: self.outcome.clone(),
            tables: self.tables.clone(),
            plots: self.plots(),
            picture: self.picture()?,
        };
        Ok(html.into_text(made)?)
    }

    fn plots(&self) -> Vec<Plot> {
        let measured = &self.paths;
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
