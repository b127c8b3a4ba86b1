//! Fields of methods and of what names them.

use super::{Constant, Field, Size, group};

group! {
    /// From a `Method*` to its class, name and lines (src/hotspot/share/oops/).
    MethodLayout {
        /// `Method`: its `ConstMethod*`.
        const_method: Field = ["Method._constMethod"];
        /// `Method`: the nmethod that is called for it; null: it is interpreted.
        code: Option<Field> = ["Method._code"];
        /// `Method`: access flags; native is 0x0100 as in the class file.
        access_flags: Field = ["Method._access_flags"];
        /// `sizeof(ConstMethod)`: where bytecodes begin.
        const_method_size_of: Size = ["ConstMethod"];
        /// `ConstMethod`: its `ConstantPool*`.
        constants: Field = ["ConstMethod._constants"];
        /// `ConstMethod`: words of all of it.
        const_method_words: Field = ["ConstMethod._constMethod_size"];
        /// `ConstMethod`: flags; one of them marks a line number table.
        flags: Field = ["ConstMethod._flags", "ConstMethod._flags._flags"];
        /// The flag of a line number table.
        has_line_numbers: Constant = [
            "ConstMethod::_has_linenumber_table", "ConstMethodFlags::_misc_has_linenumber_table"
        ];
        /// `ConstMethod`: bytes of bytecodes.
        code_size: Field = ["ConstMethod._code_size"];
        /// `ConstMethod`: index of its name in the constant pool.
        name_index: Field = ["ConstMethod._name_index"];
        /// `ConstMethod`: index of its signature.
        signature_index: Field = ["ConstMethod._signature_index"];
        /// `sizeof(ConstantPool)`: where its entries begin, 8 bytes each.
        pool_size_of: Size = ["ConstantPool"];
        /// `ConstantPool`: entries.
        pool_length: Field = ["ConstantPool._length"];
        /// `ConstantPool`: the class it belongs to.
        pool_holder: Field = ["ConstantPool._pool_holder"];
        /// `Klass`: its name, a `Symbol*`.
        klass_name: Field = ["Klass._name"];
        /// `Symbol`: bytes.
        symbol_length: Field = ["Symbol._length"];
        /// `Symbol`: where its bytes begin.
        symbol_body: Field = ["Symbol._body"];
    }
}
