//! `presets`: what a simulated NIC can be. What they do is the simulator's affair.

use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{Column, Output, Page, Report, Rows, Table};
#[cfg(all(test, feature = "schema"))]
use crate::schema::Document;
use serde::Serialize;
use wirestamp::Simulation;

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Presets {
    /// The preset that --sim takes without a name.
    default: &'static str,
    /// One object a preset.
    presets: Vec<Preset>,
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Preset {
    /// Name of the preset, for --sim.
    name: &'static str,
    /// The NIC that it imitates.
    description: &'static str,
}

#[cfg(all(test, feature = "schema"))]
pub(super) fn schema() -> Document {
    Document::of::<Presets>("presets", "Output of `wirestamp presets --json`").row::<Preset>()
}

pub(super) fn run(output: &mut Output) -> Result<Exit, Failure> {
    let presets = Simulation::presets()
        .iter()
        .map(|&(name, description)| Preset { name, description })
        .collect();
    output.report(&Presets {
        default: wirestamp::sim::Scenario::DEFAULT,
        presets,
    })?;
    Ok(Exit::Success)
}

impl Report for Presets {
    fn print(&self, page: &mut Page) {
        let mut table = Table::new(&[Column::Left("preset"), Column::Left("what it imitates")]);
        for preset in &self.presets {
            let description = if preset.name == self.default {
                format!("{} (default)", preset.description)
            } else {
                preset.description.to_owned()
            };
            table.row([preset.name.to_owned(), description]);
        }
        page.table(table);
    }

    fn rows(&self, rows: &mut Rows) {
        self.presets.iter().for_each(|preset| rows.row(preset));
    }
}
