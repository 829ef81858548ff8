import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import {
  formatRedisAddress,
  parseRedisAddress,
  parseRedisAuth,
  parseRedisTarget,
  type RedisAddress,
  type RedisTargetType,
} from "./address.ts";

function tcp(host: string, port = 6379): RedisAddress {
  return { kind: "tcp", host, port };
}

function unix(path: string): RedisAddress {
  return { kind: "unix", path };
}

const forms: ReadonlyArray<[string, string | undefined, RedisAddress]> = [
  ["localhost:6380", undefined, tcp("localhost", 6380)],
  ["localhost:6380", "TCP", tcp("localhost", 6380)],
  ["redis.internal", "", tcp("redis.internal")],
  ["10.0.0.1:1", "tcp", tcp("10.0.0.1", 1)],
  ["[::1]:6381", undefined, tcp("::1", 6381)],
  ["[fe80::1]", "tcp", tcp("fe80::1")],
  ["redis://host:6382", undefined, tcp("host", 6382)],
  ["redis://[::1]:6382/", "tcp", tcp("::1", 6382)],
  ["/run/redis.sock", undefined, unix("/run/redis.sock")],
  ["/run/redis.sock", "unix", unix("/run/redis.sock")],
  ["unix:///run/redis.sock", undefined, unix("/run/redis.sock")],
  ["unix:/run/redis.sock", "Unix", unix("/run/redis.sock")],
  ["redis.sock", "unix", unix("redis.sock")],
];

for (const [text, socketType, address] of forms) {
  Deno.test(`parseRedisAddress() reads "${text}" with socket type "${socketType}"`, () => {
    assertEquals(
      parseRedisAddress(text, socketType),
      { kind: "parsed", address, database: 0 },
    );
  });
}

Deno.test("parseRedisAddress() reads credentials and database of a URL", () => {
  assertEquals(
    parseRedisAddress("redis://al%69ce:p%40ss%3Aword@host:6382/5"),
    {
      kind: "parsed",
      address: tcp("host", 6382),
      auth: { username: "alice", password: "p@ss:word" },
      database: 5,
    },
  );
  assertEquals(parseRedisAddress("redis://:pass@host"), {
    kind: "parsed",
    address: tcp("host"),
    auth: { password: "pass" },
    database: 0,
  });
});

for (
  const [text, socketType] of [
    ["", undefined],
    ["::1:6379", undefined],
    ["host:", undefined],
    ["host:0", undefined],
    ["host:65536", undefined],
    ["host:six", undefined],
    ["a:1,b:2", undefined],
    ["user:s3cret@host:6379", undefined],
    ["rediss://:s3cret@host:6379", undefined],
    ["http://host:6379", undefined],
    ["redis://:s3cret@host:99999", undefined],
    ["redis://:s3cret@host/first", undefined],
    ["redis://:s3cret%zz@host", undefined],
    ["redis://:s3cret@/5", undefined],
    ["/run/redis.sock", "tcp"],
    ["unix:///run/redis.sock", "tcp"],
    ["redis://:s3cret@host:6379", "unix"],
    ["unix:", "unix"],
    ["host:6379", "udp"],
  ] as const
) {
  Deno.test(`parseRedisAddress() refuses "${text}" with socket type "${socketType}"`, () => {
    const result = parseRedisAddress(text, socketType);
    assert(result.kind === "invalid");
    assert(result.reason.startsWith("Cannot use "), result.reason);
    assert(!result.reason.includes("s3cret"), result.reason);
  });
}

Deno.test("parseRedisAuth() tells password and username apart", () => {
  assertEquals(parseRedisAuth(""), undefined);
  assertEquals(parseRedisAuth("pass"), { password: "pass" });
  assertEquals(parseRedisAuth("alice:pass"), {
    username: "alice",
    password: "pass",
  });
  assertEquals(parseRedisAuth("alice:pa:ss"), {
    username: "alice",
    password: "pa:ss",
  });
  assertEquals(parseRedisAuth(":pa:ss"), { password: "pa:ss" });
});

Deno.test("formatRedisAddress() writes what parseRedisAddress() reads", () => {
  for (const text of ["host:1", "[::1]:2", "/run/redis.sock"]) {
    const result = parseRedisAddress(text);
    assert(result.kind === "parsed");
    assertEquals(formatRedisAddress(result.address), text);
  }
});

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
