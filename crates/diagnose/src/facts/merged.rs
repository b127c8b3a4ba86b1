//! Findings that gave way to others which explain the same time.

super::metrics! {
    /// Another cause fits the same time: its rule, how sure it is, and its title.
    ALSO_FITS = "also-fits", "the same time also fits {rule} ({confidence}): {title}";
    /// A finding that is the sum of the others: its title, and the first of its evidence.
    IN_ALL = "in-all", "in all, {title}[; {first}]";
}
