//! Results as text, JSON and pages. Nothing here computes a result.

pub mod cause_words;
pub mod check_text;
pub mod claim_words;
pub mod course_text;
pub mod crosscheck_text;
pub mod csv;
pub mod fit_text;
pub mod fleet_text;
pub mod headline;
pub mod html;
pub mod junit;
pub mod layout;
pub mod markdown;
pub mod openmetrics;
pub mod plan_text;
pub mod promise;
pub mod slo_text;
pub mod suite_text;
pub mod summary_text;
pub mod text;
pub mod ticket;
pub mod topo;
pub mod tune;
pub mod verdict_sentence;
pub mod verdict_text;
