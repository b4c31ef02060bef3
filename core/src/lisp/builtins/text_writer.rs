//! Text written incrementally for a running program; its size need not follow from the size of the arguments.

use std::fmt::{self, Write};

use crate::limits::JSON_DEPTH;
use crate::lisp::machine::Machine;
use crate::lisp::{Error, EvalResult, Halt};
use crate::reasons::Reason;
use crate::value::number::shortest;
use crate::value::{Bounds, Value};

/// Bytes of memory reserved at a time, at least.
const CHUNK: usize = 4_096;

/// Texts up to this many bytes are not reserved.
const SMALL: usize = 256;
/// Bytes estimated for a number.
const NUMBER: usize = 8;

/// A growing text. Values with shared parts can be huge when printed; writing stops at the memory limit.
#[derive(Default)]
pub(super) struct TextWriter {
    text: String,
    /// Bytes reserved so far.
    reserved: usize,
}

impl TextWriter {
    /// An empty text with capacity for [`TextWriter::plain`] of these values, if that is small.
    pub(super) fn of<'v>(values: impl IntoIterator<Item = &'v Value>) -> Self {
        let length = |value: &Value| match value {
            Value::Nil => 0,
            Value::Str(text) => text.len(),
            Value::Int(int) => digits(*int),
            _ => NUMBER,
        };
        let room = values.into_iter().map(length).fold(0, usize::saturating_add);
        Self { text: String::with_capacity(if room > SMALL { 0 } else { room }), reserved: 0 }
    }

    /// Appends a text unchanged.
    pub(super) fn push(&mut self, machine: &mut Machine<'_>, text: &str) -> EvalResult<()> {
        let length = self.text.len() + text.len();
        if length > self.reserved.max(SMALL) {
            self.reserved = length.saturating_mul(2).max(CHUNK);
            machine.reserve(self.reserved)?;
        }
        machine.ticks(1 + text.len() / 16)?;
        self.text.push_str(text);
        Ok(())
    }

    /// Appends a value as `str` does: nothing for nil, strings unchanged.
    pub(super) fn plain(&mut self, machine: &mut Machine<'_>, value: &Value) -> EvalResult<()> {
        match value {
            Value::Nil => Ok(()),
            Value::Str(text) => self.push(machine, text),
            Value::Int(int) => {
                machine.tick()?;
                push_integer(&mut self.text, *int);
                Ok(())
            }
            Value::Float(float) => self.push(machine, &shortest(*float)),
            Value::Instant(at) => self.push(machine, &at.to_string()),
            Value::Date(day) => self.push(machine, &day.to_string()),
            other => self.readable(machine, other),
        }
    }

    /// Appends the readable form of a value; `runtime_error` if it is nested too deeply to be printed completely.
    pub(super) fn readable(&mut self, machine: &mut Machine<'_>, value: &Value) -> EvalResult<()> {
        let floats = machine.float_digits();
        let mut sink = Sink { written: self, machine, halt: None };
        match (value.write_floats(&mut sink, Bounds::default(), floats), sink.halt) {
            (Err(_), Some(halt)) => Err(halt),
            // Only shortened output is bounded.
            (Ok(true), _) => {
                let problem = format!(
                    "the value is nested deeper than {} levels and cannot be printed completely",
                    JSON_DEPTH.max
                );
                Error::new(Reason::RuntimeError, problem).hint("Print its parts one by one").halt()
            }
            _ => Ok(()),
        }
    }

    /// The finished text as a string.
    pub(super) fn into_text(self) -> String {
        self.text
    }

    /// The finished text as a value.
    pub(super) fn finish(self) -> Value {
        self.text.into()
    }
}

/// Length of an integer in decimal digits, sign included.
fn digits(int: i64) -> usize {
    1 + int.unsigned_abs().checked_ilog10().unwrap_or(0) as usize + usize::from(int < 0)
}

/// Appends an integer; small ones without a formatter, which would take most of the time.
fn push_integer(text: &mut String, int: i64) {
    match u32::try_from(int) {
        Ok(int) if int < 100_000 => {
            let mut places = 10_u32.pow(int.checked_ilog10().unwrap_or(0));
            while places > 0 {
                text.push(char::from_digit(int / places % 10, 10).unwrap_or('0'));
                places /= 10;
            }
        }
        _ => text.push_str(&int.to_string()),
    }
}

/// A number as a float.
pub(super) fn float(value: &Value) -> Option<f64> {
    match value {
        #[expect(clippy::cast_precision_loss, reason = "the nearest float is what is wanted")]
        Value::Int(number) => Some(*number as f64),
        Value::Big(number) => num_traits::ToPrimitive::to_f64(&**number),
        Value::Float(number) => Some(*number),
        _ => None,
    }
}

/// The destination of the printer.
struct Sink<'w, 'm, 'h> {
    written: &'w mut TextWriter,
    machine: &'m mut Machine<'h>,
    halt: Option<Box<Halt>>,
}

impl Write for Sink<'_, '_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.written.push(self.machine, text).map_err(|halt| {
            self.halt = Some(halt);
            fmt::Error
        })
    }
}
