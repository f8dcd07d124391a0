//! Needs of applications: what their makers publish about the disk that they want, as dated and sourced data.
//!
//! An application has a load, which runs as a fixed list of steps, and needs, which are held against what the steps measured. An application
//! without a need is a profile: figures, and no PASS. The shipped file (`crates/promise/data/fits.toml`, described in docs/fits.md) is part of the binary.
//! Nothing here measures or judges; the crate `judge` does.

mod application;
mod fit_catalogue;
mod fit_figure;
mod own_need;
mod selection;

pub use application::{Application, CommitLoads, FitNeed, Grade, NeedBound, OWN_NEED, SsdDemand};
pub use fit_catalogue::FitCatalogue;
pub use fit_figure::{FigureKind, FitFigure};
pub use selection::{AskedApplication, AskedFits, Disturbance, FitRequest, SelectionError};
