import { assertEquals } from "@std/assert";
import { InnerRequest } from "./inner_request.ts";

const PEER = { address: "192.0.2.1", port: 7 };

Deno.test("InnerRequest gives fields by any case, once for each value", () => {
  const { headers } = new InnerRequest({
    ...{ method: "GET", target: "/", peer: PEER },
    fields: new Map<string, string | readonly string[]>([
      ["host", "a.test"],
      ["authorization", ["Bearer a", "Bearer b"]],
      ["x-empty", []],
    ]),
  });
  assertEquals(headers.get("Host"), "a.test");
  assertEquals(headers.all("Authorization"), ["Bearer a", "Bearer b"]);
  assertEquals(headers.get("authorization"), "Bearer a, Bearer b");
  assertEquals([headers.get("x-empty"), headers.get("x-none")], [
    undefined,
    undefined,
  ]);
});

Deno.test("InnerRequest refuses a body when it is longer than allowed", async () => {
  const request = new InnerRequest({
    ...{ method: "POST", target: "/", peer: PEER, fields: new Map() },
    body: new Uint8Array([1, 2, 3]),
  });
  assertEquals(await request.body(2), { kind: "too_large" });
  assertEquals(await request.body(3), {
    kind: "ok",
    bytes: new Uint8Array([1, 2, 3]),
  });
});

Deno.test("InnerRequest is gone when its signal aborts", () => {
  const ending = new AbortController();
  const request = new InnerRequest({
    ...{ method: "GET", target: "/", peer: PEER, fields: new Map() },
    signal: ending.signal,
  });
  const told: string[] = [];
  request.onGone(() => told.push("first"));
  const stop = request.onGone(() => told.push("second"));
  stop();
  assertEquals([request.isGone(), told], [false, []]);
  ending.abort();
  request.onGone(() => told.push("late"));
  assertEquals([request.isGone(), told], [true, ["first", "late"]]);
});
