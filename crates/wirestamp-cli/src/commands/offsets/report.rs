//! The report: tables, and for each clock a plot of the offsets and one of the path delays.

use super::course::Point;
use super::{Clock, Shown};
use crate::output::html::{Axis, Html, Kind, Plot, Series, Style};
use crate::output::made::Made;
use std::error::Error as StdError;

impl Shown<'_> {
    pub(super) fn html(&self, made: &Made) -> Result<String, Box<dyn StdError>> {
        let html = Html {
            title: self.title.clone(),
            summary: format!("{}{}", self.summary, self.left_out()),
            tables: self.tables.clone(),
            plots: self.drawn().iter().flat_map(Clock::plots).collect(),
            picture: self.picture()?,
        };
        Ok(html.into_text(made)?)
    }
}

impl Clock<'_> {
    fn plots(&self) -> [Plot; 2] {
        let name = &self.name;
        let edges = [
            self.series(
                "upper",
                "the offset and its error bound",
                Style::Band,
                |point| point.within[1],
            ),
            self.series(
                "lower",
                "the offset less its error bound",
                Style::Band,
                |point| point.within[0],
            ),
        ];
        let meaning = format!("this clock minus {name}");
        let offset = self.series("offset", &meaning, Style::Points, |point| point.offset);
        let series = edges.into_iter().chain([offset]).collect();
        let title = format!("Offset to {name}, and its error bound");
        let offsets = self.plot(&title, &self.offset(), series);
        let delays = self.series("path delay", self.delay_is, Style::Line, |point| {
            point.delay
        });
        let delays = self.plot(&format!("Path delay to {name}"), self.delay, vec![delays]);
        [offsets, delays]
    }

    fn plot(&self, title: &str, y: &str, series: Vec<Series>) -> Plot {
        let points = self.course.points();
        Plot {
            title: title.to_owned(),
            x: Axis {
                label: "time since the first sample".to_owned(),
                kind: Kind::Seconds,
            },
            y: Axis {
                label: y.to_owned(),
                kind: Kind::SignedNanoseconds,
            },
            at: points.iter().map(|point| point.at).collect(),
            series,
        }
    }

    fn series(&self, name: &str, meaning: &str, style: Style, value: fn(&Point) -> f64) -> Series {
        let values = self.course.points().iter();
        Series {
            name: name.to_owned(),
            meaning: meaning.to_owned(),
            style,
            values: values.map(|point| Some(value(point))).collect(),
        }
    }
}
