//! Whether the volume is of the class that the source of a need demands, and whether something else than the disk may have answered.

use volproof_base::unit::Bytes;
use volproof_device::device::{Block, Driver, Facts};
use volproof_promise::catalogue::Catalogue;
use volproof_promise::catalogue::volume_promise::VolumePromise;
use volproof_promise::fit::{AskedApplication, FitCatalogue};
use volproof_record::{Record, StepRecord};

/// A cache of a volume or of its server may hold a file below this size whole.
const CACHED: Bytes = Bytes::gib(1);

/// Why the volume is not of the class that the source demands.
pub(super) fn why_not_ssd(record: &Record, application: &AskedApplication) -> Option<String> {
    let demand = application.ssd.as_ref()?;
    let volumes = record.judged_promise.iter().flat_map(|judged_promise| &judged_promise.promise.volumes);
    let named = volumes.filter(|v| is_hard_disk(v)).map(|v| v.id.clone()).next();
    // Volumes of clouds often report a rotating medium and have none.
    let seen = rotating(record).filter(|_| !record.environment.virtual_machine);
    let volume = named.or_else(|| seen.map(|disk| disk.name.clone()))?;
    Some(format!("the source ({}) demands an SSD, and {volume} is a hard disk", demand.source))
}

/// A Record of a version that did not store the medium names a type that is shipped.
fn is_hard_disk(volume: &VolumePromise) -> bool {
    match &volume.media {
        Some(media) => media == "hdd",
        None => Catalogue::shipped().find(&volume.id, None).is_ok_and(|found| found.volume.media == "hdd"),
    }
}

/// A remark where nothing shows for sure which class the volume has.
pub(super) fn note(record: &Record, application: &AskedApplication) -> Option<String> {
    let (demand, disk) = (application.ssd.as_ref()?, rotating(record)?);
    record.environment.virtual_machine.then(|| {
        format!(
            "{} demands an SSD ({}): {} reports a rotating medium, as many cloud volumes do that have none; `run --fit {} --promise TYPE` knows \
             the class of a type",
            application.name, demand.source, disk.name, application.id
        )
    })
}

/// The first disk that reports a rotating medium.
fn rotating(record: &Record) -> Option<&Block> {
    let disks = record.targets.iter().flat_map(|t| t.facts.devices());
    // Stacked devices and files seen as devices pass on what lies below, or nothing.
    let mut own = disks.filter(|d| matches!(d.driver, Driver::Scsi | Driver::VirtioBlk | Driver::Xen));
    own.find(|d| d.rotational && !record.is_simulated())
}

/// Why figures that meet a need do not show that the disk meets it.
pub(super) fn why_disk_is_hidden(record: &Record, step: &StepRecord) -> Option<String> {
    if record.is_simulated() {
        return None;
    }
    let targets = record.targets_of(step);
    if let Some(place) = targets.iter().filter_map(|t| t.facts.place()).find(|p| p.is_hidden_by_overlay()) {
        return Some(format!(
            "{} is in an overlay whose layers are not visible here, so nothing shows on which disk: name a folder of a volume that is mounted \
             here",
            place.path.display()
        ));
    }
    // A log has a file of its own, of the size that the application gives it.
    let own = record.plan_step(&step.name)?.size.is_some();
    let mut files = targets.iter().filter(|t| !own && !matches!(t.facts, Facts::Block(_)));
    let target = files.find(|t| t.size_bytes < CACHED)?;
    let way = if target.is_test_file() {
        "give --file-size 4G, on a filesystem with room for it"
    } else {
        "name a larger file, or a folder with --file-size 4G"
    };
    Some(format!("the load went over only {}, which a cache on the way may hold: {way}", target.size_bytes))
}

/// Why figures of a part of the volume do not show that the volume meets a need: a plan of the user's named a smaller range than the published load has.
pub(super) fn why_range_is_small(record: &Record, step: &StepRecord) -> Option<String> {
    let size = record.plan_step(&step.name)?.size.filter(|size| *size < CACHED)?;
    let published = FitCatalogue::shipped().plain_load(&step.name)?.size;
    published.is_none_or(|published| size < published).then(|| {
        format!("the load went over only {size}, which a cache on the way may hold: leave out the size, as the published load does")
    })
}
