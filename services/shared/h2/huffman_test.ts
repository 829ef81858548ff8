import { assert, assertEquals } from "@std/assert";
import { SeededRandom } from "../../../tests/support/seeded_random.ts";
import { huffmanCodes, HuffmanDecoder, HuffmanSteps } from "./huffman.ts";

const decoder = new HuffmanDecoder(new HuffmanSteps());

Deno.test("huffmanCodes() gives out every code once and leaves none", () => {
  const { codes, lengths } = huffmanCodes();
  assertEquals(codes.length, 257);
  assertEquals(
    lengths.reduce((share, length) => share + 2 ** -length, 0),
    1,
  );
  // From RFC 7541, appendix B.
  assertEquals([codes[48], lengths[48]], [0x0, 5]);
  assertEquals([codes[92], lengths[92]], [0x7fff0, 19]);
  assertEquals([codes[199], lengths[199]], [0x1ffffec, 25]);
  assertEquals([codes[249], lengths[249]], [0xffffffe, 28]);
  assertEquals([codes[256], lengths[256]], [0x3fffffff, 30]);
});

Deno.test("HuffmanDecoder decodes the strings of RFC 7541, appendix C", () => {
  for (
    const [hex, text] of [
      ["f1e3c2e5f23a6ba0ab90f4ff", "www.example.com"],
      ["a8eb10649cbf", "no-cache"],
      ["25a849e95ba97d7f", "custom-key"],
      ["25a849e95bb8e8b4bf", "custom-value"],
      ["6402", "302"],
      ["9d29ad171863c78f0b97c8e9ae82ae43d3", "https://www.example.com"],
      ["", ""],
    ] as const
  ) {
    assertEquals(decode(Uint8Array.fromHex(hex)), textBytes(text));
  }
});

Deno.test("HuffmanDecoder decodes what has been encoded", () => {
  const random = new SeededRandom(1);
  assertEquals(
    decode(encode(Uint8Array.from({ length: 256 }, (_, at) => at))),
    Uint8Array.from({ length: 256 }, (_, at) => at),
  );
  for (let round = 0; round < 500; round++) {
    const bytes = random.bytes(random.below(300));
    assertEquals(decode(encode(bytes)), bytes);
  }
});

Deno.test("HuffmanDecoder refuses padding that is too long or not of ones", () => {
  // "0" is 00000: three bits of padding follow.
  assertEquals(decode(Uint8Array.of(0b00000_111)), textBytes("0"));
  for (let padding = 0; padding < 7; padding++) {
    const step = decode(Uint8Array.of(padding));
    // Some paddings are the beginning of another code, none is an end.
    assertEquals(step, undefined, String(padding));
  }
  assertEquals(decode(Uint8Array.of(0b00000_111, 0xff)), undefined);
  assertEquals(decode(Uint8Array.of(0xff)), undefined);
});

Deno.test("HuffmanDecoder refuses the end of string within a string", () => {
  assertEquals(decode(Uint8Array.of(0xff, 0xff, 0xff, 0xff)), undefined);
  assertEquals(decode(Uint8Array.of(0xff, 0xff, 0xff, 0xfc, 7)), undefined);
});

Deno.test("HuffmanDecoder never throws, whatever it is given", () => {
  const random = new SeededRandom(2);
  let refused = 0;
  for (let round = 0; round < 2_000; round++) {
    const bytes = random.bytes(random.below(60));
    const text = decode(bytes);
    if (text === undefined) refused++;
    // Accepted bytes are the only encoding of their text.
    else assertEquals(encode(text), bytes);
  }
  assert(refused > 0 && refused < 2_000);
});

function decode(bytes: Uint8Array): Uint8Array | undefined {
  const span = { bytes, start: 0, end: bytes.length };
  if (!decoder.decode(span)) return undefined;
  return span.bytes.slice(span.start, span.end);
}

function encode(bytes: Uint8Array): Uint8Array {
  const { codes, lengths } = huffmanCodes();
  let bits = "";
  for (const byte of bytes) {
    bits += codes[byte]!.toString(2).padStart(lengths[byte]!, "0");
  }
  bits += "1".repeat((8 - bits.length % 8) % 8);
  return Uint8Array.from(
    bits.match(/.{8}/g) ?? [],
    (byte) => Number.parseInt(byte, 2),
  );
}

function textBytes(text: string): Uint8Array {
  return Uint8Array.from(text, (char) => char.charCodeAt(0));
}
