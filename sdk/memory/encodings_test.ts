import { assertEquals } from "@std/assert";
import {
  decodeBech32,
  decodeHex,
  decodeUtf8,
  encodeHex,
  readableUtf8,
} from "./encodings.ts";
import { withGlobals } from "./testing/with_globals.ts";

Deno.test("decodeHex() undoes encodeHex() for every byte", () => {
  const bytes = Uint8Array.from({ length: 256 }, (_, at) => at);
  assertEquals(decodeHex(encodeHex(bytes)), bytes);
  assertEquals(decodeHex(encodeHex(bytes).toUpperCase()), bytes);
});

Deno.test("decodeHex() is undefined when the text is anything else", () => {
  for (const text of ["f", "0x", "0g", " 00", "00\n", "١٢", "+1"]) {
    assertEquals(decodeHex(text), undefined, text);
  }
  assertEquals(decodeHex(""), new Uint8Array(0));
});

const ALPHABET = "qpzry9x8gf2tvdw0s3jn54khce6mua7l";
const TEXT =
  "suiprivkey1qqrswpc8qurswpc8qurswpc8qurswpc8qurswpc8qurswpc8qurswxzszc4";

Deno.test("decodeBech32() reads the texts that BIP 173 calls valid", () => {
  assertEquals(decodeBech32("A12UEL5L"), {
    prefix: "a",
    bytes: new Uint8Array(0),
  });
  assertEquals(decodeBech32("a12uel5l")?.prefix, "a");
  const long =
    "an83characterlonghumanreadablepartthatcontainsthenumber1andthe" +
    "excludedcharactersbio1tt5tgs";
  assertEquals(decodeBech32(long)?.bytes.length, 0);
  const rest = decodeBech32(
    "abcdef1qpzry9x8gf2tvdw0s3jn54khce6mua7lmqqqxw",
  );
  assertEquals([...rest?.bytes ?? []].slice(0, 3), [0x00, 0x44, 0x32]);
});

Deno.test("decodeBech32() is undefined for the texts that BIP 173 calls invalid", () => {
  const invalid = [
    "\x201nwldj5",
    "\x7f1axkwrx",
    "\x801eym55h",
    "pzry9x0s0muk",
    "1pzry9x0s0muk",
    "x1b4n0q5v",
    "li1dgmt3",
    "de1lg7wt\xff",
    "A1G7SGD8",
    "10a06t8",
    "1qzzfhee",
    "A12uEL5L",
    "",
    "1",
  ];
  for (const text of invalid) assertEquals(decodeBech32(text), undefined, text);
});

Deno.test("decodeBech32() finds every slip of one letter, and every swap of neighbours", () => {
  assertEquals(decodeBech32(TEXT)?.bytes.length, 33);
  const start = TEXT.indexOf("1") + 1;
  for (let at = start; at < TEXT.length; at++) {
    for (const letter of ALPHABET) {
      if (letter === TEXT[at]) continue;
      const slip = TEXT.slice(0, at) + letter + TEXT.slice(at + 1);
      assertEquals(decodeBech32(slip), undefined, slip);
    }
    const [one, two] = [TEXT[at], TEXT[at + 1]];
    if (two === undefined || one === two) continue;
    const swap = TEXT.slice(0, at) + two + one + TEXT.slice(at + 2);
    assertEquals(decodeBech32(swap), undefined, swap);
  }
});

Deno.test("decodeUtf8() and readableUtf8() read the same without a TextDecoder", async () => {
  const texts = ["", "Zoë isst Brötchen 🥐", "\ufeffAda", "\0\x7f%41"].map((
    text,
  ) => new TextEncoder().encode(text));
  const broken = [[0xff], [0xc0, 0x80], [0xed, 0xa0, 0x80], [0x41, 0xf0, 0x9f]]
    .map((bytes) => Uint8Array.from(bytes));
  const all = [...texts, ...broken];
  const read = () =>
    all.map((bytes) => [
      decodeUtf8(bytes),
      decodeUtf8(bytes, { ignoreBOM: true }),
    ]);
  const wanted = read();
  assertEquals(wanted.slice(-1), [[undefined, undefined]]);
  assertEquals(readableUtf8(Uint8Array.of(0x41, 0xf0, 0x9f)), "A\ufffd");
  await withGlobals({ TextDecoder: undefined }, () => {
    assertEquals(read(), wanted);
    assertEquals(readableUtf8(texts[1]!), "Zoë isst Brötchen 🥐");
    assertEquals(readableUtf8(Uint8Array.of(0x41, 0xff)), "A\ufffd");
  });
});
