//! The account of the loss: one bar of all of it, cut among the findings and what none of them
//! explains.

use fathom_diagnose::{ChargeKind, Diagnosis};

use super::LABEL;
use super::page::{Ink, Page};
use crate::text::{right, width};
use crate::units;

/// Columns of the bar.
const BAR: usize = 40;

impl Page {
    /// The bar, and below it a line for each part: its number among the findings, its share and
    /// its name.
    pub(super) fn account(&mut self, diagnosis: &Diagnosis) {
        let account = &diagnosis.account;
        if account.len() < 2 || account.iter().all(|charge| charge.finding.is_none()) {
            return;
        }
        let mut bar = String::new();
        let mut until = 0.0;
        for charge in account {
            let from = (until * BAR as f64).round() as usize;
            until = (until + charge.share.clamp(0.0, 1.0)).min(1.0);
            let columns = ((until * BAR as f64).round() as usize).saturating_sub(from);
            bar.push_str(&self.sign(charge.finding).to_string().repeat(columns));
        }
        self.line(&[(Ink::Plain, &" ".repeat(LABEL + 3)), (Ink::Accent, &bar)]);
        for charge in account {
            let number = charge.finding.map_or(String::from(" "), |i| format!("{}", i + 1));
            let words = match charge.kind {
                ChargeKind::Finding => charge.to.to_string(),
                ChargeKind::NotKnown => "not explained, and nothing recorded shows it".to_owned(),
                _ => format!("not explained: {}", charge.to),
            };
            let sign = self.sign(charge.finding);
            let figures =
                format!("{}{sign} {number} {}  ", " ".repeat(LABEL), right(&units::share(charge.share), 6));
            self.columns((&figures, width(&figures), Ink::Accent), &words, "");
        }
    }

    /// What fills the bar: findings alternately, so that two that follow each other can be
    /// distinguished; what is not explained is light.
    fn sign(&self, finding: Option<usize>) -> char {
        match (finding.map(|i| i % 2), self.options.unicode) {
            (Some(0), true) => '█',
            (Some(_), true) => '▓',
            (None, true) => '░',
            (Some(0), false) => '#',
            (Some(_), false) => '=',
            (None, false) => '.',
        }
    }
}
