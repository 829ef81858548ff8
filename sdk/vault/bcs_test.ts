import { assertEquals, assertThrows } from "@std/assert";
import { bcs } from "npm:@mysten/bcs@^2.1.2";
import { SeededRandom } from "../../tests/support/seeded_random.ts";
import { encodeHex } from "../memory/encodings.ts";
import { addressBytes, BcsError, BcsReader, BcsWriter } from "./bcs.ts";

const ADDRESS = `0x${"0123456789abcdef".repeat(4)}`;

Deno.test("BcsWriter writes lengths as the specification's examples", () => {
  const examples: readonly (readonly [number, string])[] = [
    [0, "00"],
    [1, "01"],
    [127, "7f"],
    [128, "8001"],
    [9487, "8f4a"],
    [16_383, "ff7f"],
    [16_384, "808001"],
    [0x7fff_ffff, "ffffffff07"],
  ];
  for (const [value, hex] of examples) {
    const bytes = new BcsWriter().length(value).toBytes();
    assertEquals(encodeHex(bytes), hex);
    assertEquals(new BcsReader(bytes).length({ max: 0x7fff_ffff }), value);
  }
});

Deno.test("BcsWriter and BcsReader agree with another library on random values", () => {
  const random = new SeededRandom(7);
  const whole = (below: number) => random.below(below);
  const type = bcs.struct("All", {
    small: bcs.u8(),
    medium: bcs.u16(),
    large: bcs.u32(),
    long: bcs.u64(),
    flag: bcs.bool(),
    text: bcs.string(),
    data: bcs.byteVector(),
    list: bcs.vector(bcs.u16()),
    maybe: bcs.option(bcs.u8()),
    id: bcs.bytes(32),
  });
  for (let round = 0; round < 300; round++) {
    const value = {
      small: whole(256),
      medium: whole(65_536),
      large: whole(2 ** 32),
      long: BigInt(whole(2 ** 32)) << BigInt(whole(32)),
      flag: random.chance(0.5),
      text: "aé😀".slice(0, whole(4)).toWellFormed().repeat(whole(90)),
      data: random.bytes(whole(400)),
      list: Array.from({ length: whole(300) }, () => whole(65_536)),
      maybe: random.chance(0.5) ? whole(256) : undefined,
      id: random.bytes(32),
    };
    const theirs = type.serialize({ ...value, maybe: value.maybe ?? null })
      .toBytes();
    const ours = new BcsWriter().u8(value.small).u16(value.medium)
      .u32(value.large).u64(value.long).bool(value.flag).string(value.text)
      .byteVector(value.data)
      .vector(value.list, (writer, item) => writer.u16(item))
      .option(value.maybe, (writer, item) => writer.u8(item))
      .address(`0x${encodeHex(value.id)}`).toBytes();
    assertEquals(ours, new Uint8Array(theirs));
    const reader = new BcsReader(ours);
    assertEquals({
      small: reader.u8(),
      medium: reader.u16(),
      large: reader.u32(),
      long: reader.u64(),
      flag: reader.bool(),
      text: reader.string(),
      data: new Uint8Array(reader.byteVector()),
      list: reader.vector(1_000, (each) => each.u16()),
      maybe: reader.option((each) => each.u8()),
      id: addressBytes(reader.address()),
    }, value);
    reader.end();
  }
});

Deno.test("BcsReader refuses what is not canonical or ends too early", () => {
  const read = (
    bytes: readonly number[],
    how: (reader: BcsReader) => unknown,
  ) => assertThrows(() => how(new BcsReader(Uint8Array.from(bytes))), BcsError);
  read([0x80, 0x00], (reader) => reader.length({ max: 9 }));
  read([0x81, 0x80, 0x00], (reader) => reader.length({ max: 9 }));
  read([0xff, 0xff, 0xff, 0xff, 0x7f], (reader) => reader.length({ max: 9 }));
  read(
    [0xff, 0xff, 0xff, 0xff, 0xff, 0x01],
    (reader) => reader.length({ max: 2 ** 40 }),
  );
  read([10], (reader) => reader.length({ max: 9 }));
  read([2], (reader) => reader.bool());
  read([2, 0], (reader) => reader.option((each) => each.u8()));
  read([1, 0xff], (reader) => reader.string());
  read([1, 2, 3], (reader) => reader.u32());
  read([1, 2, 3], (reader) => reader.address());
  read([5, 1, 2], (reader) => reader.byteVector());
  read([3, 1, 2, 3], (reader) => reader.byteVector({ maxBytes: 2 }));
  read([0xff, 0xff, 0x03], (reader) => reader.vector(99, (each) => each.u8()));
  read([1], (reader) => reader.end());
  read([], (reader) => reader.u8());
});

Deno.test("BcsWriter refuses what does not fit", () => {
  assertThrows(() => new BcsWriter().u8(256), RangeError);
  assertThrows(() => new BcsWriter().u64(-1n), RangeError);
  assertThrows(() => new BcsWriter().u64(1n << 64n), RangeError);
  assertThrows(() => new BcsWriter().length(-1), RangeError);
  assertThrows(() => new BcsWriter().address("0x12"), RangeError);
  assertThrows(() => new BcsWriter().address(ADDRESS.slice(2)), RangeError);
});
