import { assert, assertEquals, assertThrows } from "@std/assert";
import { FakeClock } from "../../../../../tests/support/fake_clock.ts";
import { Buffer } from "node:buffer";
import { RecordingLogger } from "../../../../../tests/support/recording_logger.ts";
import { formatRedisAddress, type RedisAddress } from "./address.ts";
import type { RedisCommand } from "./command_writer.ts";
import { RedisPool } from "./pool.ts";
import type { RedisReply } from "./reply.ts";
import {
  collectReplies,
  createPending,
  keyInSlot,
  keySlot,
  readSlots,
} from "./slot_map.ts";

function computeSlot(key: string): number {
  return keySlot(new TextEncoder().encode(key));
}

Deno.test("keySlot() is the CRC of the cluster specification", () => {
  // The example of the specification: the CRC-16 of "123456789" is 0x31c3.
  assertEquals(computeSlot("123456789"), 0x31c3);
  assertEquals(computeSlot(""), 0);
  assertEquals(computeSlot("foo"), 12_182);
  assertEquals(computeSlot("somekey"), 11_058);
});

Deno.test("keySlot() looks at the hash tag only, if there is one", () => {
  const tagged = computeSlot("user1000");
  assertEquals(computeSlot("{user1000}.following"), tagged);
  assertEquals(computeSlot("before{user1000}after{other}"), tagged);
  assertEquals(computeSlot("foo{bar}{zap}"), computeSlot("bar"));
  assertEquals(computeSlot("foo{{bar}}zap"), computeSlot("{bar"));
  // These keys have no hash tag: the braces are empty, or one of them is
  // missing.
  for (const key of ["foo{}{bar}", "}{", "{", "}foo{bar", "foo}"]) {
    assertEquals(computeSlot(key), slotOfWhole(key));
  }
});

/** Returns the slot of the whole key, by a CRC that is computed another way. */
function slotOfWhole(key: string): number {
  let bits = "";
  for (const byte of new TextEncoder().encode(key)) {
    bits += byte.toString(2).padStart(8, "0");
  }
  let rest = 0;
  for (const bit of `${bits}${"0".repeat(16)}`) {
    rest = rest << 1 | Number(bit);
    if (rest & 0x10000) rest ^= 0x11021;
  }
  return rest % 16_384;
}

function listRuns(
  commands: readonly RedisCommand[],
): readonly ReturnType<typeof createPending>[number]["run"][] {
  return createPending(commands).map(({ run }) => run);
}

Deno.test("createPending() keeps together what shares the very key", () => {
  const a = Buffer.from("a");
  const sameText = Buffer.from("a");
  const runs = listRuns([
    ["INCRBY", a, "1"],
    ["EXPIRE", a, "60"],
    ["GET", sameText],
    ["EVALSHA", "hash", "1", sameText, "5"],
    ["EVAL", "script", "1", "text"],
    ["GET", a],
  ]);
  assertEquals(
    runs.map((
      { start, end, key },
    ) => [start, end, Buffer.from(key).toString()]),
    [[0, 2, "a"], [2, 4, "a"], [4, 5, "text"], [5, 6, "a"]],
  );
  assertEquals(listRuns([]), []);
});

Deno.test("createPending() throws for a command without a key", () => {
  assertThrows(() => listRuns([["PING"]]), RangeError, '"PING"');
});

const asked: RedisAddress = { kind: "tcp", host: "asked", port: 1 };

function nodeAt(reply: RedisReply, slot: number): string | undefined {
  const address = readSlots(reply, asked)?.findMaster(slot);
  return address === undefined ? undefined : formatRedisAddress(address);
}

Deno.test("readSlots() takes the first node of each range", () => {
  const reply = [
    [0, 99, ["10.0.0.1", 7000, "id", []], ["10.0.0.2", 7001, "id", []]],
    [100, 100, ["10.0.0.3", 7000, "id"]],
    [101, 16_383, ["10.0.0.1", 7000, "id"]],
  ];
  assertEquals(nodeAt(reply, 0), "10.0.0.1:7000");
  assertEquals(nodeAt(reply, 99), "10.0.0.1:7000");
  assertEquals(nodeAt(reply, 100), "10.0.0.3:7000");
  assertEquals(nodeAt(reply, 16_383), "10.0.0.1:7000");
  assertEquals(readSlots(reply, asked)!.masters.length, 2);
});

Deno.test("readSlots() leaves slots empty that nobody serves", () => {
  const reply = [[5, 6, ["host", 7000]]];
  assertEquals(nodeAt(reply, 4), undefined);
  assertEquals(nodeAt(reply, 5), "host:7000");
  assertEquals(nodeAt(reply, 7), undefined);
  assertEquals(nodeAt([], 0), undefined);
});

Deno.test("readSlots() fills in the host of the node that was asked", () => {
  assertEquals(nodeAt([[0, 1, [null, 7000]]], 0), "asked:7000");
  assertEquals(nodeAt([[0, 1, ["", 7000]]], 0), "asked:7000");
  assertEquals(nodeAt([[0, 1, ["?", 7000]]], 0), undefined);
});

for (
  const reply of [
    null,
    "OK",
    { refusal: "ERR This instance has cluster support disabled" },
    [[0, 1]],
    [[0, 16_384, ["host", 7000]]],
    [[-1, 5, ["host", 7000]]],
    [["0", "5", ["host", 7000]]],
    [[0, 5, "host"]],
    ["0-5"],
  ]
) {
  Deno.test(`readSlots() refuses ${JSON.stringify(reply)}`, () => {
    assertEquals(readSlots(reply, asked), undefined);
  });
}

Deno.test("readSlots() leaves out nodes whose address is none", () => {
  assertEquals(nodeAt([[0, 1, ["host", 0]]], 0), undefined);
  assertEquals(nodeAt([[0, 1, ["host", 65_536]]], 0), undefined);
});

Deno.test("SlotMap.withMove() changes one slot of a copy", () => {
  const map = readSlots([[0, 10, ["a", 1]], [11, 20, ["b", 2]]], asked);
  assert(map !== undefined);
  const toKnown = map.withMove(3, { kind: "tcp", host: "b", port: 2 });
  assertEquals(toKnown.masters.length, 2);
  const toNew = toKnown.withMove(4, { kind: "tcp", host: "c", port: 3 });
  const names = [2, 3, 4, 5].map((slot) =>
    formatRedisAddress(toNew.findMaster(slot)!)
  );
  assertEquals(names, ["a:1", "b:2", "c:3", "a:1"]);
  assertEquals(formatRedisAddress(map.findMaster(3)!), "a:1");
});

/** Returns the redirection of a command to which the node `asked` replies. */
function readRedirect(
  reply: RedisReply,
): ReturnType<typeof collectReplies>[number]["redirect"] | undefined {
  const node = new RedisPool({
    address: asked,
    name: "node",
    timeoutMs: 1_000,
    clock: new FakeClock(),
    random: () => 0,
    logger: new RecordingLogger(),
  });
  const replies: RedisReply[] = ["none yet"];
  const pending = createPending([["GET", "key"]]);
  const [redirected, ...others] = collectReplies(
    { node, isAsking: false, pending },
    [reply],
    replies,
  );
  assertEquals(others, []);
  // A reply that is not a redirection is passed to the caller.
  assertEquals(replies, [redirected === undefined ? reply : "none yet"]);
  return redirected?.redirect;
}

Deno.test("collectReplies() reads where a slot has gone", () => {
  const reason = "MOVED 3999 127.0.0.1:6381";
  assertEquals(readRedirect({ refusal: reason }), {
    kind: "moved",
    slot: 3_999,
    address: { kind: "tcp", host: "127.0.0.1", port: 6_381 },
    reason,
  });
});

Deno.test("collectReplies() reads whom to ask this time", () => {
  const reason = "ASK 3999 ::1:6381";
  assertEquals(readRedirect({ refusal: reason }), {
    kind: "ask",
    address: { kind: "tcp", host: "::1", port: 6_381 },
    reason,
  });
});

Deno.test("collectReplies() fills in the host of the node that replied", () => {
  const redirect = readRedirect({ refusal: "MOVED 1 :6381" });
  assertEquals(redirect?.kind === "moved" && redirect.address, {
    kind: "tcp",
    host: "asked",
    port: 6_381,
  });
});

for (
  const reason of [
    "CLUSTERDOWN Hash slot not served",
    "CLUSTERDOWN The cluster is down",
    "TRYAGAIN Multiple keys request during rehashing of slot",
    "LOADING Redis is loading the dataset in memory",
    "MASTERDOWN Link with MASTER is down",
    "MOVED 1 ?:6381",
    "ASK 1 host:0",
  ]
) {
  Deno.test(`collectReplies() puts off "${reason}"`, () => {
    assertEquals(readRedirect({ refusal: reason }), {
      kind: "later",
      reason,
    });
  });
}

Deno.test("collectReplies() leaves other replies alone", () => {
  for (
    const reply of [
      1,
      null,
      "MOVED 1 host:1",
      { refusal: "ERR MOVED 1 host:1" },
      { refusal: "CROSSSLOT Keys in request don't hash to the same slot" },
      { refusal: "NOSCRIPT No matching script" },
    ]
  ) {
    assertEquals(readRedirect(reply), undefined);
  }
});

Deno.test("keyInSlot() returns a key of every slot, whatever it begins with", () => {
  for (const prefix of ["", "breaker_probe", "a{b", "a{}"]) {
    for (let slot = 0; slot < 16_384; slot++) {
      const key = keyInSlot(prefix, slot);
      assertEquals(keySlot(key), slot);
      assertEquals(key.subarray(0, -2).toString(), prefix);
    }
  }
  // A hash tag keeps all keys in one slot.
  assertEquals(keyInSlot("{tag}", 7).toString(), "{tag}");
});
