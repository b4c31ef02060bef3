//! `inspect`: audits a file without any effect: what it would do, and suspicious content.

use super::arguments::InspectFlags;
use super::output::{UsageError, exit, print_json, print_line, print_note, safe_line};
use crate::workbench::Workbench;
use crate::workbench::audit::{Audit, AuditConsent, AuditLine};
use crate::workbench::format::plural;

pub(super) async fn inspect(flags: &InspectFlags, workbench: &Workbench) -> Result<u8, UsageError> {
    let audit = workbench.audit(&flags.file).await.map_err(UsageError)?;
    if flags.json {
        print_json(&audit);
    } else {
        print(&audit);
    }
    Ok(if audit.needs_consent { exit::FAILED } else { exit::OK })
}

fn print(audit: &Audit) {
    print_line(&safe_line(&format!("{} {}", audit.kind.name(), audit.file)));
    for line in &audit.lines {
        print_line(&safe_line(&head(line)));
        for (name, value) in &line.details {
            print_line(&safe_line(&format!("            {name}: {value}")));
        }
    }
    for odd in &audit.odd {
        print_line(&safe_line(&format!("odd       {}: {}", odd.at, odd.what)));
    }
    if audit.lines.is_empty() && audit.odd.is_empty() {
        print_line("it reads, starts, contacts and sends nothing");
    }
    let needed = audit.lines.iter().filter(|line| line.consent == AuditConsent::Needed).count() as u64;
    if needed > 0 {
        print_note(&format!("consent is needed for {}", plural(needed, "line")));
    }
}

fn head(line: &AuditLine) -> String {
    let consent = match line.consent {
        AuditConsent::NotNeeded => "",
        AuditConsent::Given => "  (allowed)",
        AuditConsent::Needed => "  (needs consent)",
    };
    let key = if line.key.is_empty() { String::new() } else { format!("  [{}]", line.key) };
    format!("{:<9} {}{key}{consent}", line.effect.name(), line.what)
}
