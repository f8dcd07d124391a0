//! `size`: what would be enough for the demand of files.

use std::borrow::Cow;
use std::path::Path;

use crate::cli::SizeArgs;
use crate::demand_file::{DemandChoice, demand_of_files};
use crate::run::{Failure, chain, print, show_text};
use crate::saved_answers;
use volproof_base::input;
use volproof_base::unit::Bytes;
use volproof_promise::catalogue::{Catalogue, Promise, PromiseRequest};
use volproof_record::exit::Exit;
use volproof_report::size_text;
use volproof_size::{PriceTable, SizeAnswer, SizeQuestion};

/// `size`.
///
/// # Errors
/// Of input, and where standard output takes no more.
pub fn size(args: &SizeArgs) -> Result<Exit, Failure> {
    let answer = answer(args).map_err(|e| Failure::input(chain(&e)))?;
    if args.json {
        let text = serde_json::to_string_pretty(&answer).map_err(|e| Failure::new(Exit::RunFailed, e))?;
        print(&(text + "\n"))?;
    } else if args.csv {
        print(&size_text::csv(&answer))?;
    } else {
        show_text(&size_text::text(&answer))?;
    }
    Ok(if answer.types.is_empty() { Exit::Fail } else { Exit::Done })
}

fn answer(args: &SizeArgs) -> anyhow::Result<SizeAnswer> {
    let shipped = match &args.catalog {
        Some(path) => Cow::Owned(Catalogue::with_file(path)?),
        None => Cow::Borrowed(Catalogue::shipped()),
    };
    let (catalogue, instance) = saved_answers::with_instance(shipped, args.instance.as_deref())?;
    let named = match &args.now {
        Some(volume) => Some(Promise::requested(
            &catalogue,
            &PromiseRequest {
                volume: volume.clone(),
                instance: instance.clone(),
                ..PromiseRequest::default()
            },
        )?),
        None => None,
    };
    let prices = args.price.as_deref().map(prices).transpose()?;
    let provider = args.provider.as_deref().map(|name| catalogue.provider_id(name)).transpose()?;
    let found =
        demand_of_files(&args.files, DemandChoice { disk: args.disk.as_deref(), interval: args.interval })?;
    let now = named.or(found.promise);
    let now_volume = now.as_ref().and_then(|promise| promise.volumes.first());
    let provider = provider.or(now_volume.and_then(|v| v.id.split(':').next()));
    let of_now = now.as_ref().and_then(|promise| promise.instance.as_ref()).map(|cap| cap.name.clone());
    let question = SizeQuestion {
        catalogue: &catalogue,
        demand: &found.demand,
        instance: instance.or(of_now),
        provider: provider.map(str::to_string),
        least_gib: args.size.map(|size| size.0 as f64 / Bytes::GIB.0 as f64).or(now_volume.map(|v| v.gib)),
        most_late: args.late,
        prices: prices.as_ref(),
        now,
    };
    question
        .answer()?
        .ok_or_else(|| anyhow::anyhow!("the files tell of no I/O: nothing is asked of a volume"))
}

fn prices(path: &Path) -> anyhow::Result<PriceTable> {
    let name = input::named(path).display().to_string();
    let text = input::read_text(path).map_err(|e| anyhow::anyhow!("--price {name}: {e}"))?;
    PriceTable::parse(&text).map_err(|e| anyhow::anyhow!("--price {name}: {e}"))
}
