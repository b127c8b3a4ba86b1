import { describe, expect, it } from "vitest";

import { axisQuantity, between, count, duration, moment, momentDigits, quantity, share, ticks } from "./format";

const plain = (text: string) => text.replace(/\u202f/g, " ");

describe("figures", () => {
  it("keep three digits and a fitting unit", () => {
    expect([12, 12_300, 312_100, 3e6, 999.6e6, 7.123e9, 1192e9].map(duration).map(plain)).toEqual([
      "12 ns",
      "12.3 µs",
      "312 µs",
      "3.00 ms",
      "1.00 s",
      "7.12 s",
      "19 min 52 s",
    ]);
    expect(duration(NaN)).toBe("unknown");
  });
  it("do not round a small share to nothing nor a large one to all", () => {
    expect([0, 0.0004, 0.042, 0.9996, 1, 1.87].map(share).map(plain)).toEqual([
      "0%",
      "< 0.1%",
      "4.2%",
      "99.9%",
      "100%",
      "187%",
    ]);
    expect(share(null)).toBe("");
  });
  it("count bytes as the JVM does", () => {
    expect(plain(quantity(1536, "bytes"))).toBe("1.50 kB");
    expect(plain(quantity(4 * 2 ** 30, "bytes"))).toBe("4.00 GB");
    expect(quantity(NaN, "bytes")).toBe("–");
  });
  it("stand with their unit, and counts with their digits in threes", () => {
    expect(plain(quantity(396.24, "tx/s"))).toBe("396 tx/s");
    expect(plain(count(1_234_567))).toBe("1,234,567");
    expect(plain(axisQuantity(250_000, "ops/s"))).toBe("250 k");
  });
});

describe("moments", () => {
  it("get as many digits as distinguish them in the view", () => {
    expect([600e9, 10e9, 1e9, 1e6, 0].map(momentDigits)).toEqual([1, 2, 3, 6, 3]);
    expect(plain(moment(-35.9e9))).toBe("−35.9 s");
    expect(plain(moment(-0.03e9))).toBe("0.0 s");
  });
});

describe("what is below nothing", () => {
  it("has one sign, whatever it is a figure of", () => {
    const all = [
      duration(-1500),
      duration(-5),
      duration(-700e9),
      share(-0.04),
      count(-1234),
      quantity(-2048, "bytes"),
      moment(-2e9),
    ];
    for (const text of all) expect(text).toMatch(/^−\d/);
    expect(plain(quantity(-0.001, "ops/s"))).toBe("0.00 ops/s");
  });
});

describe("a window", () => {
  it("has two distinct ends, however short it is", () => {
    expect(plain(between(93.812e9, 93.84e9))).toBe("93.812 s – 93.840 s");
    expect(plain(between(29.2e9, 94.4e9))).toBe("29.2 s – 94.4 s");
  });
});

describe("ticks", () => {
  it("are round and within the range", () => {
    expect(ticks(-36, 251, 9)).toEqual([0, 50, 100, 150, 200, 250]);
    expect(ticks(0, 0, 9)).toEqual([]);
    expect(ticks(5, NaN, 9)).toEqual([]);
  });
});
