// Names come from logs. Controls and marks that turn text around are shown as
// their code, never obeyed.

// The same characters as crates/render/src/printable.rs.
const ACTIVE =
  /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]/gu;

/** The text with every character that would not simply be shown replaced by its code. */
export function printable(text: string): string {
  return text.replace(ACTIVE, (c) =>
    c === "\n" || c === "\t" || c === "\r" ? " " : `\\u{${(c.codePointAt(0) ?? 0).toString(16)}}`,
  );
}

/** JSON read with every string in it made printable. */
export function parsePrintable(json: string): unknown {
  return JSON.parse(json, (_key, value: unknown) => (typeof value === "string" ? printable(value) : value));
}
