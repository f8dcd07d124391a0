//! A page of the kernel's trace buffer, read raw (`per_cpu/cpuN/trace_pipe_raw`): foreign bytes in, events of the block layer out.
//!
//! Formats: `events/header_page` and `events/header_event` of tracefs, and include/linux/ring_buffer.h. A page begins with the time of its first event
//! and the length of its data; each event has a word of its own with its kind and the time since the event before it. Times are nanoseconds of the
//! clock that the instance has. Little-endian kernels with words of 64 bits alone.

/// What happened to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceEventKind {
    /// It reached the queue of its disk (`block_bio_queue`).
    Queued,
    /// It has a tag (`block_getrq`).
    Tagged,
    /// It went to the driver (`block_rq_issue`).
    Issued,
    /// The driver has completed it (`block_rq_complete`).
    Completed,
}

impl TraceEventKind {
    /// All of them, in the order of a request.
    pub const ALL: [TraceEventKind; 4] =
        [TraceEventKind::Queued, TraceEventKind::Tagged, TraceEventKind::Issued, TraceEventKind::Completed];

    /// Its name below `events/block`.
    pub fn name(self) -> &'static str {
        match self {
            TraceEventKind::Queued => "block_bio_queue",
            TraceEventKind::Tagged => "block_getrq",
            TraceEventKind::Issued => "block_rq_issue",
            TraceEventKind::Completed => "block_rq_complete",
        }
    }
}

/// An event of the block layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceEvent {
    /// When, in nanoseconds.
    pub at: u64,
    /// What.
    pub kind: TraceEventKind,
    /// The kernel's number of the disk: the major number above 20 bits of the minor one.
    pub disk: u32,
    /// First sector of the request.
    pub sector: u64,
    /// Its length in sectors.
    pub sectors: u32,
    /// The CPU where it happened.
    pub cpu: u32,
}

/// Where a kind of event has its fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventFormat {
    kind: TraceEventKind,
    id: u16,
    disk: usize,
    sector: usize,
    sectors: usize,
}

impl EventFormat {
    /// Reads the file `format` of an event; none where a field is missing or has another size.
    pub fn parse(kind: TraceEventKind, text: &str) -> Option<EventFormat> {
        let id = text.lines().find_map(|line| line.strip_prefix("ID:"))?.trim().parse().ok()?;
        Some(EventFormat {
            kind,
            id,
            disk: field(text, "dev", 4)?,
            sector: field(text, "sector", 8)?,
            sectors: field(text, "nr_sector", 4)?,
        })
    }
}

/// The offset of a field that has so many bytes: `field:sector_t sector; offset:16; size:8; signed:0;`.
fn field(text: &str, name: &str, bytes: usize) -> Option<usize> {
    for line in text.lines() {
        let mut parts = line.split(';').map(str::trim);
        let Some(declared) = parts.next().and_then(|part| part.strip_prefix("field:")) else { continue };
        if declared.split_whitespace().next_back() != Some(name) {
            continue;
        }
        let mut number = |key: &str| parts.next()?.strip_prefix(key)?.parse::<usize>().ok();
        let (offset, size) = (number("offset:")?, number("size:")?);
        return (size == bytes && offset < 4096).then_some(offset);
    }
    None
}

/// The page is not as its header says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a page of the trace buffer is not as its header says")]
pub struct TracePageError;

/// Bytes of the header of a page.
const HEADER: usize = 16;
/// The kernel dropped events before this page.
const MISSED: u64 = 1 << 31;
/// The length of the data within the word that has it.
const LENGTH: u64 = 0xf_ffff;

/// Adds the events of a page that was read on a CPU; whether the kernel had dropped events before it.
///
/// # Errors
/// The page ends within an event, or before its own length.
pub fn read_page(
    page: &[u8],
    cpu: u32,
    formats: &[EventFormat],
    events: &mut Vec<TraceEvent>,
) -> Result<bool, TracePageError> {
    let begun = long(page, 0)?;
    let word = long(page, 8)?;
    let data = page.get(HEADER..HEADER + (word & LENGTH) as usize).ok_or(TracePageError)?;
    let (mut place, mut at) = (0, begun);
    while place < data.len() {
        let head = int(data, place)?;
        let (kind, delta) = (head & 0x1f, u64::from(head >> 5));
        let first = || int(data, place + 4).map(u64::from);
        let length = match kind {
            // Filled up to the end of the page, or an event that was taken back.
            29 if delta == 0 => break,
            29 => first()?,
            30 => {
                at = at.wrapping_add(first()? << 27);
                4
            }
            31 => {
                // The upper bits are those of the page.
                at = (at & !((1 << 59) - 1)) | (first()? << 27);
                4
            }
            0 => first()?,
            words => u64::from(words) * 4,
        };
        at = at.wrapping_add(delta);
        let body = match kind {
            0 => place + 8,
            _ => place + 4,
        };
        let end = (place as u64 + 4).checked_add(length).ok_or(TracePageError)? as usize;
        if kind <= 28 {
            let record = data.get(body..end).ok_or(TracePageError)?;
            events.extend(event(record, at, cpu, formats));
        }
        // A length below its own word would never end.
        place = if end > place { end } else { return Err(TracePageError) };
    }
    Ok(word & MISSED != 0)
}

/// An event of one of these formats; none for any other.
fn event(record: &[u8], at: u64, cpu: u32, formats: &[EventFormat]) -> Option<TraceEvent> {
    let id = u16::from_le_bytes(record.get(..2)?.try_into().ok()?);
    let format = formats.iter().find(|format| format.id == id)?;
    Some(TraceEvent {
        at,
        kind: format.kind,
        disk: int(record, format.disk).ok()?,
        sector: long(record, format.sector).ok()?,
        sectors: int(record, format.sectors).ok()?,
        cpu,
    })
}

fn int(bytes: &[u8], at: usize) -> Result<u32, TracePageError> {
    let word = bytes.get(at..at + 4).ok_or(TracePageError)?;
    Ok(u32::from_le_bytes(word.try_into().map_err(|_| TracePageError)?))
}

fn long(bytes: &[u8], at: usize) -> Result<u64, TracePageError> {
    let word = bytes.get(at..at + 8).ok_or(TracePageError)?;
    Ok(u64::from_le_bytes(word.try_into().map_err(|_| TracePageError)?))
}

#[cfg(test)]
mod tests;
