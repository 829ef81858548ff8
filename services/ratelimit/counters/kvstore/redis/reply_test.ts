import { assertEquals } from "@std/assert";
import { ErrorReply } from "redis";
import {
  isReadOnlyRefusal,
  isRedisRefusal,
  redisErrorText,
  redisReply,
  roleProblem,
} from "./reply.ts";

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

Deno.test("redisReply() keeps values and lists", () => {
  for (const value of [0, -5, "", "text", null, [], [1, ["a", null]]]) {
    assertEquals(redisReply(value), value);
    assertEquals(isRedisRefusal(redisReply(value)), false);
  }
});

Deno.test("redisReply() makes refusals of errors, without secrets", () => {
  const reply = redisReply([1, new ErrorReply("NOPERM s3cret")], ["s3cret"]);
  assertEquals(reply, [1, { refusal: "NOPERM ***" }]);
  assertEquals(isRedisRefusal(redisReply(new ErrorReply("ERR"))), true);
});

Deno.test("redisReply() refuses what no server replies with", () => {
  for (const value of [undefined, true, new Map(), new Error("s3cret")]) {
    assertEquals(redisReply(value), { refusal: "an unexpected kind of reply" });
  }
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
