import { assertEquals } from "@std/assert";
import { CodeChanges } from "./code_changes.ts";

Deno.test("CodeChanges.next() settles when a file holds something else, and not when it is written as it was", async () => {
  const folder = await Deno.makeTempDir();
  const file = `${folder}/inner/a.ts`;
  await Deno.mkdir(`${folder}/inner`);
  await Deno.writeTextFile(file, "one");
  await Deno.writeTextFile(`${folder}/notes.txt`, "one");
  const changes = new CodeChanges([folder], 20);
  try {
    const told: string[] = [];
    const first = changes.next().then(() => told.push("changed"));
    await changes.known();
    await Deno.writeTextFile(`${folder}/notes.txt`, "two");
    await Deno.writeTextFile(file, "one");
    await Deno.writeTextFile(`${folder}/inner/b.ts`, "new");
    await first;
    assertEquals(told, ["changed"]);
    const second = changes.next();
    await Deno.remove(`${folder}/inner/b.ts`);
    await second;
  } finally {
    changes.end();
    await Deno.remove(folder, { recursive: true });
  }
});
