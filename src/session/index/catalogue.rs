//! The catalogue of a folder: the index, brought up to date with the session files.
//!
//! In: a folder, a query. Out: summaries, matches, and notices about rebuilt index files. A session is re-indexed when its
//! size or modification time changes. Index files are renamed into place and never changed, so that several programs can
//! share a folder; segments that another program deleted are rebuilt.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use super::digest::{Digest, Facts, Field};
use super::failure::Failure;
use super::filter::Filter;
use super::find::{SearchMatch, SessionMatches, excerpt, search_texts};
use super::order::newest_first;
use super::query::Query;
use super::segment::{FileStamp, IndexEntry, SegmentBuilder, SegmentHeader, SegmentTexts};
use crate::config::{create_private_dir, write_private_file};
use crate::session::{Marks, Session, SessionId, Summary, list::unreadable};

/// The folder of the index, next to the sessions.
pub const INDEX_FOLDER: &str = "index";

/// Extension of index files.
const EXTENSION: &str = "seg";

/// Segments with fewer sessions are merged with new ones.
const SMALL_SEGMENT: usize = 256;

/// Maximum sessions, and bytes of text, per index file.
const MAX_SEGMENT_SESSIONS: usize = 512;
const MAX_SEGMENT_TEXT: usize = 32 << 20;

/// Maximum number of threads for indexing and searching.
const MAX_THREADS: usize = 4;

/// The indexed sessions of a folder.
#[derive(Debug, Default)]
pub struct Catalogue {
    dir: PathBuf,
    segments: Vec<Segment>,
    /// Notices about index files that were damaged or could not be written.
    pub notices: Vec<String>,
}

#[derive(Debug)]
struct Segment {
    source: SegmentSource,
    entries: Vec<IndexEntry>,
    /// One flag per session: its file is unchanged.
    live: Vec<bool>,
}

#[derive(Debug)]
enum SegmentSource {
    File(PathBuf),
    Memory(Vec<u8>),
}

/// A session found by a query.
#[derive(Debug, Clone)]
pub struct FoundSession {
    /// Its summary.
    pub summary: Summary,
    /// The first matches, in the order of the run.
    pub matches: Vec<SearchMatch>,
    /// Number of all matches.
    pub count: usize,
    /// Its failures.
    pub failures: Vec<Failure>,
}

impl Segment {
    fn live(&self) -> usize {
        self.live.iter().filter(|live| **live).count()
    }
}

impl Catalogue {
    /// Reads the index of a folder and brings it up to date.
    pub fn open(dir: &Path) -> Self {
        let mut catalogue = Self { dir: dir.to_owned(), ..Self::default() };
        let files = session_files(dir);
        catalogue.load();
        let mut fresh: HashMap<&str, (&SessionId, FileStamp)> =
            files.iter().map(|(id, stamp)| (id.as_str(), (id, *stamp))).collect();
        for segment in &mut catalogue.segments {
            for (entry, live) in segment.entries.iter().zip(&mut segment.live) {
                *live = fresh.get(&*entry.summary.id).is_some_and(|(_, stamp)| *stamp == entry.stamp);
                if *live {
                    fresh.remove(&*entry.summary.id);
                }
            }
        }
        let mut fresh: Vec<(&SessionId, FileStamp)> = fresh.into_values().collect();
        fresh.sort();
        catalogue.index_new(&fresh);
        catalogue
    }

    /// Creates a catalogue of the built-in examples in memory.
    pub fn of_examples(sessions: &[Session]) -> Self {
        let mut builder = SegmentBuilder::default();
        for session in sessions {
            let digest = Digest::of(session);
            let summary = Summary { example: true, ..digest.summary };
            builder.add(FileStamp::default(), Digest { summary, ..digest });
        }
        let mut catalogue = Self::default();
        catalogue.segments.extend(in_memory(builder));
        catalogue
    }

    fn index_dir(&self) -> PathBuf {
        self.dir.join(INDEX_FOLDER)
    }

    /// Reads the entries of every index file and removes damaged files.
    fn load(&mut self) {
        let files =
            std::fs::read_dir(self.index_dir()).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path()));
        let mut files: Vec<PathBuf> = files.filter(|path| is_own(path)).collect();
        files.sort();
        for path in files {
            match entries_of(&path) {
                Ok(Some(entries)) => {
                    let live = vec![false; entries.len()];
                    self.segments.push(Segment { source: SegmentSource::File(path), entries, live });
                }
                Ok(None) => self.drop_damaged(&path),
                Err(error) => self.notices.push(format!("{} cannot be read: {error}", path.display())),
            }
        }
    }

    fn drop_damaged(&mut self, path: &Path) {
        self.notices.push(format!("{} is damaged or outdated; rebuilding it from the sessions", path.display()));
        remove(path);
    }

    /// Indexes new sessions and merges small and mostly outdated index files.
    fn index_new(&mut self, fresh: &[(&SessionId, FileStamp)]) {
        if fresh.len() >= SMALL_SEGMENT {
            self.index_many(fresh);
        } else if !fresh.is_empty() {
            self.index_few(fresh);
        }
        self.segments.retain(|segment| match &segment.source {
            SegmentSource::File(path) if segment.live() == 0 => {
                remove(path);
                false
            }
            _ => true,
        });
    }

    fn index_few(&mut self, fresh: &[(&SessionId, FileStamp)]) {
        let mut builder = SegmentBuilder::default();
        for (id, stamp) in fresh {
            builder.add(*stamp, digest(&self.dir, id));
        }
        for segment in &mut self.segments {
            let (live, all) = (segment.live(), segment.entries.len());
            let has_room = builder.len() + live <= MAX_SEGMENT_SESSIONS && builder.text_bytes() < MAX_SEGMENT_TEXT;
            let is_sparse = live < SMALL_SEGMENT || live * 2 < all;
            if has_room && live > 0 && is_sparse && adopt(&mut builder, segment).is_some() {
                segment.live.fill(false);
            }
        }
        match self.write(&builder) {
            // Adopted sessions are in the new file; the old files are removed when none of their sessions is live.
            Ok(segment) => self.segments.push(segment),
            Err(error) => {
                self.notices.push(self.unwritable(&error));
                self.segments.extend(in_memory(builder));
                // The old files stay on disk.
                for segment in self.segments.iter_mut().filter(|segment| segment.live() == 0) {
                    segment.source = SegmentSource::Memory(Vec::new());
                }
            }
        }
    }

    fn index_many(&mut self, fresh: &[(&SessionId, FileStamp)]) {
        let chunks: Vec<_> = fresh.chunks(MAX_SEGMENT_SESSIONS).collect();
        let next = AtomicUsize::new(0);
        let made = Mutex::new((Vec::new(), None));
        let finish = |builder: SegmentBuilder| {
            let written = self.write(&builder);
            let mut made = made.lock().unwrap_or_else(PoisonError::into_inner);
            match written {
                Ok(segment) => made.0.push(segment),
                Err(error) => {
                    made.1 = Some(self.unwritable(&error));
                    made.0.extend(in_memory(builder));
                }
            }
        };
        std::thread::scope(|scope| {
            for _ in 0..threads().min(chunks.len()) {
                scope.spawn(|| {
                    while let Some(chunk) = chunks.get(next.fetch_add(1, Ordering::Relaxed)) {
                        let mut builder = SegmentBuilder::default();
                        for (id, stamp) in *chunk {
                            builder.add(*stamp, digest(&self.dir, id));
                            if builder.text_bytes() > MAX_SEGMENT_TEXT {
                                finish(std::mem::take(&mut builder));
                            }
                        }
                        if builder.len() > 0 {
                            finish(builder);
                        }
                    }
                });
            }
        });
        let (segments, notice) = made.into_inner().unwrap_or_else(PoisonError::into_inner);
        self.segments.extend(segments);
        self.notices.extend(notice);
    }

    fn unwritable(&self, error: &io::Error) -> String {
        format!("{} cannot be written: {error}; searching works but is slower", self.index_dir().display())
    }

    fn write(&self, builder: &SegmentBuilder) -> io::Result<Segment> {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let dir = self.index_dir();
        create_private_dir(&dir)?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
        let name = format!("{now:013}-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let (draft, path) = (dir.join(format!("{name}.new")), dir.join(format!("{name}.{EXTENSION}")));
        let moved = write_private_file(&draft, &builder.bytes()?).and_then(|()| std::fs::rename(&draft, &path));
        if let Err(error) = moved {
            remove(&draft);
            return Err(error);
        }
        let entries = builder.entries().to_vec();
        Ok(Segment { source: SegmentSource::File(path), live: vec![true; entries.len()], entries })
    }

    /// Returns the summaries of all sessions in which a run began, newest first.
    pub fn summaries(&self) -> Vec<Summary> {
        let mut all: Vec<Summary> = self
            .segments
            .iter()
            .flat_map(|segment| segment.entries.iter().zip(&segment.live))
            .filter(|(entry, live)| **live && entry.summary.is_begun())
            .map(|(entry, _)| self.with_path(&entry.summary))
            .collect();
        newest_first(&mut all, |summary| summary);
        all
    }

    fn with_path(&self, summary: &Summary) -> Summary {
        Summary { path: self.dir.join(format!("{}.jsonl", summary.id)), ..summary.clone() }
    }

    /// Returns the sessions that match a query, newest first. Rebuilds damaged index files.
    pub fn find(&mut self, query: &Query, marks: &Marks) -> Vec<FoundSession> {
        let wanted: Vec<Vec<bool>> = self.segments.iter().map(|segment| wanted(segment, query, marks)).collect();
        let mut hits = self.search(query, &wanted);
        let mut found = Vec::new();
        for index in 0..self.segments.len() {
            let wanted = &wanted[index];
            let hits = match hits[index].take() {
                Some(hits) => hits,
                None => self.search_rebuilt(index, query, wanted),
            };
            for (place, hits) in hits.into_iter().enumerate().filter(|(place, _)| wanted.get(*place) == Some(&true)) {
                let Some(entry) = self.segments[index].entries.get(place) else { continue };
                let mut hits = hits;
                search_notes(query, marks, &entry.summary.id, &mut hits);
                add_failures(query, &entry.facts.failures, &mut hits);
                if hits.satisfies(query) {
                    hits.matches.sort_by(|one, other| one.at.cmp(&other.at));
                    let (summary, failures) = (self.with_path(&entry.summary), entry.facts.failures.clone());
                    found.push(FoundSession { summary, matches: hits.matches, count: hits.count, failures });
                }
            }
        }
        newest_first(&mut found, |found| &found.summary);
        found
    }

    /// Searches all segments in parallel; `None` for damaged or deleted ones.
    fn search(&self, query: &Query, wanted: &[Vec<bool>]) -> Vec<Option<Vec<SessionMatches>>> {
        let next = AtomicUsize::new(0);
        let hits = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for _ in 0..threads().min(self.segments.len()) {
                scope.spawn(|| {
                    loop {
                        let index = next.fetch_add(1, Ordering::Relaxed);
                        let Some((segment, wanted)) = self.segments.get(index).zip(wanted.get(index)) else { return };
                        let seen = search_segment(segment, query, wanted);
                        hits.lock().unwrap_or_else(PoisonError::into_inner).push((index, seen));
                    }
                });
            }
        });
        let mut hits = hits.into_inner().unwrap_or_else(PoisonError::into_inner);
        hits.sort_by_key(|(index, _)| *index);
        hits.into_iter().map(|(_, seen)| seen).collect()
    }

    /// Rebuilds one segment from its sessions and searches it.
    fn search_rebuilt(&mut self, index: usize, query: &Query, wanted: &[bool]) -> Vec<SessionMatches> {
        if let SegmentSource::File(path) = &self.segments[index].source
            && path.exists()
        {
            let path = path.clone();
            self.drop_damaged(&path);
        }
        let mut builder = SegmentBuilder::default();
        for entry in &self.segments[index].entries {
            match SessionId::from_file_name(&format!("{}.jsonl", entry.summary.id)) {
                Some(id) => builder.add(entry.stamp, digest(&self.dir, &id)),
                None => _ = builder.add_entry(entry.clone()),
            }
        }
        let bytes = builder.bytes().unwrap_or_default();
        let hits = SegmentTexts::read(&bytes).and_then(|texts| search_texts(query, &texts, wanted)).unwrap_or_default();
        match self.write(&builder) {
            Ok(segment) => self.segments[index].source = segment.source,
            Err(error) => {
                self.notices.push(self.unwritable(&error));
                self.segments[index].source = SegmentSource::Memory(bytes);
            }
        }
        hits
    }

    /// Returns the number of sessions, and of those whose text is only partly indexed.
    pub fn counts(&self) -> (usize, usize) {
        let live = || {
            let entries = self.segments.iter().flat_map(|segment| segment.entries.iter().zip(&segment.live));
            entries.filter(|(_, live)| **live)
        };
        (live().count(), live().filter(|(entry, _)| entry.facts.partial).count())
    }
}

fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from).min(MAX_THREADS)
}

/// Returns the session files of a folder with their stamps.
fn session_files(dir: &Path) -> Vec<(SessionId, FileStamp)> {
    let entries = std::fs::read_dir(dir).into_iter().flatten();
    entries
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let id = SessionId::from_file_name(entry.file_name().to_str()?)?;
            let found = entry.metadata().ok()?;
            let changed = found.modified().ok()?.duration_since(UNIX_EPOCH).unwrap_or_default();
            let changed_ns = u64::try_from(changed.as_nanos()).unwrap_or_default();
            Some((id, FileStamp { bytes: found.len(), changed_ns }))
        })
        .collect()
}

/// Returns whether [`Catalogue::write`] could have created the file. Other files are ignored.
fn is_own(path: &Path) -> bool {
    let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    let numbers: Vec<&str> = stem.split('-').collect();
    let is_number = |part: &&str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    path.extension().is_some_and(|ending| ending == EXTENSION)
        && numbers.len() == 3
        && numbers[0].len() >= 13
        && numbers.iter().all(is_number)
}

/// Reads the entries of an index file; `None` when it is damaged or of another version.
fn entries_of(path: &Path) -> io::Result<Option<Vec<IndexEntry>>> {
    let mut file = match File::open(path) {
        // Another program has merged it.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Some(Vec::new())),
        file => file?,
    };
    let length = file.metadata()?.len();
    let mut bytes = Vec::new();
    (&mut file).take(SegmentHeader::BYTES as u64).read_to_end(&mut bytes)?;
    let Some(head) = SegmentHeader::read(&bytes).filter(|head| head.file_bytes() == Some(length)) else {
        return Ok(None);
    };
    bytes.clear();
    file.take(head.entries_bytes()).read_to_end(&mut bytes)?;
    Ok(head.entries(&bytes))
}

fn digest(dir: &Path, id: &SessionId) -> Digest {
    Digest::read(&dir.join(id.file_name())).unwrap_or_else(|error| Digest {
        summary: unreadable(id, &error),
        facts: Facts::default(),
        texts: Vec::new(),
    })
}

fn in_memory(builder: SegmentBuilder) -> Option<Segment> {
    let bytes = builder.bytes().ok()?;
    let entries = builder.into_entries();
    Some(Segment { source: SegmentSource::Memory(bytes), live: vec![true; entries.len()], entries })
}

/// Copies the live sessions of a segment with their texts; `None` when it is damaged.
fn adopt(builder: &mut SegmentBuilder, segment: &Segment) -> Option<()> {
    let bytes = bytes_of(segment)?;
    let texts = SegmentTexts::read(&bytes)?;
    // Check the whole segment before copying any of it.
    texts.for_each(|_, _| ())?;
    let new_sessions: Vec<Option<usize>> = segment
        .entries
        .iter()
        .zip(&segment.live)
        .map(|(entry, live)| live.then(|| builder.add_entry(entry.clone())))
        .collect();
    texts.for_each(|text, locations| {
        for mut location in locations {
            if let Some(Some(session)) = new_sessions.get(location.session) {
                location.session = *session;
                builder.add_text(text.as_bytes(), &location);
            }
        }
    })
}

fn bytes_of(segment: &Segment) -> Option<std::borrow::Cow<'_, [u8]>> {
    match &segment.source {
        SegmentSource::File(path) => std::fs::read(path).ok().map(Into::into),
        SegmentSource::Memory(bytes) => Some(bytes.into()),
    }
}

fn search_segment(segment: &Segment, query: &Query, wanted: &[bool]) -> Option<Vec<SessionMatches>> {
    if query.terms.is_empty() || !wanted.contains(&true) {
        return Some(vec![SessionMatches::default(); wanted.len()]);
    }
    let bytes = bytes_of(segment)?;
    search_texts(query, &SegmentTexts::read(&bytes)?, wanted)
}

/// Returns which sessions of a segment satisfy the filters of the query.
fn wanted(segment: &Segment, query: &Query, marks: &Marks) -> Vec<bool> {
    let is_match = |entry: &IndexEntry| query.filters.iter().all(|f| f.holds(&entry.summary, &entry.facts, marks));
    segment.entries.iter().zip(&segment.live).map(|(entry, live)| *live && is_match(entry)).collect()
}

/// Searches notes, which are not indexed: they are few and change independently of the session.
fn search_notes(query: &Query, marks: &Marks, id: &str, hits: &mut SessionMatches) {
    if !(query.fields.is_empty() || query.fields.contains(&Field::Note)) {
        return;
    }
    for (at, mark) in marks.of_session(id) {
        let notes = mark.note.iter().chain(mark.label.iter().filter_map(|label| label.note.as_ref()));
        for (note, (bit, term)) in notes.flat_map(|note| query.terms.iter().enumerate().map(move |term| (note, term))) {
            let Some(found) = term.pattern.find(note) else { continue };
            let at = at.cloned().unwrap_or_else(|| "".into());
            let span = (found.start(), found.end());
            hits.add_term(bit, || (!term.absent).then(|| excerpt(note, span, Field::Note, at)));
        }
    }
}

/// Adds the failures that filters select, if the query has no terms.
fn add_failures(query: &Query, failures: &[Failure], hits: &mut SessionMatches) {
    if !query.terms.is_empty() || !query.filters.iter().any(Filter::is_about_failures) {
        return;
    }
    for failure in failures.iter().filter(|failure| query.selects(failure)) {
        let (excerpt, highlight) = failure.excerpt();
        hits.add_match(|| Some(SearchMatch { at: failure.at.clone(), field: Field::Error, excerpt, highlight }));
        hits.count += failure.repeated;
    }
}

fn remove(path: &Path) {
    if let Err(error) = std::fs::remove_file(path)
        && error.kind() != io::ErrorKind::NotFound
    {
        tracing::debug!(%error, path = %path.display(), "removing a file of the index");
    }
}
