import { assertEquals } from "@std/assert";
import {
  isReadOnlyRefusal,
  isRedisRefusal,
  redisErrorText,
  roleProblem,
  withoutSecrets,
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
