import { assertEquals, assertThrows } from "@std/assert";
import { prepareRequest, type RelayerRequest } from "./exchange.ts";

const SERVER_URL = "http://relay.test:8000";

function createRequest(path: string): RelayerRequest {
  return { method: "POST", path, timeoutMs: 1 };
}

Deno.test("prepareRequest() leaves out what is undefined and keeps null", () => {
  const { body } = prepareRequest({
    ...createRequest("/api/recall"),
    body: { query: "ä", limit: undefined, sort: null, deep: { a: undefined } },
  }, SERVER_URL);
  assertEquals(
    new TextDecoder().decode(body),
    '{"query":"ä","sort":null,"deep":{}}',
  );
  assertEquals(prepareRequest(createRequest("/a"), SERVER_URL).body, undefined);
});

Deno.test("prepareRequest() signs the path in the form it is sent in, without the server URL's", () => {
  const cases = [
    ["/api/recall", "/api/recall"],
    ["/v1/owners/0x1/memories?limit=5", "/v1/owners/0x1/memories?limit=5"],
    ["/api/a b?q=ü", "/api/a%20b?q=%C3%BC"],
    ["/api/x/../y", "/api/y"],
  ] as const;
  for (const serverUrl of [SERVER_URL, "https://relay.test/memory"]) {
    for (const [given, signed] of cases) {
      const { path, url } = prepareRequest(createRequest(given), serverUrl);
      assertEquals(path, signed);
      assertEquals(url, serverUrl + signed);
    }
  }
});

Deno.test("prepareRequest() throws when a path leads away from the relayer", () => {
  const away = [
    "",
    "api",
    "@evil.test/",
    ".evil.test/",
    "0/api",
    "/a#b",
    "/../../x",
    "/..",
  ];
  for (const path of away) {
    assertThrows(
      () => prepareRequest(createRequest(path), "https://relay.test/memory"),
      TypeError,
    );
  }
  assertThrows(
    () => prepareRequest(createRequest("0/api"), SERVER_URL),
    TypeError,
  );
});

Deno.test("prepareRequest() names a request without its query", () => {
  assertEquals(
    prepareRequest(createRequest("/a?cursor=1"), SERVER_URL).purpose,
    "POST /a",
  );
  const named = { ...createRequest("/a"), purpose: "recall" };
  assertEquals(prepareRequest(named, SERVER_URL).purpose, "recall");
});
