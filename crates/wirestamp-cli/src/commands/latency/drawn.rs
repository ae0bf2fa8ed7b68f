//! What the pictures of `latency` on this host show.

use super::picture::Shown;
use super::text::shown;
use super::{Figures, Latency};
use crate::output::grouped;
use crate::output::html::Grid;

impl Latency {
    pub(super) fn drawn(&self) -> Shown<'_> {
        let paths = self.paths().into_iter().zip(&self.pictures);
        let paths = paths.map(|((name, meaning), histogram)| (name, meaning, histogram));
        let mut shown = Shown::of(paths);
        shown.title = self.title();
        shown.outcome = self.outcome();
        shown.tables = vec![self.quantile_grid(), self.conditions_grid()];
        shown
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
                    super::pace(self.rate_pps, self.interval_ns),
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
        Grid::of_values("Conditions", rows)
    }
}
