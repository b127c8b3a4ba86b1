//! `fathom demo`.
