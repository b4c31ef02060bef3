//! `screenshot`: a screen of the interface as an SVG file. Who draws is the caller's business.

use futures::future::BoxFuture;

use super::arguments::ScreenshotFlags;
use super::output::{UsageError, exit, print_note, unwritable};
use crate::export::Content;
use crate::workbench::files::{check_place, write_whole};

/// Draws a screen by name at a size in columns and rows, as SVG. Errors name the known screens.
pub type Draw<'a> = &'a dyn Fn(String, (u16, u16)) -> BoxFuture<'static, Result<String, String>>;

/// Draws the screen of a session's events.
pub type Picture<'a> = &'a dyn Fn(&Content, (u16, u16)) -> String;

/// Checks the settings of the interface; the error has a line for each wrong one.
pub type CheckSettings<'a> = &'a dyn Fn() -> Result<(), String>;

/// Services of the interface for commands: it draws pictures and checks its settings.
#[derive(Clone, Copy)]
pub struct InterfaceServices<'a> {
    /// Keys and theme of the configuration.
    pub check: CheckSettings<'a>,
    /// A screen by name.
    pub screen: Draw<'a>,
    /// The screen of one session.
    pub session: Picture<'a>,
}

/// First bytes of an SVG file: a file that begins otherwise is not replaced.
const SVG: &str = "<svg";

/// Largest picture, in columns and rows.
const LARGEST: (u16, u16) = (400, 200);

pub(super) async fn screenshot(flags: &ScreenshotFlags, draw: Draw<'_>) -> Result<u8, UsageError> {
    let size = size(&flags.size)?;
    let svg = draw(flags.screen.clone(), size).await.map_err(UsageError)?;
    check_place(&flags.output, SVG)
        .and_then(|()| write_whole(&flags.output, svg.as_bytes()))
        .map_err(|error| unwritable(&flags.output, &error))?;
    print_note(&format!("{} drawn into {}", flags.screen, flags.output.display()));
    Ok(exit::OK)
}

/// Columns and rows, written `120x40`.
pub(super) fn size(text: &str) -> Result<(u16, u16), UsageError> {
    let parts = text.split_once('x').and_then(|(columns, rows)| Some((columns.parse().ok()?, rows.parse().ok()?)));
    match parts {
        Some((columns, rows)) if (1..=LARGEST.0).contains(&columns) && (1..=LARGEST.1).contains(&rows) => {
            Ok((columns, rows))
        }
        _ => Err(UsageError(format!(
            "--size {text}: write columns and rows, such as 120x40, up to {}x{}",
            LARGEST.0, LARGEST.1
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_and_bounded() {
        assert_eq!(size("120x40").ok(), Some((120, 40)));
        for wrong in ["120", "x", "0x10", "401x10", "10x201", "ax b", "-1x5"] {
            assert!(size(wrong).is_err(), "{wrong}");
        }
    }
}
