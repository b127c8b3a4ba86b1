//! Turns panics of the decoding libraries into errors.
//!
//! `parquet` and `arrow-ipc` 60.1 check most of what they read, but not all: a changed byte makes
//! them divide by zero (`byte_array.rs:391`) or slice beyond a buffer
//! (`Buffer::slice_with_length`). A damaged recording must not end the program, so they decode
//! untrusted bytes in here. It relies on `panic = "unwind"`, which all of our profiles have.

use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

thread_local! {
    /// Whether a panic of this thread is expected and need not be printed.
    static CONTAINED: Cell<bool> = const { Cell::new(false) };
}

/// Runs `decode`; a panic in it becomes an error with its message. What `decode` was changing must
/// not be used after an error.
pub(super) fn catch_panic<T>(decode: impl FnOnce() -> T) -> Result<T, String> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let print = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !CONTAINED.get() {
                print(info);
            }
        }));
    });
    let before = CONTAINED.replace(true);
    let result = panic::catch_unwind(AssertUnwindSafe(decode));
    CONTAINED.set(before);
    result.map_err(|payload| {
        let text = payload.downcast_ref::<&str>().copied();
        let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
        format!("it cannot be decoded ({})", text.unwrap_or("no reason given"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_an_error_with_its_message() {
        assert_eq!(catch_panic(|| 7), Ok(7));
        let zero = std::hint::black_box(0);
        let error = catch_panic(|| 1 / zero).unwrap_err();
        assert_eq!(error, "it cannot be decoded (attempt to divide by zero)");
    }
}
