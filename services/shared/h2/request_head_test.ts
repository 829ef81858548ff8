import { assertEquals, assertNotEquals, assertStrictEquals } from "@std/assert";
import {
  concat,
  encodeHeaderBlock,
  requestFields,
} from "../../../tests/support/h2_frames.ts";
import { hpackShared } from "./hpack.ts";
import { HuffmanSteps } from "./huffman.ts";
import {
  HEAD_STATE,
  HeadDecoder,
  type RequestHead,
  RequestHeadReader,
} from "./request_head.ts";

type Fields = readonly (readonly [name: string, value: string])[];

const { OK, MALFORMED, TOO_LARGE, NOT_POST, NOT_GRPC, BAD_TIMEOUT } =
  HEAD_STATE;
const { TOO_LARGE_NOT_GRPC } = HEAD_STATE;
const plainReader = new RequestHeadReader(
  ["/test.Test/Other", "/test.Test/Known"],
  { maxListBytes: 1_000 },
);

Deno.test("RequestHeadReader understands a request", () => {
  assertEquals(
    read(requestFields({
      "grpc-timeout": "20m",
      "grpc-encoding": "gzip",
      "content-length": "17",
      "x-other": "anything",
    })),
    {
      state: OK,
      path: 1,
      timeoutMs: 20,
      contentLength: 17,
      isEncoded: true,
      kept: undefined,
    },
  );
  assertEquals(read(requestFields()), {
    state: OK,
    path: 1,
    timeoutMs: -1,
    contentLength: -1,
    isEncoded: false,
    kept: undefined,
  });
});

Deno.test("RequestHeadReader tells what can be answered and what not", () => {
  for (
    const [changes, state] of [
      [{ "grpc-encoding": "identity" }, OK],
      [{ te: undefined }, OK],
      [{ ":authority": undefined }, OK],
      [{ "content-type": "application/grpc+proto" }, OK],
      [{ "content-type": "application/grpc;v=1" }, OK],
      [{ "content-type": "application/grpc-web" }, NOT_GRPC],
      [{ "content-type": "text/plain" }, NOT_GRPC],
      [{ "content-type": undefined }, NOT_GRPC],
      [{ ":method": "GET" }, NOT_POST],
      [{ ":method": "CONNECT", ":path": undefined }, NOT_POST],
      [{ ":method": "GET", ":path": undefined }, MALFORMED],
      [{ ":method": undefined }, MALFORMED],
      [{ ":path": undefined }, MALFORMED],
      [{ ":path": "" }, MALFORMED],
      [{ ":path": "test" }, MALFORMED],
      [{ ":scheme": undefined }, MALFORMED],
      [{ ":scheme": "" }, MALFORMED],
      [{ te: "gzip" }, MALFORMED],
      [{ connection: "close" }, MALFORMED],
      [{ "transfer-encoding": "chunked" }, MALFORMED],
      [{ upgrade: "x" }, MALFORMED],
      [{ "keep-alive": "x" }, MALFORMED],
      [{ "proxy-connection": "x" }, MALFORMED],
      [{ "X-Upper": "x" }, MALFORMED],
      [{ "x space": "x" }, MALFORMED],
      [{ "x:colon": "x" }, MALFORMED],
      [{ "": "x" }, MALFORMED],
      [{ x: "a\nb" }, MALFORMED],
      [{ x: "a\0b" }, MALFORMED],
      [{ x: " a" }, MALFORMED],
      [{ x: "a\t" }, MALFORMED],
      [{ "content-length": "1x" }, MALFORMED],
      [{ "grpc-timeout": "1s" }, BAD_TIMEOUT],
      [{ x: "y".repeat(900) }, TOO_LARGE],
      [{ x: "y".repeat(900), "te": "no" }, TOO_LARGE],
      [
        { x: "y".repeat(900), "content-type": "text/html" },
        TOO_LARGE_NOT_GRPC,
      ],
    ] as const
  ) {
    const fields = requestFields(changes);
    assertEquals(read(fields).state, state, JSON.stringify(changes));
  }
});

Deno.test("RequestHeadReader wants pseudo headers first, known and once", () => {
  const fields = requestFields();
  for (
    const wrong of [
      [...fields, [":authority", "late"]],
      [...fields.slice(0, 4), [":path", "/"], ...fields.slice(4)],
      [[":status", "200"], ...fields],
      [[":unknown", "x"], ...fields],
      [...fields, ["content-type", "application/grpc"]],
      [...fields, ["content-length", "1"], ["content-length", "1"]],
    ] as const
  ) assertEquals(read(wrong as Fields).state, MALFORMED);
});

Deno.test("RequestHeadReader knows a path that is not served by -1", () => {
  for (const path of ["/", "/test.Test/Know", "/test.Test/Known2", "/x"]) {
    const head = read(requestFields({ ":path": path }));
    assertEquals([head.state, head.path], [OK, -1], path);
  }
});

Deno.test("RequestHeadReader takes no pseudo headers in trailers", () => {
  assertEquals(read([["x", "y"]], { isTrailer: true }).state, OK);
  assertEquals(read([[":path", "/"]], { isTrailer: true }).state, MALFORMED);
});

function read(
  fields: Fields,
  { isTrailer = false, by: reader = plainReader }: {
    readonly isTrailer?: boolean;
    readonly by?: RequestHeadReader;
  } = {},
): RequestHead {
  reader.begin(isTrailer);
  for (const [name, value] of fields) {
    const kind = reader.nameKind(span(name));
    const size = name.length + value.length + 32;
    reader.field(reader.meaning(kind, span(value)), size);
  }
  return reader.end();
}

function span(
  text: string,
): { bytes: Uint8Array; start: number; end: number } {
  const bytes = Uint8Array.from(`[${text}]`, (char) => char.charCodeAt(0));
  return { bytes, start: 1, end: bytes.length - 1 };
}

Deno.test("HeadDecoder understands equal blocks once", () => {
  const decoder = make();
  const block = encodeHeaderBlock(requestFields());
  const first = request(decoder, block);
  assertEquals(first?.state, 0);
  assertStrictEquals(request(decoder, block), first);
  const other = encodeHeaderBlock(requestFields({ "grpc-timeout": "1m" }));
  assertEquals(request(decoder, other)?.timeoutMs, 1);
  assertEquals(request(decoder, block), first);
});

Deno.test("HeadDecoder understands an equal block anew when the table has changed", () => {
  const decoder = make();
  const path = (text: string): Uint8Array =>
    concat(Uint8Array.of(0x44, text.length), new TextEncoder().encode(text));
  const rest = encodeHeaderBlock(requestFields({ ":path": undefined }));
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
    encodeHeaderBlock(requestFields({ ":path": undefined })),
  );
  for (let round = 0; round < 3; round++) {
    assertEquals(request(decoder, adding)?.path, 0);
  }
  const third = concat(
    Uint8Array.of(0xc0),
    encodeHeaderBlock(requestFields({ ":path": undefined })),
  );
  assertEquals(request(decoder, third)?.path, 0);
  assertEquals(request(decoder, Uint8Array.of(0xc1)), undefined);
});

Deno.test("HeadDecoder reads trailers apart from requests", () => {
  const decoder = make();
  const block = encodeHeaderBlock(requestFields());
  assertEquals(request(decoder, block)?.state, 0);
  const span = { bytes: block, start: 0, end: block.length };
  assertNotEquals(decoder.trailers(span)?.state, 0);
  assertEquals(request(decoder, block)?.state, 0);
});

function make(): HeadDecoder {
  const reader = new RequestHeadReader(
    ["/a", "/b", "/test.Test/Known"],
    { maxListBytes: 1_000 },
  );
  return new HeadDecoder({
    reader,
    hpack: hpackShared(reader, new HuffmanSteps()),
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

Deno.test("RequestHeadReader keeps the text of fields that it is told to", () => {
  const keeping = new RequestHeadReader(["/test.Test/Known"], {
    maxListBytes: 5_000,
    keptNames: ["traceparent", "tracestate"],
  });
  const readHead = (fields: Fields): RequestHead =>
    read(fields, { by: keeping });
  const pseudo = requestFields({});
  assertEquals(readHead(pseudo).kept, undefined);
  assertEquals(
    readHead([...pseudo, ["traceparent", "00-a"], ["x-other", "b"]]).kept,
    { traceparent: "00-a" },
  );
  assertEquals(
    readHead([...pseudo, ["tracestate", "a=1"], ["tracestate", "b=2"]]).kept,
    { tracestate: "a=1,b=2" },
  );
  const long = "a".repeat(513);
  assertEquals(readHead([...pseudo, ["tracestate", long]]).kept, undefined);
  // Not of a list that is too large, in which it may come again and again.
  const many = Array<Fields[number]>(20).fill(["tracestate", "a".repeat(500)]);
  const { state, kept } = readHead([...pseudo, ...many]);
  assertEquals([state, (kept?.tracestate?.length ?? 0) <= 5_000], [
    TOO_LARGE,
    true,
  ]);
});
