import { assert, assertEquals } from "@std/assert";
import {
  formatRedisAddress,
  parseRedisAddress,
  parseRedisAuth,
  type RedisAddress,
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
      parseRedisAddress(
        text,
        socketType === undefined ? {} : { socketType },
      ),
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
    const result = parseRedisAddress(
      text,
      socketType === undefined ? {} : { socketType },
    );
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
