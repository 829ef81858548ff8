import { assertEquals } from "@std/assert";
import { isReadOnlyRefusal, roleProblem } from "./role.ts";

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
