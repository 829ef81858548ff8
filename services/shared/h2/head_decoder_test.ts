import { assertEquals, assertNotEquals, assertStrictEquals } from "@std/assert";
import {
  blockOf,
  concat,
  requestFields,
} from "../../../tests/support/h2_frames.ts";
import { HeadDecoder } from "./head_decoder.ts";
import { hpackShared } from "./hpack_decoder.ts";
import { huffmanSteps } from "./huffman.ts";
import type { RequestHead } from "./request_head.ts";
import { RequestHeadReader } from "./request_head_reader.ts";

Deno.test("HeadDecoder understands equal blocks once", () => {
  const decoder = make();
  const block = blockOf(requestFields());
  const first = request(decoder, block);
  assertEquals(first?.state, 0);
  assertStrictEquals(request(decoder, block), first);
  const other = blockOf(requestFields({ "grpc-timeout": "1m" }));
  assertEquals(request(decoder, other)?.timeoutMs, 1);
  assertEquals(request(decoder, block), first);
});

Deno.test("HeadDecoder understands an equal block anew when the table has changed", () => {
  const decoder = make();
  const path = (text: string): Uint8Array =>
    concat(Uint8Array.of(0x44, text.length), new TextEncoder().encode(text));
  const rest = blockOf(requestFields({ ":path": undefined }));
  request(decoder, concat(path("/a"), rest));
  // From here on number 62 is the path.
  const indexed = concat(Uint8Array.of(0xbe), rest);
  const first = request(decoder, indexed);
  assertEquals(first?.path, 0);
  assertStrictEquals(request(decoder, indexed), first);
  request(decoder, concat(path("/b"), rest));
  assertEquals(request(decoder, indexed)?.path, 1);
});

Deno.test("HeadDecoder adds to the table each time a block says so", () => {
  const decoder = make();
  const adding = concat(
    Uint8Array.of(0x44, 2, 0x2f, 0x61),
    blockOf(requestFields({ ":path": undefined })),
  );
  for (let round = 0; round < 3; round++) {
    assertEquals(request(decoder, adding)?.path, 0);
  }
  const third = concat(
    Uint8Array.of(0xc0),
    blockOf(requestFields({ ":path": undefined })),
  );
  assertEquals(request(decoder, third)?.path, 0);
  assertEquals(request(decoder, Uint8Array.of(0xc1)), undefined);
});

Deno.test("HeadDecoder reads trailers apart from requests", () => {
  const decoder = make();
  const block = blockOf(requestFields());
  assertEquals(request(decoder, block)?.state, 0);
  const span = { bytes: block, start: 0, end: block.length };
  assertNotEquals(decoder.trailers(span)?.state, 0);
  assertEquals(request(decoder, block)?.state, 0);
});

function make(): HeadDecoder {
  const reader = new RequestHeadReader({
    paths: ["/a", "/b", "/test.Test/Known"],
    maxListBytes: 1_000,
  });
  return new HeadDecoder({
    reader,
    hpack: hpackShared(reader, huffmanSteps()),
  });
}

function request(
  decoder: HeadDecoder,
  block: Uint8Array,
): RequestHead | undefined {
  // Within other bytes, so that mistakes of place show.
  const bytes = concat(Uint8Array.of(0xff), block, Uint8Array.of(0xff));
  return decoder.request({ bytes, start: 1, end: bytes.length - 1 });
}
