//! What parts of a loss are attributed to that no finding explains. What grew is as in the
//! catalogue of growth, and what a finding explains is its culprit.

super::metrics! {
    /// Parts that grew and are small.
    SMALLER = "account-smaller-parts", "{value|smaller part|smaller parts}";
    /// Stops of which nothing explains why they take so long, and the finding that lists them.
    OTHER_STOPS = "account-other-stops", "why the other stops take so long[; finding {finding#} lists them]";
    /// Nothing that was recorded shows it.
    NOT_KNOWN = "account-not-known", "not known";
}
