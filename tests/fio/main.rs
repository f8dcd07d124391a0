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
mod text_live;
mod text_read;
mod text_write;
mod tools;
mod values;
