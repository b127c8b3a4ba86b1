//! Names of classes, methods and native functions in one spelling, whatever tool wrote them.
//!
//! "package.Class.method" without signature; lambda and other hidden classes without the suffix
//! that makes each of them unique, so that a million of them are one frame; C++ and Rust demangled.

use std::borrow::Cow;

/// A class: "java/lang/String" or "java.lang.String", "Main$$Lambda+0x00007f…/1234", "[B".
pub(crate) fn class(name: &str) -> String {
    without_address(name).replace('/', ".")
}

/// A class as it is written in Java: "[B" is "byte[]", "[Ljava.lang.String;" is
/// "java.lang.String[]".
pub(crate) fn class_as_written(name: &str) -> String {
    // A class has 255 dimensions at most (JVMS 4.4.1).
    let dimensions = name.bytes().take_while(|byte| *byte == b'[').count().min(255);
    let element = &name[dimensions..];
    let element = match (dimensions, element) {
        (0, class) => class,
        (_, "Z") => "boolean",
        (_, "B") => "byte",
        (_, "C") => "char",
        (_, "D") => "double",
        (_, "F") => "float",
        (_, "I") => "int",
        (_, "J") => "long",
        (_, "S") => "short",
        (_, class) => class.strip_prefix('L').and_then(|name| name.strip_suffix(';')).unwrap_or(class),
    };
    class(element) + &"[]".repeat(dimensions)
}

/// A method with its class, which may be hidden: "Main$$Lambda.0x00007f….run".
pub(crate) fn method(name: &str) -> Cow<'_, str> {
    if may_have_address(name) || name.contains('$') { without_address(name) } else { Cow::Borrowed(name) }
}

/// Whether "0x" occurs in a name: nearly all have none, and searching for two bytes is quicker than
/// searching for a text.
fn may_have_address(name: &str) -> bool {
    name.as_bytes().windows(2).any(|two| two == b"0x")
}

/// Removes the address from the name of a hidden class, and the number from a lambda's.
///
/// `Main$$Lambda$14/0x0000000800c03000` up to JDK 17 or so, `Main$$Lambda/0x000001bc01000400`
/// since, with `+` or `.` for the slash in flight recordings and stack traces.
fn without_address(name: &str) -> Cow<'_, str> {
    let mut name = Cow::Borrowed(name);
    while may_have_address(&name)
        && let Some(at) = ["/0x", "+0x", ".0x"].iter().find_map(|mark| name.find(mark))
    {
        let digits = name[at + 3..].bytes().take_while(u8::is_ascii_hexdigit).count();
        if digits < 4 {
            break;
        }
        let mut end = at + 3 + digits;
        // "+0x00007f…/1234567": the identity hash of the class follows it.
        if let Some(hash) = name[end..].strip_prefix('/') {
            end += 1 + hash.bytes().take_while(u8::is_ascii_digit).count();
        }
        name = Cow::Owned(format!("{}{}", &name[..at], &name[end..]));
    }
    match name.find("$$Lambda$") {
        Some(at) => {
            let from = at + "$$Lambda".len();
            let digits = name[from + 1..].bytes().take_while(u8::is_ascii_digit).count();
            Cow::Owned(format!("{}{}", &name[..from], &name[from + 1 + digits..]))
        }
        None => name,
    }
}

/// A native function: demangled where it is mangled.
pub(crate) fn native(name: &str) -> Cow<'_, str> {
    if name.starts_with("_Z")
        && let Ok(symbol) = cpp_demangle::Symbol::new(name)
        && let Ok(text) = symbol.demangle()
    {
        return Cow::Owned(text);
    }
    if name.starts_with("_R")
        && let Ok(symbol) = rustc_demangle::try_demangle(name)
    {
        return Cow::Owned(format!("{symbol:#}"));
    }
    Cow::Borrowed(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_classes_lose_what_makes_each_of_them_unique() {
        assert_eq!(class("Main$$Lambda$14/0x0000000800c03000"), "Main$$Lambda");
        assert_eq!(class("a/Main$$Lambda+0x00007f2a4c000a00/123456"), "a.Main$$Lambda");
        assert_eq!(
            class("java/lang/invoke/LambdaForm$MH+0x000001bc01000400"),
            "java.lang.invoke.LambdaForm$MH"
        );
        assert_eq!(method("a.Main$$Lambda.0x00007f2a4c000a00.run"), "a.Main$$Lambda.run");
        assert_eq!(method("a.Main$$Lambda$7.run"), "a.Main$$Lambda.run");
        assert_eq!(method("a.B.at.0x1"), "a.B.at.0x1");
        assert_eq!(class("[Ljava/lang/String;"), "[Ljava.lang.String;");
    }

    #[test]
    fn arrays_are_written_as_in_java() {
        assert_eq!(class_as_written("[[B"), "byte[][]");
        assert_eq!(class_as_written("[Ljava/lang/String;"), "java.lang.String[]");
        assert_eq!(class_as_written("a/B$C"), "a.B$C");
        assert_eq!(class_as_written("["), "[]");
    }

    #[test]
    fn mangled_names_are_read() {
        assert_eq!(native("_ZN10JavaThread3runEv"), "JavaThread::run()");
        assert_eq!(native("_Zonk"), "_Zonk");
        assert_eq!(native("start_thread"), "start_thread");
    }
}
