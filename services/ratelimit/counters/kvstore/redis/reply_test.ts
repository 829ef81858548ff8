import { assert, assertEquals, assertThrows } from "@std/assert";
import {
  isReadOnlyRefusal,
  isRedisRefusal,
  redisErrorText,
  RedisProtocolError,
  type RedisReply,
  ReplyReader,
  roleProblem,
  withoutSecrets,
} from "./reply.ts";
import { SeededRandom } from "../../../../../tests/support/seeded_random.ts";

Deno.test("redisErrorText() leaves out secrets and repeated arguments", () => {
  assertEquals(
    redisErrorText(new Error("WRONGPASS for s3cret, s3cret"), ["s3cret", ""]),
    "WRONGPASS for ***, ***",
  );
  assertEquals(
    redisErrorText(
      new Error(
        "ERR unknown command 'AUTH', with args beginning with: 'other' 'one'",
      ),
    ),
    "ERR unknown command 'AUTH'",
  );
});

Deno.test("redisErrorText() tells of every address of a name", () => {
  assertEquals(
    redisErrorText(
      new AggregateError([new Error("refused ::1"), new Error("refused v4")]),
    ),
    "refused ::1; refused v4",
  );
});

Deno.test("redisErrorText() says something for errors without text", () => {
  assertEquals(redisErrorText(new TypeError()), "TypeError");
  assertEquals(redisErrorText("text"), "text");
});

Deno.test("redisErrorText() is bounded", () => {
  assertEquals(redisErrorText(new Error("x".repeat(5_000))).length, 200);
});

Deno.test("withoutSecrets() keeps values and lists", () => {
  for (const value of [0, -5, "", "s3cret", null, [], [1, ["a", null]]]) {
    assertEquals(withoutSecrets(value, ["s3cret"]), value);
    assertEquals(isRedisRefusal(withoutSecrets(value, [])), false);
  }
});

Deno.test("withoutSecrets() takes them out of refusals, within lists too", () => {
  const refusal = { refusal: "NOPERM s3cret" };
  assertEquals(withoutSecrets(refusal, ["s3cret"]), { refusal: "NOPERM ***" });
  assertEquals(withoutSecrets([1, refusal], ["s3cret"]), [1, {
    refusal: "NOPERM ***",
  }]);
});

Deno.test("roleProblem() takes masters and those that do not tell", () => {
  for (
    const reply of [
      ["master", 0, []],
      { refusal: "NOPERM this user has no permissions to run 'role'" },
      { refusal: "ERR unknown command 'ROLE'" },
      "OK",
      null,
    ]
  ) {
    assertEquals(roleProblem(reply), undefined);
  }
});

Deno.test("roleProblem() takes no replica and no sentinel", () => {
  assertEquals(
    roleProblem(["slave", "host", 6379, "connected", 0]),
    "it is a replica, no master",
  );
  assertEquals(roleProblem(["sentinel", []]), "it is a sentinel, no master");
});

Deno.test("isReadOnlyRefusal() knows the code, within scripts of old servers too", () => {
  const text = "READONLY You can't write against a read only replica.";
  assertEquals(isReadOnlyRefusal(text), true);
  assertEquals(
    isReadOnlyRefusal(`ERR Error running script: @user_script: 7: -${text}`),
    true,
  );
  assertEquals(isReadOnlyRefusal("ERR unknown command"), false);
});

const encoder = new TextEncoder();

/** Returns the replies that a reader finds in pieces. */
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
    // A reader that kept the piece would show these bytes.
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
