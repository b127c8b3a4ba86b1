import { deflateRawSync } from "node:zlib";

import { describe, expect, it } from "vitest";

import { LANES_SCHEMA } from "./generated/lanes";
import { decodeLanes } from "./payload";
import { printable } from "./printable";

/** The form that crates/render/src/payload.rs writes. */
function pack(header: object, columns: Uint8Array[]): string {
  const json = new TextEncoder().encode(JSON.stringify(header));
  const length = new Uint8Array(4);
  new DataView(length.buffer).setUint32(0, json.length, true);
  return deflateRawSync(Buffer.concat([length, json, ...columns])).toString("base64");
}

describe("the payload", () => {
  it("is read back: differences, small numbers, floats, and names made printable", async () => {
    const columns = [
      Uint8Array.from([10, 3, 0x80, 0x80, 0x80, 0x80, 0x80, 0x40]), // +5, −2, +2^40
      new Uint8Array(Float32Array.from([1.5, NaN, -3]).buffer),
    ];
    const header = {
      schema: LANES_SCHEMA,
      origin_ns: 7,
      from: 0,
      to: 9,
      recorded: [0, 9],
      strings: ["a\u202eb"],
      sources: [],
      counted: [],
      ledger: null,
      columns: [
        { as: "delta", n: 3, bytes: 8 },
        { as: "f32", n: 3, bytes: 12 },
      ],
      groups: [
        {
          name: "g",
          detail: "",
          lanes: [
            {
              type: "lines",
              id: "l",
              title: "l",
              unit: "",
              steps: false,
              note: "",
              lines: [{ name: "x", main: true, t: 0, v: 1 }],
            },
          ],
        },
      ],
    };
    const lanes = await decodeLanes(pack(header, columns));
    const lane = lanes.groups[0].lanes[0];
    expect(lanes.strings).toEqual(["a\\u{202e}b"]);
    if (lane.type !== "lines") throw new Error("a line lane was packed");
    expect([...lane.lines[0].t]).toEqual([5, 3, 3 + 2 ** 40]);
    expect([...lane.lines[0].v]).toEqual([1.5, NaN, -3]);
  });
  it("of another schema is refused", async () => {
    await expect(decodeLanes(pack({ schema: "fathom.lanes/9" }, []))).rejects.toThrow("unknown kind");
  });
});

describe("printable", () => {
  it("shows what would be obeyed and leaves what is plain", () => {
    expect(printable("日本 ü → ✓")).toBe("日本 ü → ✓");
    expect(printable("a\u001b[2J\u009b\u2067\u200b\u{e0041}\nb")).toBe(
      "a\\u{1b}[2J\\u{9b}\\u{2067}\\u{200b}\\u{e0041} b",
    );
  });
});
