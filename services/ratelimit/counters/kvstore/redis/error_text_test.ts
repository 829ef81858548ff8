import { assertEquals } from "@std/assert";
import { redisErrorText } from "./error_text.ts";

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
