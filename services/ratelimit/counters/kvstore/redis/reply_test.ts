import { assertEquals } from "@std/assert";
import { ErrorReply } from "redis";
import { isRedisRefusal, redisReply } from "./reply.ts";

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
