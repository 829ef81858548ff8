import { assertEquals, assertThrows } from "@std/assert";
import { type OpenApiParameter, resolved } from "./document.ts";
import {
  type CurlCall,
  formatCurl,
  sampleText,
  serverAddress,
} from "./samples.ts";
import { SAMPLE } from "./testing/sample_document.ts";

function findCall(method: string, path: string): CurlCall {
  const operation = SAMPLE.paths[path]?.[method.toLowerCase()];
  if (operation === undefined) throw new TypeError(`no ${method} ${path}`);
  const parameters = (operation.parameters ?? []).map((one) =>
    resolved<OpenApiParameter>(SAMPLE, one)
  );
  return { method, path, operation, parameters };
}

Deno.test("formatCurl() sends credentials, headers and a body that the shell leaves alone", () => {
  assertEquals(
    formatCurl(SAMPLE, findCall("POST", "/notes")),
    [
      'curl -X POST "$URL/notes"',
      '-H "authorization: Bearer $TOKEN"',
      "-H 'x-mark: m1'",
      '-H "content-type: application/json"',
      `-d '{"text":"it'\\''s <b>"}'`,
    ].join(" \\\n  "),
  );
});

Deno.test("formatCurl() fills in the path and what a query needs", () => {
  assertEquals(
    formatCurl(SAMPLE, findCall("GET", "/notes/{id}")),
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

Deno.test("sampleText() writes JSON, with the numbers of a list in one line", () => {
  const value = { a: [1, 2.5], b: ["x", 1], c: [], d: { e: "[1]" } };
  assertEquals(JSON.parse(sampleText(value)), value);
  assertEquals(
    sampleText(value, { indent: 2 }),
    `{
  "a": [1, 2.5],
  "b": [
    "x",
    1
  ],
  "c": [],
  "d": {
    "e": "[1]"
  }
}`,
  );
});

Deno.test("sampleText() shows the first of many numbers", () => {
  const value = { vector: Array.from({ length: 384 }, () => 0) };
  assertEquals(sampleText(value), '{"vector":[0, 0, 0, …]}');
});
