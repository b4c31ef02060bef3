//! The reader: turns a program's text into forms with spans.
//!
//! In: a text, its limits and the dialect. Out: its top-level forms, or the first syntax error. Names are not resolved
//! and nothing is expanded, except `@x` to a call of `deref` and `'(…)` to a list that begins with `quote`. Linear
//! time, no recursion.
//!
//! All dialects but `reference` read adjacent atoms as one token (`1N`, `0x1F`, `:order/id`, `2x`), names with `$`, more
//! escapes in strings, and have the prefixes of [`prefix`].

mod fault;
mod literal;
mod number;
mod prefix;
#[cfg(test)]
mod tests;

use std::rc::Rc;

use hashbrown::HashMap;
use hashbrown::hash_map::Entry;

use super::host::Watch;
use super::{Dialect, Error, Form, Limits, Shape};
use crate::heap::uncounted;
use crate::limits::{PROGRAM_BYTES, PROGRAM_NESTING, PROGRAM_SYMBOLS};
use crate::text::Span;
use crate::text::lex::lisp::{Bracket, Ending, Lexeme, Opener, Word, Words};
use crate::value::{Keyword, Value};
use prefix::{PendingPrefix, Prefix};

/// Forms of an ordinary small program that are unfinished at the same time.
const USUAL_FORMS: usize = 16;
/// Bytes of text per distinct name in an ordinary small program.
const BYTES_PER_NAME: usize = 6;
/// Names that are expected at most: larger programs repeat them.
const MOST_EXPECTED_NAMES: usize = 128;

/// Limits of a program's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// Bytes of the text.
    pub bytes: usize,
    /// Distinct names of symbols and keywords.
    pub symbols: usize,
}

impl Default for Budget {
    fn default() -> Self {
        Self { bytes: PROGRAM_BYTES.usual() as usize, symbols: PROGRAM_SYMBOLS.usual() as usize }
    }
}

impl Budget {
    /// The budget within a program's limits.
    pub(super) fn of(limits: &Limits) -> Self {
        let count = |limit: u64| usize::try_from(limit).unwrap_or(usize::MAX);
        Self { bytes: count(limits.program_bytes), symbols: count(limits.symbols) }
    }
}

/// The top-level forms of a program in the default dialect. Unmatched closing brackets between them are skipped.
///
/// Fails with `program_too_large`, `parse_error` or `symbol_limit_exceeded`, in this order.
pub fn read(source: &str, budget: Budget) -> Result<Vec<Form>, Error> {
    read_watched(source, budget, Dialect::default(), &Watch::none())
}

/// Like `read`, in any dialect and interruptible by the watch.
pub(super) fn read_watched(
    source: &str,
    budget: Budget,
    dialect: Dialect,
    watch: &Watch<'_>,
) -> Result<Vec<Form>, Error> {
    if source.len() > budget.bytes {
        return Err(fault::too_large(source.len(), budget.bytes));
    }
    let mut reader = Reader::new(source, budget, dialect);
    let words = if dialect == Dialect::Reference { Words::single(source) } else { Words::new(source) };
    for Word { span, first, is_joined } in words {
        watch.step()?;
        if is_joined { reader.take_joined(span, first)? } else { reader.take(span, first)? }
    }
    reader.finish()
}

/// An open bracket and the forms read inside it so far.
struct Level {
    opener: Opener,
    /// Span of the opening bracket.
    span: Span,
    /// Number of forms read before it.
    before: usize,
}

struct Reader<'a> {
    source: &'a str,
    dialect: Dialect,
    levels: Vec<Level>,
    /// Prefixes that wait for their form.
    pending: Vec<PendingPrefix>,
    /// Finished forms of all open levels, outermost first.
    forms: Vec<Form>,
    names: Names<'a>,
}

impl<'a> Reader<'a> {
    fn new(source: &'a str, budget: Budget, dialect: Dialect) -> Self {
        let names = Names::new(budget.symbols, source.len() / BYTES_PER_NAME);
        let forms = Vec::with_capacity(USUAL_FORMS.min(source.len()));
        Self { source, dialect, levels: Vec::new(), pending: Vec::new(), forms, names }
    }

    fn take(&mut self, span: Span, lexeme: Lexeme) -> Result<(), Error> {
        match lexeme {
            Lexeme::Space | Lexeme::Comment => return Ok(()),
            Lexeme::Close(bracket) => return self.close(bracket, span),
            _ => {}
        }
        // As in the reference, an empty bracket may be one level deeper than allowed, because it contains nothing.
        let most = PROGRAM_NESTING.usual() as usize;
        if self.levels.len() + self.pending.len() > most {
            return Err(fault::too_deep(most, span));
        }
        if let Lexeme::Open(opener) = lexeme {
            return self.open(opener, span);
        }
        let text = span.text(self.source);
        self.check_name(lexeme, text, span)?;
        let shape = match lexeme {
            Lexeme::Symbol if self.dialect != Dialect::Reference && number::is_signed(text) => {
                Shape::Literal(number::token(text, span)?)
            }
            Lexeme::Symbol | Lexeme::Placeholder => Shape::Symbol(self.names.symbol(text)),
            Lexeme::Keyword => Shape::Literal(Value::Keyword(self.names.keyword(text))),
            Lexeme::Integer => Shape::Literal(literal::integer(text, span)?),
            Lexeme::Float => Shape::Literal(literal::float(text, span)?),
            Lexeme::SpecialFloat => Shape::Literal(literal::special_float(text)),
            Lexeme::Constant => Shape::Literal(literal::constant(text)),
            Lexeme::String(Ending::Closed) => {
                let contents = &text[1..text.len() - 1];
                let is_reference = self.dialect == Dialect::Reference;
                let resolved = if is_reference { literal::unescaped(contents) } else { literal::string(contents) };
                Shape::Literal(Value::str(resolved))
            }
            Lexeme::Regex(Ending::Closed) => Shape::Regex(literal::unescaped(&text[2..text.len() - 1]).into()),
            Lexeme::String(Ending::Open) | Lexeme::Regex(Ending::Open) => {
                return Err(fault::open_text(lexeme, span));
            }
            Lexeme::Char => Shape::Literal(literal::character(&text[1..])),
            Lexeme::Quoted => Shape::Quoted(self.names.symbol(&text[1..])),
            Lexeme::Var => Shape::Var(self.names.symbol(&text[2..])),
            Lexeme::Discard | Lexeme::Prefix => return self.prefix(lexeme, span),
            Lexeme::Unknown => return Err(fault::unknown(self.source, span)),
            Lexeme::Space | Lexeme::Comment | Lexeme::Open(_) | Lexeme::Close(_) => return Ok(()),
        };
        self.push(Form { shape, span });
        Ok(())
    }

    /// Fails for a name with `$` in the dialect `reference`.
    #[inline]
    fn check_name(&self, lexeme: Lexeme, text: &str, span: Span) -> Result<(), Error> {
        if self.dialect != Dialect::Reference || !matches!(lexeme, Lexeme::Symbol | Lexeme::Quoted | Lexeme::Var) {
            return Ok(());
        }
        let Some(at) = text.find('$') else { return Ok(()) };
        Err(fault::unknown(self.source, Span::new(span.start + at, span.start + at + 1)))
    }

    /// Several atoms without separators: a number, a keyword with a namespace, or a name.
    fn take_joined(&mut self, span: Span, first: Lexeme) -> Result<(), Error> {
        let text = span.text(self.source);
        let shape = match first {
            Lexeme::Integer | Lexeme::Float => Shape::Literal(number::token(text, span)?),
            Lexeme::Char => match literal::unicode(text) {
                Some(character) => Shape::Literal(character),
                None => return Err(fault::unicode(span)),
            },
            Lexeme::Keyword => Shape::Literal(Value::Keyword(self.names.keyword(text))),
            // There is only one namespace, so that `::id` is `:id`.
            Lexeme::Unknown => Shape::Literal(Value::Keyword(self.names.keyword(&text[1..]))),
            _ => Shape::Symbol(self.names.symbol(text)),
        };
        self.push(Form { shape, span });
        Ok(())
    }

    /// Adds a finished form to the innermost open level, after the prefixes that precede it.
    #[inline]
    fn push(&mut self, form: Form) {
        if self.pending.is_empty() {
            self.forms.push(form);
        } else {
            self.push_after_prefixes(form);
        }
    }

    #[cold]
    fn push_after_prefixes(&mut self, form: Form) {
        let form = prefix::applied(&mut self.pending, self.levels.len(), form);
        self.forms.extend(form);
    }

    /// `@`, `^`, `#_` or a quote before a form.
    fn prefix(&mut self, lexeme: Lexeme, span: Span) -> Result<(), Error> {
        if self.dialect == Dialect::Reference {
            let is_discard = lexeme == Lexeme::Discard;
            return Err(if is_discard { fault::discard(span) } else { fault::unknown(self.source, span) });
        }
        // A prefix makes a form around the next one.
        let most = PROGRAM_NESTING.usual() as usize;
        if self.levels.len() + self.pending.len() > most {
            return Err(fault::too_deep(most, span));
        }
        let prefix = Prefix::of(span.text(self.source));
        self.pending.push(PendingPrefix { prefix, span, level: self.levels.len() });
        Ok(())
    }

    /// Fails if a prefix at this level has no form after it.
    fn check_pending(&self) -> Result<(), Error> {
        match self.pending.last() {
            Some(last) if last.level >= self.levels.len() => Err(fault::no_form_after(self.source, last.span)),
            _ => Ok(()),
        }
    }

    fn open(&mut self, opener: Opener, span: Span) -> Result<(), Error> {
        let byte_before = span.start.checked_sub(1).and_then(|before| self.source.as_bytes().get(before));
        let after_quote = byte_before == Some(&b'\'') && !matches!(opener, Opener::Set | Opener::Short);
        // A name may end in a quote, and so may a character.
        let is_name = |form: &Form| form.span.end == span.start && !matches!(form.shape, Shape::Literal(_));
        if after_quote && self.forms.last().is_some_and(is_name) {
            return Err(fault::quoted_bracket(Span::new(span.start - 1, span.end)));
        }
        self.levels.push(Level { opener, span, before: self.forms.len() });
        Ok(())
    }

    fn close(&mut self, bracket: Bracket, span: Span) -> Result<(), Error> {
        if !self.levels.is_empty() {
            self.check_pending()?;
        }
        let Some(level) = self.levels.pop() else { return Ok(()) };
        if level.opener.bracket() != bracket {
            return Err(fault::mismatch(self.source, level.opener, level.span, bracket, span));
        }
        let whole = Span::new(level.span.start, span.end);
        let forms: Rc<[Form]> = self.forms.drain(level.before..).collect();
        let shape = match level.opener {
            Opener::List => Shape::List(forms),
            Opener::Vector => Shape::Vector(forms),
            Opener::Map if forms.len() % 2 == 1 => return Err(fault::uneven_map(forms.len(), whole)),
            Opener::Map => Shape::Map(forms),
            Opener::Set => Shape::Set(forms),
            Opener::Short => Shape::Short(forms),
        };
        self.push(Form { shape, span: whole });
        Ok(())
    }

    fn finish(self) -> Result<Vec<Form>, Error> {
        if !self.levels.is_empty() {
            let open: Vec<_> = self.levels.iter().map(|level| (level.opener, level.span)).collect();
            return Err(fault::unclosed(self.source, &open));
        }
        self.check_pending()?;
        if self.names.too_many() {
            return Err(fault::too_many_names(self.names.most));
        }
        Ok(self.forms)
    }
}

/// The distinct names of a program, each interned once. Names beyond the limit are not interned, because interned names
/// live until the process ends.
struct Names<'a> {
    most: usize,
    /// By text; a keyword has its colon, a symbol has none.
    seen: HashMap<&'a str, Keyword>,
}

impl<'a> Names<'a> {
    /// No names yet; about `expected` are expected.
    fn new(most: usize, expected: usize) -> Self {
        Self { most, seen: HashMap::with_capacity(expected.min(most).min(MOST_EXPECTED_NAMES)) }
    }

    fn too_many(&self) -> bool {
        self.seen.len() > self.most
    }

    fn symbol(&mut self, text: &'a str) -> Keyword {
        self.name(text, text)
    }

    fn keyword(&mut self, text: &'a str) -> Keyword {
        self.name(text, &text[1..])
    }

    /// A program with too many names is rejected at its end, so names beyond the limit do not matter. Interned names are
    /// no larger than the text and outlive the program: counting them would charge the first program that has them.
    fn name(&mut self, text: &'a str, name: &str) -> Keyword {
        let (seen, most) = (self.seen.len(), self.most);
        match self.seen.entry(text) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(_) if seen > most => Keyword::intern(""),
            Entry::Vacant(new) => *new.insert(uncounted(|| Keyword::intern(if seen < most { name } else { "" }))),
        }
    }
}
