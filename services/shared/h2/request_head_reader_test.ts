import { assertEquals } from "@std/assert";
import { requestFields } from "../../../tests/support/h2_frames.ts";
import { HEAD_STATE, type RequestHead } from "./request_head.ts";
import { RequestHeadReader } from "./request_head_reader.ts";

type Fields = readonly (readonly [name: string, value: string])[];

const { OK, MALFORMED, TOO_LARGE, NOT_POST, NOT_GRPC, BAD_TIMEOUT } =
  HEAD_STATE;
const reader = new RequestHeadReader({
  paths: ["/test.Test/Other", "/test.Test/Known"],
  maxListBytes: 1_000,
});

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
    },
  );
  assertEquals(read(requestFields()), {
    state: OK,
    path: 1,
    timeoutMs: -1,
    contentLength: -1,
    isEncoded: false,
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
  assertEquals(read([["x", "y"]], true).state, OK);
  assertEquals(read([[":path", "/"]], true).state, MALFORMED);
});

function read(fields: Fields, isTrailer = false): RequestHead {
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
