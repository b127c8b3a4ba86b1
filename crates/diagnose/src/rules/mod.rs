//! The rules, one file each, and the list of them.

use crate::Rule;

/// All rules. Of two findings that cost the same and are equally sure, the one listed first comes first.
pub const RULES: &[&dyn Rule] = &[];
