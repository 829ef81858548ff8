import { assertEquals } from "@std/assert";
import { rememberingLong, sha256 } from "./digest.ts";

Deno.test("sha256() gives the digests that others give", () => {
  // The vectors are from FIPS 180-2, B.1, and the digest of an empty text, in
  // base64url without padding.
  assertEquals(sha256("abc"), "ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0");
  assertEquals(sha256(""), "47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU");
});

Deno.test("sha256() digests the UTF-8 of a text", () => {
  const digest = "Qc22-QoQuB97sLhlTkaaiGa40kmI0bsnBtrcNkGo2zs";
  assertEquals(sha256("\u00e4\u{1f600}"), digest);
});

Deno.test("rememberingLong() digests a long text once, and gives each its own", () => {
  const asked: number[] = [];
  const remembering = rememberingLong((text) => {
    asked.push(text.length);
    return `<${text.length}>`;
  });
  const long = "a".repeat(3_000);
  const texts = [long, "a", `${long}b`, "a", long, `${long}b`];
  assertEquals(
    texts.map(remembering),
    texts.map(({ length }) => `<${length}>`),
  );
  assertEquals(asked, [3_000, 1, 3_001, 1]);
});

Deno.test("rememberingLong() remembers a bounded number of characters", () => {
  let asked = 0;
  const remembering = rememberingLong((text) => {
    asked++;
    return text;
  });
  const texts = [0, 1, 2, 3, 4].map((digit) => `${digit}`.repeat(1_000_000));
  for (const text of texts) remembering(text);
  assertEquals(asked, 5);
  // The fifth text has replaced the first in the cache.
  for (const text of texts.toReversed()) remembering(text);
  assertEquals(asked, 6);
});
