import { assert, assertEquals } from "@std/assert";
import { HeaderTexts } from "../../../tests/support/h2_peer.ts";
import { SeededRandom } from "../../../tests/support/seeded_random.ts";
import { percentEncoded, ResponseHeaders } from "./response_headers.ts";

const HEADERS = [":status: 200", "content-type: application/grpc"];
const OK_TRAILERS = ["grpc-status: 0"];

Deno.test("ResponseHeaders takes three bytes for the blocks of later answers", () => {
  const headers = new ResponseHeaders();
  const texts = new HeaderTexts();
  // Two answers may both be begun before one of them ends.
  assertEquals(texts.decode(headers.headers()), HEADERS);
  assertEquals(texts.decode(headers.headers()), HEADERS);
  assertEquals(texts.decode(headers.okTrailers()), OK_TRAILERS);
  assertEquals(headers.headers().length, 2);
  assertEquals(headers.okTrailers().length, 1);
  assertEquals(texts.decode(headers.headers()), HEADERS);
  assertEquals(texts.decode(headers.okTrailers()), OK_TRAILERS);
});

Deno.test("ResponseHeaders is understood whatever tables the peer allows", () => {
  const random = new SeededRandom(8);
  for (let round = 0; round < 200; round++) {
    const headers = new ResponseHeaders();
    const texts = new HeaderTexts();
    for (let step = 0; step < 40; step++) {
      if (random.chance(0.2)) {
        const sizes = [0, 40, 104, 255, 256, 4_096, 65_536];
        const size = random.pick(sizes);
        const least = Math.min(size, random.pick(sizes));
        headers.resize(size, least);
        // What a correct peer does (RFC 7541, section 4.2).
        texts.resize(Math.min(least, 4_096));
      }
      const [block, expected] = random.pick([
        () => [headers.headers(), HEADERS] as const,
        () => [headers.okTrailers(), OK_TRAILERS] as const,
        () =>
          [
            headers.trailers({ code: 5, message: "gone 100%" }),
            ["grpc-status: 5", "grpc-message: gone 100%25"],
          ] as const,
        () =>
          [
            headers.trailersOnly({
              code: 12,
              message: "",
              tellsEncodings: true,
            }),
            [...HEADERS, "grpc-status: 12", "grpc-accept-encoding: identity"],
          ] as const,
        () => [headers.httpStatus(415), [":status: 415"]] as const,
      ])();
      assertEquals(texts.decode(block), [...expected]);
    }
  }
});

Deno.test("percentEncoded() keeps printable ASCII but for the percent sign", () => {
  const encode = (text: string): string =>
    percentEncoded(new TextEncoder().encode(text));
  assertEquals(encode(" ~a%b"), " ~a%25b");
  assertEquals(encode("a\nb\u007f"), "a%0Ab%7F");
  assertEquals(encode("é"), "%C3%A9");
  assertEquals(decodeURIComponent(encode("日本 🦀")), "日本 🦀");
});

Deno.test("percentEncoded() cuts long texts between characters", () => {
  const text = percentEncoded(new TextEncoder().encode("🦀".repeat(5_000)));
  assert(text.length >= 4_096 && text.length < 4_200);
  assertEquals(decodeURIComponent(text).replaceAll("🦀", ""), "");
});
