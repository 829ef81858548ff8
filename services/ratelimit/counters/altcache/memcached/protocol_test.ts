import { assert, assertEquals, assertThrows } from "@std/assert";
import { SeededRandom } from "../../../../../tests/support/seeded_random.ts";
import {
  addCommand,
  decrCommand,
  getCommand,
  incrCommand,
  type MemcachedCommand,
  type MemcachedReply,
  readReply,
  versionCommand,
} from "./protocol.ts";

Deno.test("commands are written as the text protocol has them", () => {
  assertEquals(getCommand(["a", "b"]).text, "get a b\r\n");
  assertEquals(
    incrCommand("a", 2 ** 53 - 1).text,
    "incr a 9007199254740991\r\n",
  );
  assertEquals(decrCommand("a", 0).text, "decr a 0\r\n");
  assertEquals(
    addCommand("a", { value: "12", expiry: 60 }).text,
    "add a 0 60 2\r\n12\r\n",
  );
  assertEquals(versionCommand().text, "version\r\n");
});

Deno.test("commands refuse keys that would be taken for more than a key", () => {
  const keys = [
    "",
    "a b",
    "a\r\nflush_all",
    "a\n",
    "é",
    "\x7f",
    "k".repeat(251),
  ];
  for (const key of keys) {
    assertThrows(() => getCommand(["good", key]), RangeError);
    assertThrows(() => incrCommand(key, 1), RangeError);
    assertThrows(() => decrCommand(key, 1), RangeError);
    assertThrows(() => addCommand(key, { value: "1", expiry: 0 }), RangeError);
  }
  getCommand(["k".repeat(250)]);
});

Deno.test("commands refuse numbers and values that can't be written", () => {
  for (const number of [-1, 1.5, 2 ** 53, NaN, Infinity]) {
    assertThrows(() => incrCommand("a", number), RangeError);
    assertThrows(
      () => addCommand("a", { value: "1", expiry: number }),
      RangeError,
    );
  }
  for (const value of ["1\r\n", "é", "1".repeat(1_001)]) {
    assertThrows(() => addCommand("a", { value, expiry: 0 }), RangeError);
  }
});

type ExpectedReply = MemcachedCommand["expected"];

const NUMBER: ExpectedReply = { kind: "number" };
const STORAGE: ExpectedReply = { kind: "storage" };
const VERSION: ExpectedReply = { kind: "version" };
const A_B: ExpectedReply = { kind: "values", keys: ["a", "b"] };

function values(...found: (string | undefined)[]): MemcachedReply {
  return { kind: "values", values: found };
}

const REPLIES: readonly [ExpectedReply, string, MemcachedReply][] = [
  [NUMBER, "7\r\n", { kind: "number", value: 7 }],
  [NUMBER, "7  \r\n", { kind: "number", value: 7 }],
  [NUMBER, "4294967296\r\n", { kind: "number", value: 2 ** 32 }],
  [NUMBER, "18446744073709551615\r\n", { kind: "number", value: 2 ** 64 }],
  [NUMBER, "NOT_FOUND\r\n", { kind: "not_found" }],
  [NUMBER, "CLIENT_ERROR x\r\n", {
    kind: "refused",
    reason: 'the server answered "CLIENT_ERROR x"',
  }],
  [STORAGE, "STORED\r\n", { kind: "stored" }],
  [STORAGE, "NOT_STORED\r\n", { kind: "not_stored" }],
  [STORAGE, "SERVER_ERROR out of memory\r\n", {
    kind: "refused",
    reason: 'the server answered "SERVER_ERROR out of memory"',
  }],
  [VERSION, "VERSION 1.6.18\r\n", { kind: "version", version: "1.6.18" }],
  [A_B, "END\r\n", values(undefined, undefined)],
  [A_B, "VALUE a 0 1\r\n5\r\nEND\r\n", values("5", undefined)],
  [A_B, "VALUE b 0 2\r\n5 \r\nEND\r\n", values(undefined, "5 ")],
  [
    A_B,
    "VALUE a 0 0\r\n\r\nVALUE b 9 5\r\nEND\r\n\r\nEND\r\n",
    values("", "END\r\n"),
  ],
  [A_B, "VALUE a 0 1\r\n5\r\nSERVER_ERROR x\r\n", {
    kind: "refused",
    reason: 'the server answered "SERVER_ERROR x"',
  }],
];

Deno.test("readReply() reads every reply a server gives, and where it ends", () => {
  for (const [expected, text, reply] of REPLIES) {
    assertEquals(readReply(`xx${text}next`, 2, { expected }), {
      kind: "reply",
      reply,
      end: 2 + text.length,
    });
  }
});

Deno.test("readReply() waits for the rest wherever a reply is cut", () => {
  for (const [expected, text] of REPLIES) {
    for (let cut = 0; cut < text.length; cut++) {
      assertEquals(
        readReply(text.slice(0, cut), 0, { expected }),
        { kind: "incomplete" },
        `${text} cut at ${cut}`,
      );
    }
  }
});

Deno.test("readReply() takes nothing else for a reply", () => {
  const wrong: readonly [ExpectedReply, string][] = [
    [NUMBER, "-1\r\n"],
    [NUMBER, "\r\n"],
    [NUMBER, "7 7\r\n"],
    [NUMBER, "7\n\r\n"],
    [NUMBER, "123456789012345678901\r\n"],
    [NUMBER, "STORED\r\n"],
    [NUMBER, "ERROR\r\n"],
    [STORAGE, "7\r\n"],
    [STORAGE, "CLIENT_ERROR bad data chunk\r\n"],
    [STORAGE, "ERROR\r\n"],
    [VERSION, "ERROR Too many open connections\r\n"],
    [A_B, "VALUE c 0 1\r\n5\r\nEND\r\n"],
    [A_B, "VALUE b 0 1\r\n5\r\nVALUE a 0 1\r\n5\r\nEND\r\n"],
    [A_B, "VALUE a 0 1\r\n5\r\nVALUE a 0 1\r\n5\r\nEND\r\n"],
    [A_B, "VALUE a 0 1\r\n55\r\nEND\r\n"],
    [A_B, "VALUE a 0 1025\r\n"],
    [A_B, "VALUE a 0 99999999999\r\n"],
    [A_B, "VALUE a 0 -1\r\n"],
    [A_B, "VALUE a 0 1 7\r\n"],
    [A_B, "CLIENT_ERROR bad command line format\r\n"],
    [A_B, "end\r\n"],
    [A_B, "x".repeat(1_025)],
    [NUMBER, `${"7".repeat(1_025)}\r\n`],
  ];
  for (const [expected, text] of wrong) {
    assertEquals(readReply(text, 0, { expected }).kind, "fault", text);
  }
});

Deno.test("readReply() quotes what the server sent and keeps it short", () => {
  const read = readReply(`\x1b[31m${"x".repeat(900)}\r\n`, 0, {
    expected: NUMBER,
  });
  assert(read.kind === "fault");
  assert(!read.reason.includes("\x1b") && read.reason.length < 250);
});

Deno.test("readReply() ends within the text or says that there is no reply, whatever the bytes", () => {
  const random = new SeededRandom(7);
  const pieces = [
    "VALUE ",
    "a",
    "b",
    " 0 ",
    "1",
    "2",
    "\r\n",
    "\r",
    "\n",
    "END",
    "STORED",
    "NOT_FOUND",
    "SERVER_ERROR ",
    "7",
    "\xff",
    " ",
  ];
  for (let round = 0; round < 20_000; round++) {
    let text = "";
    const count = random.below(12);
    for (let i = 0; i < count; i++) text += random.pick(pieces);
    const expected = random.pick([NUMBER, STORAGE, VERSION, A_B]);
    const read = readReply(text, 0, { expected });
    if (read.kind === "reply") {
      assert(read.end > 0 && read.end <= text.length);
      assert(text.slice(0, read.end).endsWith("\r\n"));
    }
  }
});
