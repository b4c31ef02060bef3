//! JSON text directly to values, for programs: no intermediate tree, and equal short texts share their strings.
//!
//! The work is reported to the caller while it is done, who may stop it.

use super::JsonError;
use super::read::Reader;
use super::texts::SharedTexts;
use crate::value::{Map, Value};

/// Reads one JSON value, like [`super::parse`]. `report` gets the number of parts and bytes that should be charged; its
/// error stops the reading and is the outer error.
pub(crate) fn parse_value<E>(
    source: &str,
    report: impl FnMut(usize) -> Result<(), E>,
) -> Result<Result<Value, JsonError>, E> {
    let mut values = Values { reader: Reader::new(source), texts: SharedTexts::default(), report };
    match values.whole() {
        Ok(value) => Ok(Ok(value)),
        Err(ReadFailure::Invalid(error)) => Ok(Err(error)),
        Err(ReadFailure::Stopped(error)) => Err(error),
    }
}

enum ReadFailure<E> {
    Invalid(JsonError),
    Stopped(E),
}

impl<E> From<JsonError> for ReadFailure<E> {
    fn from(error: JsonError) -> Self {
        Self::Invalid(error)
    }
}

struct Values<'a, F> {
    reader: Reader<'a>,
    texts: SharedTexts<'a>,
    report: F,
}

impl<E, F: FnMut(usize) -> Result<(), E>> Values<'_, F> {
    fn whole(&mut self) -> Result<Value, ReadFailure<E>> {
        self.reader.space();
        let value = self.value()?;
        self.reader.space();
        if self.reader.peek().is_some() {
            return Err(self.reader.error("expected the end of the text").into());
        }
        Ok(value)
    }

    fn value(&mut self) -> Result<Value, ReadFailure<E>> {
        let start = self.reader.at;
        let value = match self.reader.peek() {
            Some(b'{') => {
                self.reader.enter()?;
                let map = self.object()?;
                self.reader.leave();
                map
            }
            Some(b'[') => {
                self.reader.enter()?;
                let list = self.list()?;
                self.reader.leave();
                list
            }
            _ => {
                let value = match self.reader.plain_string() {
                    Some(text) => self.texts.value(text),
                    None => self.reader.value()?.to_value(),
                };
                (self.report)((self.reader.at - start) / 16).map_err(ReadFailure::Stopped)?;
                return Ok(value);
            }
        };
        (self.report)(4).map_err(ReadFailure::Stopped)?;
        Ok(value)
    }

    fn key(&mut self) -> Result<Value, ReadFailure<E>> {
        if self.reader.peek() != Some(b'"') {
            return Err(self.reader.error("expected a key in double quotes").into());
        }
        match self.reader.plain_string() {
            Some(key) => Ok(self.texts.key(key)),
            None => Ok(self.reader.string()?.into()),
        }
    }

    fn list(&mut self) -> Result<Value, ReadFailure<E>> {
        let mut items = Vec::new();
        self.reader.space();
        if self.reader.peek() == Some(b']') {
            self.reader.at += 1;
            return Ok(items.into());
        }
        loop {
            self.reader.space();
            items.push(self.value()?);
            (self.report)(1).map_err(ReadFailure::Stopped)?;
            self.reader.space();
            match self.reader.peek() {
                Some(b',') => self.reader.at += 1,
                Some(b']') => {
                    self.reader.at += 1;
                    return Ok(items.into());
                }
                _ => return Err(self.reader.error("expected ',' or ']'").into()),
            }
        }
    }

    fn object(&mut self) -> Result<Value, ReadFailure<E>> {
        let mut entries = Vec::new();
        self.reader.space();
        if self.reader.peek() == Some(b'}') {
            self.reader.at += 1;
            return Ok(Map::default().into());
        }
        loop {
            self.reader.space();
            let key = self.key()?;
            self.reader.space();
            if self.reader.peek() != Some(b':') {
                return Err(self.reader.error("expected ':' after the key").into());
            }
            self.reader.at += 1;
            self.reader.space();
            entries.push((key, self.value()?));
            (self.report)(2).map_err(ReadFailure::Stopped)?;
            self.reader.space();
            match self.reader.peek() {
                Some(b',') => self.reader.at += 1,
                Some(b'}') => {
                    self.reader.at += 1;
                    return Ok(Value::map(entries));
                }
                _ => return Err(self.reader.error("expected ',' or '}'").into()),
            }
        }
    }
}
