//! The catalogue of a folder: what the index knows, with what has changed since read anew.
//!
//! In: a folder, a query. Out: summaries and matches, and notices about index files that had to be made again. A session counts as
//! known while its size and time of change are what they were. Files of the index are written beside their place and moved there,
//! and never changed, so that several programs can use one folder; what another program took away is read from the sessions.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use super::digest::{Digest, Facts, Failure, Field};
use super::filter::{Filter, Words};
use super::find::{Held, Match, excerpt, look};
use super::query::Query;
use super::segment::{Builder, Entry, Head, Stamp, Texts};
use crate::session::list::unreadable;
use crate::session::{Marks, Session, SessionId, Summary};

/// The folder of the index, beside the sessions.
pub const INDEX_FOLDER: &str = "index";

/// How index files end.
const ENDING: &str = "seg";

/// A segment with fewer sessions is made into one with what comes next.
const FEW: usize = 256;

/// Sessions, and bytes of text, that one index file holds at most.
const MANY: usize = 512;
const MUCH_TEXT: usize = 32 << 20;

/// Threads that read and search.
const THREADS: usize = 4;

/// What is known of the sessions of a folder.
#[derive(Debug, Default)]
pub struct Catalogue {
    dir: PathBuf,
    segments: Vec<Segment>,
    /// Index files that were damaged or could not be written, in words.
    pub notices: Vec<String>,
}

#[derive(Debug)]
struct Segment {
    source: Source,
    entries: Vec<Entry>,
    /// Which of its sessions are still as it knows them.
    live: Vec<bool>,
}

#[derive(Debug)]
enum Source {
    File(PathBuf),
    Memory(Vec<u8>),
}

/// A session that a query found.
#[derive(Debug, Clone)]
pub struct Found {
    /// Its line in the list.
    pub summary: Summary,
    /// Where the words stand, in the order of the run; not more than some of each session.
    pub matches: Vec<Match>,
    /// All places, those that are left out included.
    pub count: usize,
    /// What failed in it.
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
        let mut fresh: HashMap<&str, (&SessionId, Stamp)> =
            files.iter().map(|(id, stamp)| (id.as_str(), (id, *stamp))).collect();
        for segment in &mut catalogue.segments {
            for (entry, live) in segment.entries.iter().zip(&mut segment.live) {
                *live = fresh.get(&*entry.summary.id).is_some_and(|(_, stamp)| *stamp == entry.stamp);
                if *live {
                    fresh.remove(&*entry.summary.id);
                }
            }
        }
        let mut fresh: Vec<(&SessionId, Stamp)> = fresh.into_values().collect();
        fresh.sort();
        catalogue.take(&fresh);
        catalogue
    }

    /// A catalogue of the examples that are part of the program, in memory.
    pub fn of_examples(sessions: &[Session]) -> Self {
        let mut builder = Builder::default();
        for session in sessions {
            let digest = Digest::of(session);
            let summary = Summary { example: true, ..digest.summary };
            builder.add(Stamp::default(), Digest { summary, ..digest });
        }
        let mut catalogue = Self::default();
        catalogue.segments.extend(in_memory(builder));
        catalogue
    }

    fn index_dir(&self) -> PathBuf {
        self.dir.join(INDEX_FOLDER)
    }

    /// Reads the entries of every index file; what is none goes.
    fn load(&mut self) {
        let files =
            std::fs::read_dir(self.index_dir()).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path()));
        let mut files: Vec<PathBuf> = files.filter(|path| is_own(path)).collect();
        files.sort();
        for path in files {
            match entries_of(&path) {
                Ok(Some(entries)) => {
                    let live = vec![false; entries.len()];
                    self.segments.push(Segment { source: Source::File(path), entries, live });
                }
                Ok(None) => self.drop_damaged(&path),
                Err(error) => self.notices.push(format!("{} cannot be read: {error}", path.display())),
            }
        }
    }

    fn drop_damaged(&mut self, path: &Path) {
        self.notices
            .push(format!("{} is damaged or of another version; it is made again from the sessions", path.display()));
        remove(path);
    }

    /// Reads what is not known, and brings small and mostly outdated index files together.
    fn take(&mut self, fresh: &[(&SessionId, Stamp)]) {
        if fresh.len() >= FEW {
            self.take_many(fresh);
        } else if !fresh.is_empty() {
            self.take_few(fresh);
        }
        self.segments.retain(|segment| match &segment.source {
            Source::File(path) if segment.live() == 0 => {
                remove(path);
                false
            }
            _ => true,
        });
    }

    fn take_few(&mut self, fresh: &[(&SessionId, Stamp)]) {
        let mut builder = Builder::default();
        for (id, stamp) in fresh {
            builder.add(*stamp, digest(&self.dir, id));
        }
        for segment in &mut self.segments {
            let (live, all) = (segment.live(), segment.entries.len());
            let room = builder.len() + live <= MANY && builder.text_bytes() < MUCH_TEXT;
            if room && live > 0 && (live < FEW || live * 2 < all) && adopt(&mut builder, segment).is_some() {
                segment.live.fill(false);
            }
        }
        match self.write(&builder) {
            // What was taken over is in the new file; the old ones go when nothing of them is left.
            Ok(segment) => self.segments.push(segment),
            Err(error) => {
                self.notices.push(self.unwritable(&error));
                self.segments.extend(in_memory(builder));
                // On the disk the old files stay.
                for segment in self.segments.iter_mut().filter(|segment| segment.live() == 0) {
                    segment.source = Source::Memory(Vec::new());
                }
            }
        }
    }

    fn take_many(&mut self, fresh: &[(&SessionId, Stamp)]) {
        let chunks: Vec<_> = fresh.chunks(MANY).collect();
        let next = AtomicUsize::new(0);
        let made = Mutex::new((Vec::new(), None));
        let finish = |builder: Builder| {
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
                        let mut builder = Builder::default();
                        for (id, stamp) in *chunk {
                            builder.add(*stamp, digest(&self.dir, id));
                            if builder.text_bytes() > MUCH_TEXT {
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
        format!("{} cannot be written: {error}; searching works, and is slower", self.index_dir().display())
    }

    fn write(&self, builder: &Builder) -> io::Result<Segment> {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let dir = self.index_dir();
        std::fs::create_dir_all(&dir)?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
        let name = format!("{now:013}-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let (beside, path) = (dir.join(format!("{name}.new")), dir.join(format!("{name}.{ENDING}")));
        let moved = std::fs::write(&beside, builder.bytes()?).and_then(|()| std::fs::rename(&beside, &path));
        if let Err(error) = moved {
            remove(&beside);
            return Err(error);
        }
        let entries = builder.entries().to_vec();
        Ok(Segment { source: Source::File(path), live: vec![true; entries.len()], entries })
    }

    /// The line of every session, newest first.
    pub fn summaries(&self) -> Vec<Summary> {
        let mut all: Vec<Summary> = self
            .segments
            .iter()
            .flat_map(|segment| segment.entries.iter().zip(&segment.live))
            .filter(|(_, live)| **live)
            .map(|(entry, _)| self.placed(&entry.summary))
            .collect();
        newest_first(&mut all, |summary| summary);
        all
    }

    fn placed(&self, summary: &Summary) -> Summary {
        Summary { path: self.dir.join(format!("{}.jsonl", summary.id)), ..summary.clone() }
    }

    /// The sessions that a query finds, newest first. Index files that turn out to be damaged are made again.
    pub fn find(&mut self, query: &Query, marks: &Marks) -> Vec<Found> {
        let wanted: Vec<Vec<bool>> = self.segments.iter().map(|segment| wanted(segment, query, marks)).collect();
        let mut held = self.look(query, &wanted);
        let mut found = Vec::new();
        for index in 0..self.segments.len() {
            let wanted = &wanted[index];
            let held = match held[index].take() {
                Some(held) => held,
                None => self.look_again(index, query, wanted),
            };
            for (place, held) in held.into_iter().enumerate().filter(|(place, _)| wanted.get(*place) == Some(&true)) {
                let Some(entry) = self.segments[index].entries.get(place) else { continue };
                let mut held = held;
                look_at_notes(query, marks, &entry.summary.id, &mut held);
                look_at_failures(query, &entry.facts.failures, &mut held);
                if held.suits(query) {
                    held.matches.sort_by(|one, other| one.at.cmp(&other.at));
                    let (summary, failures) = (self.placed(&entry.summary), entry.facts.failures.clone());
                    found.push(Found { summary, matches: held.matches, count: held.count, failures });
                }
            }
        }
        newest_first(&mut found, |found| &found.summary);
        found
    }

    /// Looks through all segments at the same time; `None` for one that is damaged or gone.
    fn look(&self, query: &Query, wanted: &[Vec<bool>]) -> Vec<Option<Vec<Held>>> {
        let next = AtomicUsize::new(0);
        let held = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for _ in 0..threads().min(self.segments.len()) {
                scope.spawn(|| {
                    loop {
                        let index = next.fetch_add(1, Ordering::Relaxed);
                        let Some((segment, wanted)) = self.segments.get(index).zip(wanted.get(index)) else { return };
                        let seen = look_in(segment, query, wanted);
                        held.lock().unwrap_or_else(PoisonError::into_inner).push((index, seen));
                    }
                });
            }
        });
        let mut held = held.into_inner().unwrap_or_else(PoisonError::into_inner);
        held.sort_by_key(|(index, _)| *index);
        held.into_iter().map(|(_, seen)| seen).collect()
    }

    /// The same for one segment, made again from its sessions.
    fn look_again(&mut self, index: usize, query: &Query, wanted: &[bool]) -> Vec<Held> {
        if let Source::File(path) = &self.segments[index].source
            && path.exists()
        {
            let path = path.clone();
            self.drop_damaged(&path);
        }
        let mut builder = Builder::default();
        for entry in &self.segments[index].entries {
            match SessionId::from_file_name(&format!("{}.jsonl", entry.summary.id)) {
                Some(id) => builder.add(entry.stamp, digest(&self.dir, &id)),
                None => _ = builder.adopt(entry.clone()),
            }
        }
        let bytes = builder.bytes().unwrap_or_default();
        let held = Texts::read(&bytes).and_then(|texts| look(query, &texts, wanted)).unwrap_or_default();
        match self.write(&builder) {
            Ok(segment) => self.segments[index].source = segment.source,
            Err(error) => {
                self.notices.push(self.unwritable(&error));
                self.segments[index].source = Source::Memory(bytes);
            }
        }
        held
    }

    /// How many sessions are known, and of how many not all text.
    pub fn counts(&self) -> (usize, usize) {
        let live = || {
            let entries = self.segments.iter().flat_map(|segment| segment.entries.iter().zip(&segment.live));
            entries.filter(|(_, live)| **live)
        };
        (live().count(), live().filter(|(entry, _)| entry.facts.partial).count())
    }
}

fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from).min(THREADS)
}

/// The session files of a folder with their sizes and times.
fn session_files(dir: &Path) -> Vec<(SessionId, Stamp)> {
    let entries = std::fs::read_dir(dir).into_iter().flatten();
    entries
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let id = SessionId::from_file_name(entry.file_name().to_str()?)?;
            let found = entry.metadata().ok()?;
            let changed = found.modified().ok()?.duration_since(UNIX_EPOCH).unwrap_or_default();
            let changed_ns = u64::try_from(changed.as_nanos()).unwrap_or_default();
            Some((id, Stamp { bytes: found.len(), changed_ns }))
        })
        .collect()
}

/// Does the file have a name that [`Catalogue::write`] gives? Others are not read, and never removed.
fn is_own(path: &Path) -> bool {
    let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    let numbers: Vec<&str> = stem.split('-').collect();
    let is_number = |part: &&str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    path.extension().is_some_and(|ending| ending == ENDING)
        && numbers.len() == 3
        && numbers[0].len() >= 13
        && numbers.iter().all(is_number)
}

/// The entries of an index file; `None` when it is damaged or of another version.
fn entries_of(path: &Path) -> io::Result<Option<Vec<Entry>>> {
    let mut file = match File::open(path) {
        // Another program has put it together with others.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Some(Vec::new())),
        file => file?,
    };
    let length = file.metadata()?.len();
    let mut bytes = Vec::new();
    (&mut file).take(Head::BYTES as u64).read_to_end(&mut bytes)?;
    let Some(head) = Head::read(&bytes).filter(|head| head.file_bytes() == Some(length)) else { return Ok(None) };
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

fn in_memory(builder: Builder) -> Option<Segment> {
    let bytes = builder.bytes().ok()?;
    let entries = builder.into_entries();
    Some(Segment { source: Source::Memory(bytes), live: vec![true; entries.len()], entries })
}

/// Takes the living sessions of a segment over, texts and all; `None` when it is damaged.
fn adopt(builder: &mut Builder, segment: &Segment) -> Option<()> {
    let bytes = bytes_of(segment)?;
    let texts = Texts::read(&bytes)?;
    // Looked through once before anything is taken over: half a segment would be worse than none.
    texts.each(|_, _| ())?;
    let places: Vec<Option<usize>> = segment
        .entries
        .iter()
        .zip(&segment.live)
        .map(|(entry, live)| live.then(|| builder.adopt(entry.clone())))
        .collect();
    texts.each(|text, at| {
        for mut place in at {
            if let Some(Some(session)) = places.get(place.session) {
                place.session = *session;
                builder.place(text.as_bytes(), &place);
            }
        }
    })
}

fn bytes_of(segment: &Segment) -> Option<std::borrow::Cow<'_, [u8]>> {
    match &segment.source {
        Source::File(path) => std::fs::read(path).ok().map(Into::into),
        Source::Memory(bytes) => Some(bytes.into()),
    }
}

fn look_in(segment: &Segment, query: &Query, wanted: &[bool]) -> Option<Vec<Held>> {
    if query.terms.is_empty() || !wanted.contains(&true) {
        return Some(vec![Held::default(); wanted.len()]);
    }
    let bytes = bytes_of(segment)?;
    look(query, &Texts::read(&bytes)?, wanted)
}

/// Which sessions of a segment are what the query's filters ask for.
fn wanted(segment: &Segment, query: &Query, marks: &Marks) -> Vec<bool> {
    let suits = |entry: &Entry| query.filters.iter().all(|filter| filter.holds(&entry.summary, &entry.facts, marks));
    segment.entries.iter().zip(&segment.live).map(|(entry, live)| *live && suits(entry)).collect()
}

/// Notes are in no index: they are few, and change without the session.
fn look_at_notes(query: &Query, marks: &Marks, id: &str, held: &mut Held) {
    if !(query.fields.is_empty() || query.fields.contains(&Field::Note)) {
        return;
    }
    for (at, mark) in marks.of_session(id) {
        for (bit, term) in query.terms.iter().enumerate() {
            let Some((note, found)) = mark.note.as_ref().and_then(|note| Some((note, term.pattern.find(note)?))) else {
                continue;
            };
            let at = at.cloned().unwrap_or_else(|| "".into());
            let span = (found.start(), found.end());
            held.see(bit, || (!term.absent).then(|| excerpt(note, span, Field::Note, at)));
        }
    }
}

/// Where a reason that is asked for made something fail, when no words are looked for.
fn look_at_failures(query: &Query, failures: &[Failure], held: &mut Held) {
    if !query.terms.is_empty() {
        return;
    }
    let asked: Vec<&Words> = query.filters.iter().filter_map(Filter::reason).collect();
    for failure in failures.iter().filter(|failure| asked.iter().any(|words| words.fit(&failure.reason))) {
        let gap = if failure.path.is_empty() { "" } else { ": " };
        let excerpt = format!("{}{gap}{}", failure.reason, failure.path);
        let highlight = (0, failure.reason.len());
        held.count(|| Some(Match { at: failure.at.clone(), field: Field::Error, excerpt, highlight }));
    }
}

/// Orders by the time in the ids, and within one second by the time in the headers.
fn newest_first<T>(all: &mut [T], summary: impl Fn(&T) -> &Summary) {
    all.sort_by(|one, other| {
        let (one, other) = (summary(one), summary(other));
        let stamp = |id: &str| id.rsplit_once('-').map_or(id.to_owned(), |(stamp, _)| stamp.to_owned());
        stamp(&other.id)
            .cmp(&stamp(&one.id))
            .then(other.created_ms.cmp(&one.created_ms))
            .then_with(|| other.id.cmp(&one.id))
    });
}

fn remove(path: &Path) {
    if let Err(error) = std::fs::remove_file(path)
        && error.kind() != io::ErrorKind::NotFound
    {
        tracing::debug!(%error, path = %path.display(), "removing a file of the index");
    }
}
