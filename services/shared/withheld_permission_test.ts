import { assertEquals } from "@std/assert";
import { describeError } from "./settled.ts";
import { withheldPermission } from "./withheld_permission.ts";

const WITHOUT = "the program was started without the permission ";

Deno.test("withheldPermission() says what was not permitted, from source and in an executable", () => {
  const cases: readonly (readonly [string, string])[] = [
    [
      'Requires read access to "/a b", run again with the --allow-read flag',
      `${WITHOUT}to read "/a b"`,
    ],
    [
      'Requires write access to "/x", specify the required permissions during ' +
      "compilation using `deno compile --allow-write`",
      `${WITHOUT}to write to "/x"`,
    ],
    [
      'Requires net access to "[::1]:80", run again with the --allow-net flag',
      `${WITHOUT}to connect to or listen on "[::1]:80"`,
    ],
    [
      "Requires env access, run again with the --allow-env flag",
      `${WITHOUT}to read variables`,
    ],
    [
      'Requires all access to "/proc/1/environ", run again with the --allow-all flag',
      '"/proc/1/environ" is a special file, which the program may not open',
    ],
    [
      "Requires --allow-run permissions to spawn subprocess with LD_PRELOAD",
      "the program was started without a permission that this needs",
    ],
  ];
  for (const [message, said] of cases) {
    assertEquals(withheldPermission(message), said);
  }
});

Deno.test({
  name: "describeError() names no flag for whatever the runtime withholds",
  permissions: {
    read: false,
    write: false,
    env: false,
    net: false,
    run: false,
  },
  async fn() {
    const { DatabaseSync } = await import("node:sqlite");
    const { readFileSync } = await import("node:fs");
    const acts: Readonly<Record<string, () => unknown>> = {
      "to read": () => Deno.readTextFileSync("/a"),
      'to read "': () => readFileSync("/a"),
      'to write to "': () => Deno.mkdirSync("/a"),
      "to read the variable": () => Deno.env.get("A"),
      "to connect": () => Deno.listen({ hostname: "127.0.0.1", port: 1 }),
      "to run": () => new Deno.Command("/bin/sh").outputSync(),
      // Opening a database asks for both.
      "without the permission": () => new DatabaseSync("/a"),
    };
    for (const [part, act] of Object.entries(acts)) {
      let said = "";
      try {
        act();
      } catch (error) {
        said = describeError(error);
      }
      assertEquals([said.includes(part), said.includes("--allow")], [
        true,
        false,
      ], `${part}: ${said}`);
    }
  },
});
