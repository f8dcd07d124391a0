//! Results of one load before and after a change: what became better or worse, by how much, and what else is different.
//!
//! Works on Records alone, each of one run. `load` finds the steps that had the same load, `surroundings` what else differs, `comparison`
//! puts a row together for each step and figure, `change_gate` answers whether a figure became worse by more than was allowed. The unit of
//! comparison is a run: two runs show how they differ, several of each show whether the volume does. The statistics are in
//! [`volproof_base::stats::change_of_runs`]. Nothing here measures, judges a promise, or prints.

mod change_gate;
mod compared_figure;
mod comparison;
mod load;
mod surroundings;

pub use change_gate::{GateAnswer, GateWord};
pub use compared_figure::ComparedFigure;
pub use comparison::{NotComparable, RunComparison, RunDesign, StepChange, compare, void};
pub use load::{differences as load_differences, words_of as load_words};
pub use surroundings::{Difference, RunSurroundings, differences_between, surroundings_of, volume_key};
