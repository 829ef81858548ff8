import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { isAllowed, parseAllowList } from "./allow_list.ts";
import { allowListOf } from "./testing/allow_list_of.ts";

Deno.test("parseAllowList() reads addresses, networks and names", () => {
  const list = allowListOf(
    ...[
      "127.0.0.1",
      "127.0.0.1:8080",
      "10.0.0.0/8",
      "::1",
      "[::1]",
      "[::1]:90",
    ],
    ...["Worker", " worker.internal.:8080 ", "my_worker"],
  );
  assertEquals(
    list.map((entry) =>
      entry.kind === "host"
        ? [entry.host, entry.port]
        : [entry.network.prefixBits, entry.port]
    ),
    [
      [32, undefined],
      [32, 8080],
      [8, undefined],
      [128, undefined],
      [128, undefined],
      [128, 90],
      ["worker", undefined],
      ["worker.internal", 8080],
      ["my_worker", undefined],
    ],
  );
});

Deno.test("parseAllowList() names every invalid entry", () => {
  const bad = [
    ...["", "http://worker", "10.0.0.1/8", "10.0.0.0/33", "worker:0"],
    ...["worker:65536", "worker:", "*.internal", "0x7f.1", "2130706433"],
    ...["127.1", "127.0.0.1/", "[worker]:80", "user@worker", "wörker", "a b"],
    ...["10.0.0.0/8:80", "fe80::1%eth0", "a..b", "::1:65536:x"],
  ];
  const outcome = parseAllowList(["good.example", ...bad]);
  assert(outcome.kind === "invalid");
  assertEquals(outcome.problems.length, bad.length);
  outcome.problems.forEach((problem, index) => {
    assertStringIncludes(problem, JSON.stringify(bad[index]));
  });
});

Deno.test("isAllowed() matches addresses within a network alone", () => {
  const list = allowListOf("10.0.0.0/8", "fd00::/8");
  const point = { host: "x.example", port: 443 };
  assert(isAllowed(list, { ...point, address: "10.255.0.1" }));
  assert(isAllowed(list, { ...point, address: "fd00::1" }));
  assert(!isAllowed(list, { ...point, address: "11.0.0.1" }));
  assert(!isAllowed(list, { ...point, address: "::ffff:10.0.0.1" }));
  assert(!isAllowed(list, point));
});

Deno.test("isAllowed() matches a name whatever its address, and no other name", () => {
  const list = allowListOf("worker.internal");
  const address = "10.0.0.1";
  assert(isAllowed(list, { host: "worker.internal", port: 1, address }));
  assert(isAllowed(list, { host: "worker.internal", port: 1 }));
  assert(!isAllowed(list, { host: "a.worker.internal", port: 1, address }));
  assert(!isAllowed(list, { host: "worker.internal.example", port: 1 }));
});

Deno.test("isAllowed() keeps to the port of an entry", () => {
  const list = allowListOf("worker:8080", "127.0.0.1:9000");
  assert(isAllowed(list, { host: "worker", port: 8080 }));
  assert(!isAllowed(list, { host: "worker", port: 8081 }));
  const address = "127.0.0.1";
  assert(isAllowed(list, { host: address, port: 9000, address }));
  assert(!isAllowed(list, { host: address, port: 9001, address }));
});

Deno.test("isAllowed() allows nothing by an empty list", () => {
  assert(!isAllowed([], { host: "a", port: 1, address: "127.0.0.1" }));
});
