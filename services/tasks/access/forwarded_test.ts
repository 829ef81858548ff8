import { assert, assertEquals } from "@std/assert";
import { isTrustedProxy, originOf, type RequestOrigin } from "./forwarded.ts";
import { type Network, parseNetwork } from "../../shared/ip_network.ts";

const PROXIES: readonly Network[] = ["10.0.0.0/8", "::1"].map((text) => {
  const outcome = parseNetwork(text);
  assert(outcome.kind === "ok");
  return outcome.network;
});

const REQUEST: RequestOrigin = {
  peerAddress: "10.1.2.3",
  isTls: false,
  host: "internal:8070",
  forwardedHost: "acme.tasks.example.com",
  forwardedProto: "https",
  forwardedFor: "203.0.113.9",
};

Deno.test("originOf() believes a trusted proxy", () => {
  const expected = {
    host: "acme.tasks.example.com",
    scheme: "https",
    clientAddress: "203.0.113.9",
  } as const;
  assertEquals(originOf(REQUEST, PROXIES), expected);
  const mapped = { ...REQUEST, peerAddress: "::ffff:10.1.2.3" };
  assertEquals(originOf(mapped, PROXIES), expected);
});

Deno.test("originOf() trusts no other headers", () => {
  for (const peerAddress of ["192.0.2.1", "nonsense", undefined]) {
    assertEquals(originOf({ ...REQUEST, peerAddress }, PROXIES), {
      host: "internal:8070",
      scheme: "http",
      clientAddress: peerAddress,
    });
  }
  assertEquals(originOf(REQUEST, []).host, "internal:8070");
  assert(!isTrustedProxy(undefined, PROXIES));
});

Deno.test("originOf() goes by the connection where the proxy says nothing", () => {
  const quiet: RequestOrigin = {
    peerAddress: "::1",
    isTls: true,
    host: "acme.tasks.example.com",
    forwardedHost: [],
    forwardedProto: undefined,
    forwardedFor: null,
  };
  assertEquals(originOf(quiet, PROXIES), {
    host: "acme.tasks.example.com",
    scheme: "https",
    clientAddress: "::1",
  });
});

Deno.test("originOf() accepts no scheme that is not one word of two", () => {
  for (const forwardedProto of ["https, http", ["https", "http"], "wss", ""]) {
    const origin = originOf({ ...REQUEST, forwardedProto }, PROXIES);
    assertEquals(origin.scheme, "http");
  }
  const upper = originOf({ ...REQUEST, forwardedProto: " HTTPS " }, PROXIES);
  assertEquals(upper.scheme, "https");
});

Deno.test("originOf() finds the client behind proxies and before what it claims", () => {
  const cases: readonly [string | readonly string[], string][] = [
    ["203.0.113.9, 10.0.0.1", "203.0.113.9"],
    ["1.1.1.1, 203.0.113.9, 10.0.0.1, 10.0.0.2", "203.0.113.9"],
    [["1.1.1.1, 203.0.113.9", "10.0.0.1"], "203.0.113.9"],
    ["203.0.113.9:4711", "203.0.113.9"],
    ["[2001:db8::1]:4711", "2001:db8::1"],
    ["2001:db8::1", "2001:db8::1"],
    ["10.0.0.7", "10.0.0.7"],
    ["203.0.113.9, unknown, 10.0.0.1", "10.0.0.1"],
    ["unknown", "10.1.2.3"],
    ["", "10.1.2.3"],
    [Array(100_000).fill("10.0.0.1").join(","), "10.0.0.1"],
  ];
  for (const [forwardedFor, client] of cases) {
    const origin = originOf({ ...REQUEST, forwardedFor }, PROXIES);
    assertEquals(origin.clientAddress, client);
  }
});
