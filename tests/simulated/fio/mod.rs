//! fio's language and reports: read, written, judged by the installed fio.

mod compat;
mod convert;
mod corpus;
mod forms;
mod json_eras;
mod language;
mod language_judged;
mod record;
mod record_jobs;
mod text_read;
mod tools;
mod values;
