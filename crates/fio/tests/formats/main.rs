//! Reports of fio as fio prints them.

mod text_live;
mod text_write;
