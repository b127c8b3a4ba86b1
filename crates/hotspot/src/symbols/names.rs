//! How classes are called in a recording (crates/recording, `vocabulary::frame`).

/// "java.lang.String" of the JVM's "java/lang/String". The suffix that makes a hidden class unique
/// is left out, so that the same lambda has the same name in every run:
/// "Foo$$Lambda$14+0x0000000800c03000" (JDK 15 on) and "Foo$$Lambda$14/1234" (before) are
/// "Foo$$Lambda"; "LambdaForm$MH+0x…" is "LambdaForm$MH".
pub(crate) fn class_name(internal: &str) -> String {
    let mut name = internal;
    if let Some((class, address)) = name.rsplit_once(['+', '/'])
        && (address.starts_with("0x") || is_number(address))
    {
        name = class;
    }
    if let Some((class, number)) = name.rsplit_once("$$Lambda$")
        && is_number(number)
    {
        name = &name[..class.len() + "$$Lambda".len()];
    }
    name.replace('/', ".")
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::class_name;

    #[test]
    fn names_are_the_same_in_every_run() {
        for (internal, name) in [
            ("java/lang/String", "java.lang.String"),
            ("Main", "Main"),
            ("a/b/Main$$Lambda$14+0x0000000800c03000", "a.b.Main$$Lambda"),
            ("a/b/Main$$Lambda+0x00007f1234567890", "a.b.Main$$Lambda"),
            ("a/b/Main$$Lambda$14/1234567", "a.b.Main$$Lambda"),
            ("a/b/Main$$Lambda$7", "a.b.Main$$Lambda"),
            ("java/lang/invoke/LambdaForm$MH+0x0000000800c00400", "java.lang.invoke.LambdaForm$MH"),
            ("java/lang/invoke/LambdaForm$MH/0x0000000800c00400", "java.lang.invoke.LambdaForm$MH"),
            ("com/sun/proxy/$Proxy12", "com.sun.proxy.$Proxy12"),
            ("a/$$Lambda$x", "a.$$Lambda$x"),
            ("", ""),
        ] {
            assert_eq!(class_name(internal), name);
        }
    }
}
