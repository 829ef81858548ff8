import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { parseAltcacheSource } from "./altcache_servers.ts";

Deno.test("parseAltcacheSource() takes a host list", () => {
  assertEquals(parseAltcacheSource({ hostPort: "a:1,b:2", srv: "" }), {
    kind: "parsed",
    source: {
      kind: "list",
      addresses: [{ host: "a", port: 1 }, { host: "b", port: 2 }],
    },
  });
});

Deno.test("parseAltcacheSource() takes an SRV record", () => {
  const srv = "_memcache._tcp.example.com";
  assertEquals(parseAltcacheSource({ srv }), {
    kind: "parsed",
    source: { kind: "srv", name: srv, refreshMs: 0 },
  });
  assertEquals(parseAltcacheSource({ srv, srvRefreshMs: 5_000 }), {
    kind: "parsed",
    source: { kind: "srv", name: srv, refreshMs: 5_000 },
  });
});

Deno.test("parseAltcacheSource() refuses both, none, and what is no list", () => {
  const both = parseAltcacheSource({ hostPort: "a:1", srv: "x" });
  assert(both.kind === "invalid");
  assertStringIncludes(both.reason, "give one of them");
  const none = parseAltcacheSource({ hostPort: "", srv: "" });
  assert(none.kind === "invalid");
  assertStringIncludes(none.reason, "neither");
  const wrong = parseAltcacheSource({ hostPort: "a:1,b" });
  assert(wrong.kind === "invalid");
  assertStringIncludes(wrong.reason, '"b"');
});
