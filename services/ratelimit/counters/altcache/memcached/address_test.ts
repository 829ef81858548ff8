import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import {
  formatMemcachedAddress,
  memcachedAddress,
  parseMemcachedAddresses,
} from "./address.ts";

Deno.test("parseMemcachedAddresses() reads hosts and ports, each of them once", () => {
  assertEquals(
    parseMemcachedAddresses(
      "Cache-A:11211, 10.0.0.2:11212,[::1]:1,cache-a:11211",
    ),
    {
      kind: "parsed",
      addresses: [
        { host: "cache-a", port: 11_211 },
        { host: "10.0.0.2", port: 11_212 },
        { host: "::1", port: 1 },
      ],
    },
  );
});

Deno.test("parseMemcachedAddresses() refuses what is no address, and says which", () => {
  for (
    const item of [
      "",
      "host",
      "host:",
      ":1",
      "host:0",
      "host:65536",
      "a b:1",
      "::1:1",
      "u@h:1",
    ]
  ) {
    const result = parseMemcachedAddresses(`good:1,${item}`);
    assert(result.kind === "invalid", item);
    assertStringIncludes(result.reason, `"${item}"`);
  }
});

Deno.test("memcachedAddress() leaves out the dot at the end of a name", () => {
  assertEquals(memcachedAddress("a.example.", 1), {
    host: "a.example",
    port: 1,
  });
  assertEquals(memcachedAddress(".", 1), undefined);
  assertEquals(memcachedAddress("a\r\n", 1), undefined);
  assertEquals(memcachedAddress("a", 1.5), undefined);
});

Deno.test("formatMemcachedAddress() puts IPv6 addresses in brackets", () => {
  assertEquals(formatMemcachedAddress({ host: "::1", port: 7 }), "[::1]:7");
  assertEquals(formatMemcachedAddress({ host: "a", port: 7 }), "a:7");
});
