import { assert, assertEquals, assertNotEquals } from "@std/assert";
import { gunzipSync } from "node:zlib";
import { acceptsGzip, CodedText } from "./coded_text.ts";

Deno.test("acceptsGzip() reads what clients say of codings", () => {
  const cases: readonly (readonly [string | undefined, boolean])[] = [
    [undefined, false],
    ["", false],
    ["identity", false],
    ["gzip", true],
    ["x-gzip", true],
    ["br, GZIP;q=0.5, deflate", true],
    ["*", true],
    ["*;q=0", false],
    ["gzip;q=0", false],
    ["gzip; q=0.000, *", false],
    ["*;q=0, gzip", true],
    ["gzipped", false],
    [`gzip,${" ".repeat(2_000)}`, false],
  ];
  for (const [header, expected] of cases) {
    assertEquals(acceptsGzip(header), expected, header);
  }
});

Deno.test("CodedText gives either form with a tag of its own", async () => {
  const text = "a text that says the same ä ".repeat(100);
  const coded = new CodedText(text);
  const plain = await coded.formFor(undefined);
  assertEquals(new TextDecoder().decode(plain.bytes), text);
  assertEquals(plain.headers, { vary: "accept-encoding" });
  const small = await coded.formFor("gzip, br");
  assertEquals(new TextDecoder().decode(gunzipSync(small.bytes)), text);
  assert(small.bytes.length < plain.bytes.length / 5);
  assertEquals(small.headers, {
    vary: "accept-encoding",
    "content-encoding": "gzip",
  });
  assertNotEquals(small.etag, plain.etag);
  // It is compressed once.
  assert((await coded.formFor("gzip")).bytes === small.bytes);
  const readTag = async (content: string) =>
    (await new CodedText(content).formFor("gzip")).etag;
  assertEquals(await readTag(text), small.etag);
  assertNotEquals(await readTag(`${text}.`), small.etag);
});
