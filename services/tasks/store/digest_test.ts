import { assertEquals } from "@std/assert";
import { sha256 } from "./digest.ts";

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
