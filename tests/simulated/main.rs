//! What needs no device: virtual time, reports of other tools, texts, tables, documents. Light on the machine.

mod causes;
mod circles;
mod compare;
mod course;
mod documents;
mod evidence;
mod explain;
mod fio;
mod fit;
mod foreign;
mod history;
mod lint;
mod names;
mod option_files;
mod page_record;
mod page_report;
mod pipelines;
mod plan_page;
mod promise;
mod provider_files;
mod size;
mod stats;
mod topo;
mod verdict_cases;
mod volumes;
mod withheld_texts;
