import { assertEquals } from "@std/assert";
import { parseBase64Key } from "./base64_key.ts";

const KEY = new Uint8Array(32).fill(0xfb);
const TEXT = KEY.toBase64();

Deno.test("parseBase64Key() reads both alphabets, with and without padding", () => {
  const forUrls = TEXT.replaceAll("+", "-").replaceAll("/", "_");
  for (const text of [TEXT, forUrls]) {
    assertEquals(parseBase64Key(text), KEY);
    assertEquals(parseBase64Key(text.replace("=", "")), KEY);
  }
});

Deno.test("parseBase64Key() gives undefined when the text is of another length", () => {
  for (const bytes of [0, 16, 31, 33, 64]) {
    const text = new Uint8Array(bytes).fill(7).toBase64();
    assertEquals(parseBase64Key(text), undefined, text);
  }
});

Deno.test("parseBase64Key() gives undefined when a letter is none of base64", () => {
  for (const letter of ["*", " ", "=", "é", "\n"]) {
    assertEquals(parseBase64Key(letter + TEXT.slice(1)), undefined, letter);
  }
  assertEquals(parseBase64Key(`${TEXT}=`), undefined);
  assertEquals(parseBase64Key(`${TEXT}\n`), undefined);
});

Deno.test("parseBase64Key() gives undefined when bits stand beyond the last byte", () => {
  // The last letter of 43 holds four bits; the two below them must be zero.
  const letters = TEXT.slice(0, 42);
  assertEquals(parseBase64Key(`${letters}s=`), KEY);
  assertEquals(parseBase64Key(`${letters}t=`), undefined);
});
