// The lanes as they are in the page: base64 of raw deflate of
//   u32 (little endian) length of the header · header (JSON) · columns, one after the other.
// Columns are what is big: delta-coded times, small integers, 32-bit floats. Written by
// crates/render/src/payload.rs.

import { type Header, LANES_SCHEMA, type Named, type Lane as Written } from "./generated/lanes";
import type { Column } from "./generated/payload";
import type { Counted, Fact, Group, Lane, Lanes } from "./model";
import { parsePrintable } from "./printable";

/** Unpacks the text of the lanes' script tag. */
export async function decodeLanes(base64: string): Promise<Lanes> {
  return readLanes(await inflate(base64));
}

/** The bytes behind the text of a script element. */
export async function inflate(base64: string): Promise<Uint8Array> {
  return unpack(fromBase64(base64.trim()));
}

/** Deflated bytes, inflated. */
export async function unpack(packed: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** Reads the unpacked form. */
export function readLanes(bytes: Uint8Array): Lanes {
  const { header, columns } = readHeaderAndColumns<Header>(bytes, LANES_SCHEMA);
  const named = (list: Named[]): Fact[] => list.map((c) => ({ ...c, values: columns[c.values] }));
  const lane = (raw: Written): Lane =>
    raw.type === "lines"
      ? { ...raw, lines: raw.lines.map((l) => ({ ...l, t: columns[l.t], v: columns[l.v] })) }
      : {
          ...raw,
          t0: columns[raw.t0],
          duration: columns[raw.duration],
          cls: columns[raw.cls],
          row: columns[raw.row],
          name: columns[raw.name],
          source: columns[raw.source],
          line: columns[raw.line],
          stack: raw.stack === null ? null : columns[raw.stack],
          thread: raw.thread === null ? null : columns[raw.thread],
          parts: named(raw.parts),
          facts: named(raw.facts),
          labels: named(raw.labels),
        };
  const groups: Group[] = header.groups.map((g) => ({ ...g, lanes: g.lanes.map(lane) }));
  const { origin_ns: originNs, from, to, strings, sources } = header;
  const ledger = header.ledger && {
    ...header.ledger,
    edges: columns[header.ledger.edges],
    groupings: header.ledger.groupings.map((g) => ({ ...g, spent: columns[g.spent] })),
  };
  const counted = header.counted.map(
    (raw): Counted => ({
      ...raw,
      t0: columns[raw.t0],
      duration: columns[raw.duration],
      name: columns[raw.name],
      thread: columns[raw.thread],
      count: columns[raw.count],
      time: columns[raw.time],
    }),
  );
  const recorded = { from: header.recorded[0], to: header.recorded[1] };
  return { originNs, from, to, recorded, strings, sources, groups, counted, ledger };
}

/** What every payload is: a header of a schema, and columns. */
export function readHeaderAndColumns<H extends { schema: string }>(
  bytes: Uint8Array,
  schema: string,
): { header: H; columns: Float64Array[] } {
  const length = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true);
  const { columns: coded, ...rest } = parsePrintable(new TextDecoder().decode(bytes.subarray(4, 4 + length))) as H & {
    columns: Column[];
  };
  const header = rest as unknown as H;
  if (header.schema !== schema) throw new Error(`data of an unknown kind: ${header.schema}`);
  let at = 4 + length;
  const columns = coded.map((column) => {
    const block = bytes.subarray(at, at + column.bytes);
    at += column.bytes;
    return readColumn(block, column);
  });
  return { header, columns };
}

function readColumn(block: Uint8Array, column: Column): Float64Array {
  if (column.as === "f32") {
    // The block need not be aligned, so it is copied.
    return Float64Array.from(new Float32Array(block.slice().buffer));
  }
  const values = new Float64Array(column.n);
  if (column.as === "planes") {
    // All lowest bytes, then all next ones.
    for (let from = 0, scale = 1; from < block.length; from += column.n, scale *= 256) {
      for (let i = 0; i < column.n; i++) values[i] += block[from + i] * scale;
    }
    return values;
  }
  const delta = column.as === "delta";
  let at = 0;
  let sum = 0;
  for (let i = 0; i < column.n; i++) {
    // Most numbers have one to four bytes and fit an integer of the machine.
    let byte = block[at++];
    let value = byte & 0x7f;
    for (let shift = 7; byte >= 0x80 && shift < 28; shift += 7) {
      byte = block[at++];
      value |= (byte & 0x7f) << shift;
    }
    if (byte >= 0x80) {
      let large = value;
      // Multiplied rather than shifted: values pass 32 bits.
      for (let scale = 2 ** 28; byte >= 0x80; scale *= 128) {
        byte = block[at++];
        large += (byte & 0x7f) * scale;
      }
      if (delta) values[i] = sum += large % 2 === 0 ? large / 2 : -(large + 1) / 2;
      else values[i] = large;
    } else if (delta) values[i] = sum += (value >>> 1) ^ -(value & 1);
    else values[i] = value;
  }
  return values;
}

function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  const native = (Uint8Array as unknown as { fromBase64?: (text: string) => Uint8Array<ArrayBuffer> }).fromBase64;
  if (native) return native.call(Uint8Array, text);
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}
