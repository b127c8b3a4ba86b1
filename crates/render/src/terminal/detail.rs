//! How much of a verdict is shown, from generous to scarce.

/// How much to show.
pub(super) struct Detail {
    /// Findings with evidence and remedy; the others get one line each.
    pub(super) full: usize,
    /// Findings in all.
    pub(super) findings: usize,
    /// Evidence lines of the first finding, and of each other.
    pub(super) evidence: (usize, usize),
    /// Lines of a chain, or of a stop's parts.
    pub(super) chain: usize,
    /// Whether to explain what a finding means and why it is as sure as it is.
    pub(super) explain: bool,
    /// Remedies of a finding.
    pub(super) remedies: usize,
    /// Rows of each of the lists below the findings.
    pub(super) ruled_out: usize,
    pub(super) not_seen: usize,
    pub(super) warnings: usize,
    pub(super) ledger: usize,
}

/// From generous to scarce; the first that fits the screen is taken, the last in any case.
pub(super) const DETAILS: [Detail; 7] = [
    Detail {
        full: 3,
        findings: 6,
        evidence: (4, 3),
        chain: 5,
        explain: true,
        remedies: 2,
        ruled_out: 12,
        not_seen: 6,
        warnings: 4,
        ledger: 10,
    },
    Detail {
        full: 2,
        findings: 6,
        evidence: (4, 3),
        chain: 5,
        explain: true,
        remedies: 2,
        ruled_out: 6,
        not_seen: 4,
        warnings: 3,
        ledger: 7,
    },
    Detail {
        full: 2,
        findings: 5,
        evidence: (4, 2),
        chain: 4,
        explain: true,
        remedies: 2,
        ruled_out: 4,
        not_seen: 2,
        warnings: 2,
        ledger: 4,
    },
    Detail {
        full: 2,
        findings: 5,
        evidence: (4, 2),
        chain: 4,
        explain: false,
        remedies: 2,
        ruled_out: 5,
        not_seen: 3,
        warnings: 2,
        ledger: 5,
    },
    Detail {
        full: 1,
        findings: 4,
        evidence: (4, 2),
        chain: 3,
        explain: false,
        remedies: 2,
        ruled_out: 3,
        not_seen: 2,
        warnings: 1,
        ledger: 4,
    },
    Detail {
        full: 1,
        findings: 3,
        evidence: (3, 1),
        chain: 2,
        explain: false,
        remedies: 1,
        ruled_out: 2,
        not_seen: 1,
        warnings: 1,
        ledger: 2,
    },
    Detail {
        full: 1,
        findings: 2,
        evidence: (2, 1),
        chain: 2,
        explain: false,
        remedies: 1,
        ruled_out: 2,
        not_seen: 1,
        warnings: 1,
        ledger: 2,
    },
];
