//! Reading rows of text tables: CSV and TSV, one record at a time.
//!
//! In: a reader, the separator. Out: records of cells (RFC 4180: quotes around a cell, doubled quotes in it, line ends inside quotes), or
//! the problem. A record above [`MOST_ROW_BYTES`] is refused, so that a missing quote does not read the file into memory.

use std::io::{self, BufRead};

/// Maximum bytes of a row of any file of cases.
pub(super) const MOST_ROW_BYTES: usize = 4 << 20;

/// Records of a text table.
pub(super) struct Records<R> {
    reader: R,
    separator: u8,
    /// Reading a record of several lines needs the lines joined.
    line: Vec<u8>,
}

impl<R: BufRead> Records<R> {
    pub(super) fn new(reader: R, separator: u8) -> Self {
        Self { reader, separator, line: Vec::new() }
    }

    /// The next record; `None` at the end. Blank lines are skipped. Errors: of the file, or of its form.
    pub(super) fn next_record(&mut self) -> io::Result<Option<Vec<String>>> {
        loop {
            self.line.clear();
            if !self.read_line()? {
                return Ok(None);
            }
            if !trimmed(&self.line).is_empty() {
                break;
            }
        }
        // A line end inside quotes belongs to the cell.
        while has_open_quote(&self.line) {
            if !self.read_line()? {
                return Err(invalid("a quoted cell does not end"));
            }
        }
        cells(trimmed(&self.line), self.separator).map(Some)
    }

    fn read_line(&mut self) -> io::Result<bool> {
        let room = MOST_ROW_BYTES.saturating_sub(self.line.len());
        let read = io::Read::take(&mut self.reader, room as u64 + 1).read_until(b'\n', &mut self.line)?;
        if read > room {
            return Err(invalid("a row is larger than 4 MiB; is a quote missing?"));
        }
        Ok(read > 0)
    }
}

/// Returns whether a quoted cell continues after these bytes. Doubled quotes cancel out.
fn has_open_quote(bytes: &[u8]) -> bool {
    bytes.iter().fold(false, |is_open, byte| is_open != (*byte == b'"'))
}

fn invalid(why: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why.into())
}

/// The line without its end.
pub(super) fn trimmed(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// The cells of a record.
fn cells(record: &[u8], separator: u8) -> io::Result<Vec<String>> {
    let (mut cells, mut rest) = (Vec::new(), record);
    loop {
        let (cell, after) = if let Some(inside) = rest.strip_prefix(b"\"") {
            quoted(inside)?
        } else {
            let end = rest.iter().position(|byte| *byte == separator).unwrap_or(rest.len());
            (rest[..end].to_vec(), &rest[end..])
        };
        cells.push(String::from_utf8(cell).map_err(|_| invalid("a row is not UTF-8 text"))?);
        match after {
            [] => return Ok(cells),
            [next, more @ ..] if *next == separator => rest = more,
            _ => return Err(invalid("a cell has text after its closing quote")),
        }
    }
}

/// The content of a quoted cell, and what follows its closing quote.
fn quoted(inside: &[u8]) -> io::Result<(Vec<u8>, &[u8])> {
    let (mut cell, mut rest) = (Vec::new(), inside);
    loop {
        let end = rest.iter().position(|byte| *byte == b'"').ok_or_else(|| invalid("a quoted cell does not end"))?;
        cell.extend_from_slice(&rest[..end]);
        match rest.get(end + 1) {
            Some(b'"') => {
                cell.push(b'"');
                rest = &rest[end + 2..];
            }
            _ => return Ok((cell, &rest[end + 1..])),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, separator: u8) -> Result<Vec<Vec<String>>, String> {
        let mut records = Records::new(text.as_bytes(), separator);
        let mut all = Vec::new();
        while let Some(record) = records.next_record().map_err(|error| error.to_string())? {
            all.push(record);
        }
        Ok(all)
    }

    #[test]
    fn cells_are_read_as_rfc_4180_has_them() {
        let known: [(&str, &[&[&str]]); 7] = [
            ("a,b\r\n1,2\r\n", &[&["a", "b"], &["1", "2"]]),
            ("a,b\n1,", &[&["a", "b"], &["1", ""]]),
            ("\"a,b\",c\n", &[&["a,b", "c"]]),
            ("\"say \"\"x\"\"\"\n", &[&["say \"x\""]]),
            ("\"two\nlines\",2\n\n3,4\n", &[&["two\nlines", "2"], &["3", "4"]]),
            ("\"\",x\n", &[&["", "x"]]),
            ("größe,ß\n", &[&["größe", "ß"]]),
        ];
        for (text, expected) in known {
            let expected: Vec<Vec<String>> =
                expected.iter().map(|record| record.iter().map(|cell| (*cell).to_owned()).collect()).collect();
            assert_eq!(read(text, b','), Ok(expected), "{text:?}");
        }
        assert_eq!(read("a\tb,c\n", b'\t').unwrap(), [["a", "b,c"]]);
    }

    #[test]
    fn a_record_without_its_form_is_a_problem() {
        assert!(read("\"a\n", b',').unwrap_err().contains("does not end"));
        assert!(read("\"a\"b\"\"\n", b',').unwrap_err().contains("after its closing quote"));
        assert!(read(&"x".repeat(MOST_ROW_BYTES + 1), b',').unwrap_err().contains("larger than 4 MiB"));
    }

    #[test]
    fn every_table_of_cells_is_read_as_it_was_written() {
        use proptest::prelude::*;
        let cell = "[a-z,\"\n\r ü]{0,6}";
        let row = proptest::collection::vec(cell, 2..4);
        let check = |rows: Vec<Vec<String>>| {
            let quoted = |cell: &String| format!("\"{}\"", cell.replace('"', "\"\""));
            let line = |row: &Vec<String>| row.iter().map(quoted).collect::<Vec<_>>().join(",");
            let text: String = rows.iter().map(|row| line(row) + "\n").collect();
            prop_assert_eq!(read(&text, b','), Ok(rows));
            Ok(())
        };
        let config = ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() };
        proptest::test_runner::TestRunner::new(config).run(&proptest::collection::vec(row, 0..4), check).unwrap();
    }
}
