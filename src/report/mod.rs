//! Results as text, JSON and pages. Nothing here computes a result.

pub mod check_text;
pub mod course_text;
pub mod crosscheck_text;
pub mod html;
mod load_text;
pub mod promise;
pub mod text;
pub mod topo;
pub mod tune;
pub mod verdict_text;
