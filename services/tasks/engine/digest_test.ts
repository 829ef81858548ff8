import { assertEquals, assertThrows } from "@std/assert";
import { SeededRandom } from "../../../tests/support/seeded_random.ts";
import { rememberingLast, sha256 } from "./digest.ts";

Deno.test("sha256() gives the digests that others give", () => {
  // FIPS 180-2, B.1, and the digest of nothing, in base64url without padding.
  assertEquals(sha256("abc"), "ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0");
  assertEquals(sha256(""), "47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU");
});

Deno.test("sha256() digests the UTF-8 of a text", () => {
  const digest = "Qc22-QoQuB97sLhlTkaaiGa40kmI0bsnBtrcNkGo2zs";
  assertEquals(sha256("\u00e4\u{1f600}"), digest);
});

/** A digest that can be read, and what it was asked for. */
function noting(): {
  readonly digest: (text: string) => string;
  readonly asked: string[];
} {
  const asked: string[] = [];
  return {
    asked,
    digest(text) {
      asked.push(text);
      return `<${text}>`;
    },
  };
}

Deno.test("rememberingLast() digests a text once while it is asked for in a row", () => {
  const { digest, asked } = noting();
  const remembering = rememberingLast(digest);
  assertEquals(["a", "a", "a"].map(remembering), ["<a>", "<a>", "<a>"]);
  assertEquals(asked, ["a"]);
});

Deno.test("rememberingLast() gives each text its own digest", () => {
  const { digest, asked } = noting();
  const remembering = rememberingLast(digest);
  const texts = ["", "a", "", "b", "b", "a", "A", "a "];
  assertEquals(texts.map(remembering), texts.map((text) => `<${text}>`));
  // The last one alone is remembered.
  assertEquals(asked, ["", "a", "", "b", "a", "A", "a "]);
});

Deno.test("rememberingLast() asks for the text of no length as for any other", () => {
  const { digest, asked } = noting();
  const remembering = rememberingLast(digest);
  assertEquals([remembering(""), remembering("")], ["<>", "<>"]);
  assertEquals(asked, [""]);
});

Deno.test("rememberingLast() forgets nothing and keeps nothing of a digest that fails", () => {
  let isBroken = false;
  const { digest, asked } = noting();
  const remembering = rememberingLast((text) => {
    if (isBroken) throw new RangeError("too long");
    return digest(text);
  });
  remembering("a");
  isBroken = true;
  assertThrows(() => remembering("b"), RangeError);
  assertThrows(() => remembering("b"), RangeError);
  assertEquals(remembering("a"), "<a>");
  isBroken = false;
  assertEquals(remembering("b"), "<b>");
  assertEquals(asked, ["a", "b"]);
});

Deno.test("rememberingLast() remembers for each of its users alone", () => {
  const [first, second] = [noting(), noting()];
  const digests = [first, second].map(({ digest }) => rememberingLast(digest));
  assertEquals(digests.map((digest) => digest("a")), ["<a>", "<a>"]);
  assertEquals([first.asked, second.asked], [["a"], ["a"]]);
});

Deno.test("rememberingLast() of sha256() is sha256()", () => {
  const random = new SeededRandom(5);
  const remembering = rememberingLast(sha256);
  for (let round = 0; round < 500; round++) {
    const text = random.pick(["", "a", "b", "a record", "a record "]);
    assertEquals(remembering(text), sha256(text));
  }
});
