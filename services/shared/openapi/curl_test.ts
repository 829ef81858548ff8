import { assertEquals, assertThrows } from "@std/assert";
import { type CurlCall, curlOf, serverAddress } from "./curl.ts";
import type { OpenApiParameter } from "./document.ts";
import { resolved } from "./reference.ts";
import { SAMPLE } from "./testing/sample_document.ts";

function callOf(method: string, path: string): CurlCall {
  const operation = SAMPLE.paths[path]?.[method.toLowerCase()];
  if (operation === undefined) throw new TypeError(`no ${method} ${path}`);
  const parameters = (operation.parameters ?? []).map((one) =>
    resolved<OpenApiParameter>(SAMPLE, one)
  );
  return { method, path, operation, parameters };
}

Deno.test("curlOf() sends credentials, headers and a body that the shell leaves alone", () => {
  assertEquals(
    curlOf(SAMPLE, callOf("POST", "/notes")),
    [
      'curl -X POST "$URL/notes"',
      '-H "authorization: Bearer $TOKEN"',
      "-H 'x-mark: m1'",
      '-H "content-type: application/json"',
      `-d '{"text":"it'\\''s <b>"}'`,
    ].join(" \\\n  "),
  );
});

Deno.test("curlOf() fills in the path and what a query needs", () => {
  assertEquals(
    curlOf(SAMPLE, callOf("GET", "/notes/{id}")),
    'curl "https://acme.example.com/api/notes/n%201?lines=5"',
  );
});

Deno.test("serverAddress() knows whole and relative addresses", () => {
  assertEquals(serverAddress({ url: "/" }), "$URL");
  assertEquals(serverAddress({ url: "/api" }), "$URL/api");
  assertEquals(
    serverAddress({ url: "http://{a}.b/c/", variables: {} }),
    "http://a.b/c",
  );
});

Deno.test("resolved() tells what is not there", () => {
  assertThrows(
    () => resolved(SAMPLE, { $ref: "#/components/parameters/None" }),
    TypeError,
    "Cannot find #/components/parameters/None",
  );
});
