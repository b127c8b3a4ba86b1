// Generated from the code: `FATHOM_BLESS=1 cargo test -p fathom-render typescript`.

/** Which version of the data a server has: what its page asks for again and again. */
export type ServerState = {
  /** Counts up with each change. */
  version: number;
  /** Whether the recording is still being written. */
  live: boolean;
};
