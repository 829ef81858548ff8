import { assert, assertEquals, assertThrows } from "@std/assert";
import { SeededRandom } from "../../../../../tests/support/seeded_random.ts";
import type { RedisReply } from "./reply.ts";
import { RedisProtocolError, ReplyReader } from "./reply_reader.ts";

const encoder = new TextEncoder();

/** What a reader makes of pieces. */
function read(
  pieces: readonly Uint8Array[],
  maxReplyBytes?: number,
): readonly RedisReply[] {
  const replies: RedisReply[] = [];
  const reader = new ReplyReader({
    onReply: (reply) => replies.push(reply),
    ...(maxReplyBytes === undefined ? {} : { maxReplyBytes }),
  });
  for (const piece of pieces) {
    const given = piece.slice();
    reader.push(given);
    // A reader that kept the piece would show it.
    given.fill(0x7a);
  }
  return replies;
}

function bytes(text: string): Uint8Array {
  return encoder.encode(text);
}

const CASES: readonly (readonly [text: string, reply: RedisReply])[] = [
  [":0\r\n", 0],
  [":-17\r\n", -17],
  [":9007199254740991\r\n", Number.MAX_SAFE_INTEGER],
  ["+OK\r\n", "OK"],
  ["+\r\n", ""],
  ["-ERR no\r\n", { refusal: "ERR no" }],
  ["$0\r\n\r\n", ""],
  ["$6\r\nüber\r\r\n", "über\r"],
  ["$4\r\na\r\nb\r\n", "a\r\nb"],
  ["$-1\r\n", null],
  ["*-1\r\n", null],
  ["*0\r\n", []],
  ["*3\r\n:1\r\n$1\r\na\r\n*2\r\n-NOPERM\r\n$-1\r\n", [
    1,
    "a",
    [{ refusal: "NOPERM" }, null],
  ]],
];

Deno.test("ReplyReader.push() reads each kind of reply", () => {
  for (const [text, reply] of CASES) {
    assertEquals(read([bytes(text)]), [reply], JSON.stringify(text));
  }
});

Deno.test("ReplyReader.push() reads the same from any pieces", () => {
  const all = bytes(CASES.map(([text]) => text).join(""));
  const expected = CASES.map(([, reply]) => reply);
  for (let at = 1; at < all.length; at++) {
    assertEquals(read([all.subarray(0, at), all.subarray(at)]), expected);
  }
  assertEquals(read(Array.from(all, (byte) => Uint8Array.of(byte))), expected);
  const random = new SeededRandom(17);
  for (let round = 0; round < 200; round++) {
    const pieces: Uint8Array[] = [];
    for (let at = 0; at < all.length;) {
      const end = Math.min(all.length, at + 1 + Math.floor(random.next() * 9));
      pieces.push(all.subarray(at, end));
      at = end;
    }
    assertEquals(read(pieces), expected);
  }
});

Deno.test("ReplyReader.push() throws at what is no reply", () => {
  for (
    const text of [
      "what is this\r\n",
      ":\r\n",
      ":1x\r\n",
      ":1\rx",
      ":--1\r\n",
      `:${"1".repeat(21)}`,
      "$-2\r\n",
      "$1\r\nab\r\n",
      "$x\r\n",
      "*-2\r\n",
      "+a\rb",
      ">1\r\n",
      "*1\r\n".repeat(9) + ":1\r\n",
    ]
  ) {
    assertThrows(
      () => read([bytes(text)]),
      RedisProtocolError,
      undefined,
      JSON.stringify(text),
    );
    const single = Array.from(bytes(text), (byte) => Uint8Array.of(byte));
    assertThrows(() => read(single), RedisProtocolError);
  }
});

Deno.test("ReplyReader.push() throws only its own error at random bytes", () => {
  const random = new SeededRandom(18);
  const alphabet = bytes(":+-$*0123456789\r\na");
  for (let round = 0; round < 2_000; round++) {
    const pieces = Array.from({ length: 8 }, () =>
      Uint8Array.from(
        { length: 8 },
        () => alphabet[Math.floor(random.next() * alphabet.length)]!,
      ));
    try {
      read(pieces, 1_000);
    } catch (error) {
      assert(error instanceof RedisProtocolError, String(error));
    }
  }
});

Deno.test("ReplyReader.push() holds no reply that is too long", () => {
  assertThrows(() => read([bytes("$1001\r\n")], 1_000), RedisProtocolError);
  assertThrows(
    () => read([bytes(`+${"x".repeat(600)}`), bytes("x".repeat(600))], 1_000),
    RedisProtocolError,
  );
  const long = "x".repeat(900);
  assertEquals(read([bytes(`$900\r\n`), bytes(`${long}\r\n`)], 1_000), [long]);
});
