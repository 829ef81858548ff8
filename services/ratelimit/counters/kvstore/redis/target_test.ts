import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import type { RedisAddress } from "./address.ts";
import { parseRedisTarget, type RedisTargetType } from "./target.ts";

function tcp(host: string, port: number): RedisAddress {
  return { kind: "tcp", host, port };
}

Deno.test("parseRedisTarget() reads a single server", () => {
  assertEquals(parseRedisTarget("redis://:p%40ss@host:6382/5", "single"), {
    kind: "parsed",
    address: tcp("host", 6_382),
    auth: { password: "p@ss" },
    database: 5,
  });
  const options = { socketType: "unix" };
  assertEquals(parseRedisTarget("/run/redis.sock", "single", options), {
    kind: "parsed",
    address: { kind: "unix", path: "/run/redis.sock" },
    database: 0,
  });
});

Deno.test("parseRedisTarget() reads a master's name and its sentinels", () => {
  const expected = {
    kind: "parsed",
    address: {
      kind: "sentinel",
      masterName: "my-master",
      sentinels: [tcp("a", 26_379), tcp("::1", 26_380)],
    },
    database: 0,
  } as const;
  for (
    const text of [
      "my-master,a:26379,[::1]:26380",
      " my-master , a:26379 ,[::1]:26380",
    ]
  ) {
    assertEquals(parseRedisTarget(text, "sentinel"), expected);
  }
});

Deno.test("parseRedisTarget() reads the nodes of a cluster", () => {
  const options = { socketType: "TCP", usesTls: true };
  assertEquals(parseRedisTarget("a:1,b:2,10.0.0.1:3", "cluster", options), {
    kind: "parsed",
    address: {
      kind: "cluster",
      nodes: [tcp("a", 1), tcp("b", 2), tcp("10.0.0.1", 3)],
    },
    database: 0,
  });
});

const refused: ReadonlyArray<[string, RedisTargetType, string]> = [
  ["", "single", "empty"],
  ["", "sentinel", "name of a master"],
  ["", "cluster", "host:port"],
  ["mymaster", "sentinel", "names no sentinel"],
  ["mymaster,", "sentinel", "host:port"],
  ["host:26379", "sentinel", "name of a master"],
  ["host:26379,other:26379", "sentinel", "name of a master"],
  [",host:26379", "sentinel", "name of a master"],
  ["mymaster,host", "sentinel", "host:port"],
  ["mymaster,host:0", "sentinel", "host:port"],
  ["mymaster,redis://:s3cret@host:1", "sentinel", "server 1 of 1"],
  ["redis://:s3cret@host:1,other:2", "sentinel", "name of a master"],
  ["a:1,", "cluster", "server 2 of 2"],
  ["a:1,,b:2", "cluster", "server 2 of 3"],
  ["a:1,s3cret@b:2", "cluster", "server 2 of 2"],
  ["redis://:s3cret@a:1", "cluster", "server 1 of 1"],
  ["/run/redis.sock", "cluster", "server 1 of 1"],
  ["a", "cluster", "host:port"],
];

for (const [text, type, part] of refused) {
  Deno.test(`parseRedisTarget() refuses "${text}" as "${type}"`, () => {
    const result = parseRedisTarget(text, type);
    assert(result.kind === "invalid");
    assert(result.reason.startsWith("Cannot use "), result.reason);
    assertStringIncludes(result.reason, part);
    assert(!result.reason.includes("s3cret"), result.reason);
  });
}

Deno.test("parseRedisTarget() refuses what a unix socket cannot do", () => {
  for (const type of ["sentinel", "cluster"] as const) {
    const options = { socketType: "unix" };
    const result = parseRedisTarget("mymaster,a:1", type, options);
    assert(result.kind === "invalid");
    assertStringIncludes(result.reason, "unix socket");
  }
  const options = { usesTls: true };
  const result = parseRedisTarget("/run/redis.sock", "single", options);
  assert(result.kind === "invalid");
  assertStringIncludes(result.reason, "TLS");
});
