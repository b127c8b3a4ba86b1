// Generated from the code: `FATHOM_BLESS=1 cargo test -p fathom-render typescript`.

export type Coding = "delta" | "varint" | "f32" | "planes";

/** What of a column stands in the header. */
export type Column = {
  /** How its numbers are coded. */
  as: Coding;
  /** How many there are. */
  n: number;
  /** How many bytes they take. */
  bytes: number;
};

/** Number of a column among all of a page. */
export type ColumnId = number;
