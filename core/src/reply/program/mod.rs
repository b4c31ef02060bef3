//! From a model's reply to a program.
//!
//! In: the reply, the recovery level and how the reply ended. Out: the program's text with the extraction rule, its
//! span, its fixes and the message for the history, or the reason why there is no program. Only text and brackets are
//! considered; the language decides whether the text can be read. Linear time.

mod block;
mod fix;
mod normal;
#[cfg(test)]
mod tests;

use super::{Finish, Recovery, reasoning};
use crate::reasons::Reason;
use crate::text::Span;
use block::{Block, End, Tag};
use fix::FirstList;
pub use fix::{ProgramFix, ProgramFixKind};
use normal::NormalizedReply;

/// A program found in a reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// Its text, as it runs.
    pub text: String,
    /// The rule that found it.
    pub rule: ProgramRule,
    /// Its span in the reply.
    pub span: Span,
    /// The fixes made.
    pub fixes: Vec<ProgramFix>,
}

/// The rules of search, in the order of trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ProgramRule {
    /// A block tagged as a program.
    TaggedBlock,
    /// Another block whose content starts with a parenthesis.
    Block,
    /// A tagged block that the reply does not close.
    OpenBlock,
    /// `<clojure>…</clojure>` or `<lisp>…</lisp>`.
    Element,
    /// The reply itself.
    Reply,
}

/// The reason why a reply gives no program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NoProgram {
    /// The reply was cut at the output limit.
    Truncated,
    /// There are several programs; their number.
    Several(usize),
    /// There is none.
    Absent,
}

impl ProgramRule {
    /// The stable name, as records show it.
    pub fn name(self) -> &'static str {
        match self {
            Self::TaggedBlock => "tagged_block",
            Self::Block => "block",
            Self::OpenBlock => "open_block",
            Self::Element => "element",
            Self::Reply => "reply",
        }
    }
}

impl NoProgram {
    /// The stable reason.
    pub fn reason(self) -> Reason {
        match self {
            Self::Truncated => Reason::ReplyTruncated,
            Self::Several(_) => Reason::MultipleCodeBlocks,
            Self::Absent => Reason::NoCodeInResponse,
        }
    }

    /// The problem and its correction, for the model.
    pub fn message(self) -> String {
        match self {
            Self::Truncated => "The reply was cut at the output limit, so its program was not run. Write a shorter reply.".into(),
            Self::Several(count) => format!(
                "The reply contains {count} programs and none of them was run. Reply with exactly one program in one fenced block tagged clojure."
            ),
            Self::Absent => {
                "The reply contains no program. Reply with exactly one program in a fenced block tagged clojure:\n```clojure\n(return 42)\n```"
                    .into()
            }
        }
    }
}

impl Program {
    /// The reply for the history: the program in one block, without surrounding prose.
    pub fn history(&self) -> String {
        let gap = if self.text.is_empty() { "" } else { "\n" };
        format!("```clojure\n{}{gap}```", self.text)
    }
}

/// Finds the program in a reply.
///
/// All levels normalize the text. Strict accepts exactly one tagged block, or a reply that is the program. Standard
/// also accepts other blocks, elements, blocks that are closed after text, a tagged block without an end, and a program
/// at the start of a reply. Lenient also accepts the first of several tagged blocks.
pub fn program(reply: &str, recovery: Recovery, finish: Finish) -> Result<Program, NoProgram> {
    whole(finish)?;
    let normal = NormalizedReply::of(reply);
    Search::of(&normal, recovery).run()
}

/// The first code block of a reply, tagged or not. A block of another language does not count, nor one with an unknown
/// tag that does not start with a parenthesis. A reply without such a block is handled as in [`program`].
pub fn first_program(reply: &str, recovery: Recovery, finish: Finish) -> Result<Program, NoProgram> {
    whole(finish)?;
    let normal = NormalizedReply::of(reply);
    let search = Search::of(&normal, recovery);
    search.first().map_or_else(|| search.run(), Ok)
}

/// Rejects a truncated reply.
fn whole(finish: Finish) -> Result<(), NoProgram> {
    if finish == Finish::Truncated { Err(NoProgram::Truncated) } else { Ok(()) }
}

struct Search<'a> {
    normal: &'a NormalizedReply,
    /// The reply without its reasoning.
    parts: Vec<Span>,
    /// The blocks in them.
    blocks: Vec<Block>,
    recovery: Recovery,
}

/// The result of one way of searching; `None` if it finds nothing.
type Found = Option<Result<Program, NoProgram>>;

impl<'a> Search<'a> {
    fn of(normal: &'a NormalizedReply, recovery: Recovery) -> Self {
        let parts = reasoning::rest(&normal.text, &reasoning::find(&normal.text));
        let blocks = parts.iter().flat_map(|part| block::find(&normal.text, *part)).collect();
        Self { normal, parts, blocks, recovery }
    }

    fn run(&self) -> Result<Program, NoProgram> {
        let tagged = self.tagged(Tag::Program).or_else(|| self.tagged(Tag::Alias));
        let found = match self.recovery {
            Recovery::Strict => tagged.or_else(|| self.reply()),
            Recovery::Standard | Recovery::Lenient => tagged
                .or_else(|| self.other(FirstList::Bare))
                .or_else(|| self.other(FirstList::BehindComments))
                .or_else(|| self.open())
                .or_else(|| self.elements())
                .or_else(|| self.reply()),
        };
        found.unwrap_or(Err(NoProgram::Absent))
    }

    /// The first block that is code.
    fn first(&self) -> Option<Program> {
        let is_code = |block: &&Block| {
            let text = block.content.text(&self.normal.text);
            match block.tag {
                Tag::Program | Tag::Alias => true,
                Tag::Untagged => !text.trim().is_empty(),
                Tag::Other => fix::starts_with_list(text, FirstList::BehindComments),
                Tag::Foreign => false,
            }
        };
        let mut code = self.blocks.iter().filter(|block| block.end != End::Open).filter(is_code);
        let (first, last) = (code.next()?, code.next_back());
        let rule = match first.tag {
            Tag::Program | Tag::Alias => ProgramRule::TaggedBlock,
            Tag::Untagged | Tag::Other | Tag::Foreign => ProgramRule::Block,
        };
        let mut program = self.in_block(rule, first);
        program.fixes.extend(last.map(|last| self.omission(first, last)));
        Some(program)
    }

    fn tagged(&self, tag: Tag) -> Found {
        let is_here = |block: &&Block| match block.end {
            End::Line => block.tag == tag,
            End::Inline => block.tag == tag && self.recovery != Recovery::Strict,
            End::Open => false,
        };
        match self.blocks.iter().filter(is_here).collect::<Vec<_>>().as_slice() {
            [] => None,
            [only] => Some(Ok(self.in_block(ProgramRule::TaggedBlock, only))),
            [first, .., last] if self.recovery == Recovery::Lenient => {
                let mut program = self.in_block(ProgramRule::TaggedBlock, first);
                program.fixes.push(self.omission(first, last));
                Some(Ok(program))
            }
            several => Some(Err(NoProgram::Several(several.len()))),
        }
    }

    /// Blocks whose tags do not mark them as programs.
    fn other(&self, start: FirstList) -> Found {
        let is_code = |block: &&Block| {
            let is_other = matches!(block.tag, Tag::Untagged | Tag::Other) && block.end != End::Open;
            is_other && fix::starts_with_list(block.content.text(&self.normal.text), start)
        };
        match self.blocks.iter().filter(is_code).collect::<Vec<_>>().as_slice() {
            [] => None,
            [only] => Some(Ok(self.in_block(ProgramRule::Block, only))),
            several => Some(Err(NoProgram::Several(several.len()))),
        }
    }

    /// A tagged block up to the end of the reply: the only block that remains open.
    fn open(&self) -> Found {
        let is_here = |block: &&Block| block.end == End::Open && matches!(block.tag, Tag::Program | Tag::Alias);
        let block = self.blocks.iter().find(is_here)?;
        let mut program = self.program(ProgramRule::OpenBlock, block.content);
        program.fixes.push(self.fix(ProgramFixKind::OpenBlock, block.content));
        Some(Ok(program))
    }

    fn elements(&self) -> Found {
        let contents: Vec<_> = self.parts.iter().flat_map(|part| block::elements(&self.normal.text, *part)).collect();
        match contents.as_slice() {
            [] => None,
            [only] => Some(Ok(self.program(ProgramRule::Element, *only))),
            several => Some(Err(NoProgram::Several(several.len()))),
        }
    }

    /// A reply that starts with a program. The text after it belongs to it, unless it cannot be read and is not code.
    fn reply(&self) -> Found {
        let text = &self.normal.text;
        let part = *self.parts.iter().find(|part| fix::starts_with_list(part.text(text), FirstList::BehindComments))?;
        let cut = match self.recovery {
            Recovery::Strict => None,
            Recovery::Standard | Recovery::Lenient => fix::prose_start(part.text(text)).map(|at| part.start + at),
        };
        let mut program = self.program(ProgramRule::Reply, Span::new(part.start, cut.unwrap_or(part.end)));
        if let Some(cut) = cut {
            program.fixes.push(self.fix(ProgramFixKind::TrailingProse, Span::new(cut, part.end)));
        }
        Some(Ok(program))
    }

    /// The program in a closed block.
    fn in_block(&self, rule: ProgramRule, block: &Block) -> Program {
        let mut program = self.program(rule, block.content);
        if block.end == End::Inline {
            let fence = Span::new(block.content.end, block.content.end + block::FENCE.len());
            program.fixes.push(self.fix(ProgramFixKind::InlineFence, fence));
        }
        program
    }

    /// The fix that records the omission of everything after the first block up to the last one.
    fn omission(&self, first: &Block, last: &Block) -> ProgramFix {
        self.fix(ProgramFixKind::FirstOfSeveral, Span::new(first.content.end, last.content.end))
    }

    fn program(&self, rule: ProgramRule, content: Span) -> Program {
        let content = reasoning::trim(&self.normal.text, content);
        let (text, kinds) = fix::clean(content.text(&self.normal.text));
        let fixes = kinds.into_iter().map(|kind| self.fix(kind, content)).collect();
        Program { text, rule, span: self.normal.origin(content), fixes }
    }

    fn fix(&self, kind: ProgramFixKind, at: Span) -> ProgramFix {
        ProgramFix { kind, at: self.normal.origin(at) }
    }
}
