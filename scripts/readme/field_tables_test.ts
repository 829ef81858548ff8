import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { TASK_STATUSES } from "../../services/tasks/domain/task.ts";
import { fieldsMarkdown } from "./field_tables.ts";

Deno.test("fieldsMarkdown() has a row for each field and those within it", async () => {
  const rows = (await fieldsMarkdown({ schema: "Retain" })).split("\n");
  assertEquals(rows.slice(0, 2), [
    "| field | takes | means |",
    "| --- | --- | --- |",
  ]);
  assertEquals(rows.slice(2).map((row) => row.split("|")[1]?.trim()), [
    "`succeeded`",
    "`failed`",
  ]);
  const all = await fieldsMarkdown({ schema: "NewTask" });
  assertStringIncludes(
    all,
    "| `debounce.window` | Duration | Required time without a request with the key |",
  );
  assertStringIncludes(all, "| one of `fail`, `run`, `wait` |");
});

Deno.test("fieldsMarkdown() leaves out the fields of another schema", async () => {
  const added = await fieldsMarkdown({ schema: "Task", without: "NewTask" });
  assertEquals(added.includes("| `priority` |"), false);
  assertStringIncludes(added, "| `error.code` |");
});

Deno.test("fieldsMarkdown() refuses what is no object", async () => {
  for (const schema of ["Nothing", "Task.priority", "Worker.nothing"]) {
    await assertRejects(
      () => fieldsMarkdown({ schema }),
      Error,
      `Cannot make table: there is no object "${schema}"`,
    );
  }
});

Deno.test("the reference of tasks explains every status", async () => {
  const page = await Deno.readTextFile(
    new URL("../../docs/reference/tasks.md", import.meta.url),
  );
  const [, section = ""] = /\n## Statuses\n([^]*?)\n## /.exec(page) ?? [];
  for (const status of TASK_STATUSES) {
    assertEquals(section.split(`\n| \`${status}\``).length, 2, status);
  }
});
