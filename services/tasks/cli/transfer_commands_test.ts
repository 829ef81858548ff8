import { assert, assertEquals, assertMatch } from "@std/assert";
import { systemClock } from "../../shared/clock.ts";
import { readSettings } from "../../shared/settings.ts";
import { tasksSettings } from "../settings.ts";
import { withFolder, withStore } from "../store/sqlite/testing/open_store.ts";
import { RowStories } from "../transfer/testing/row_stories.ts";
import { serviceTest } from "../../../tests/support/services.ts";
import { openInboxBed } from "../routes/tasks/testing/inbox_bed.ts";
import { TEST_SERVER } from "../store/postgres/testing/postgres_subject.ts";
import { runCheck } from "./data_commands.ts";
import { readDataSettings } from "./testing/data_settings.ts";
import { runMove } from "./move.ts";
import { runExport, runImport } from "./transfer_commands.ts";

interface Told {
  readonly out: string[];
  readonly err: string[];
}

/** Options as the program gives them, with some variables set. */
function options(variables: Readonly<Record<string, string>> = {}) {
  const told: Told = { out: [], err: [] };
  const settings = readSettings(tasksSettings, (name) => variables[name]);
  return {
    told,
    settings,
    clock: systemClock,
    io: {
      out: (text: string) => void told.out.push(text),
      err: (text: string) => void told.err.push(text),
    },
  };
}

/** The lines of a file that tell of rows. */
async function rowLines(path: string): Promise<readonly string[]> {
  return (await Deno.readTextFile(path)).trimEnd().split("\n").slice(1, -1);
}

Deno.test("runExport() and runImport() carry rows to another folder while a store is open", async () => {
  await withFolder(async (folder) => {
    const [one, other] = [`${folder}/one`, `${folder}/other`];
    await Deno.mkdir(one);
    const file = `${folder}/tasks.jsonl`;
    await withStore(one, async (store) => {
      await new RowStories(1).write(store, 100);
      const exporting = options({ DATA_DIR: one });
      assertEquals(await runExport([file, "--json"], exporting), 0);
      const told = JSON.parse(exporting.told.out[0] ?? "");
      assertEquals(told.file, file);
      assert(told.counts.task > 0);
    });
    assertEquals((await Deno.stat(file)).mode! & 0o777, 0o600);
    const importing = options();
    assertEquals(await runImport([file, "--data-dir", other], importing), 0);
    assertMatch(
      importing.told.out[0] ?? "",
      /^Imported ".*": 5 tenants, \d+ tasks, /,
    );
    assertEquals(importing.told.err, []);
    const back = `${folder}/back.jsonl`;
    assertEquals(await runExport([back, "--data-dir", other], options()), 0);
    assertEquals(await rowLines(back), await rowLines(file));
  });
});

Deno.test("runExport() writes a single tenant", async () => {
  await withFolder(async (folder) => {
    await withStore(folder, (store) => new RowStories(2).write(store, 100));
    const file = `${folder}/tasks.jsonl`;
    const args = [file, "--data-dir", folder, "--tenant"];
    assertEquals(await runExport([...args, "tnt_a"], options()), 0);
    const tenants = (await rowLines(file)).filter((line) =>
      line.startsWith('{"kind":"tenant"')
    );
    assertEquals(tenants, ['{"kind":"tenant","id":"tnt_a"}']);
    await Deno.remove(file);
    const missing = options();
    assertEquals(await runExport([...args, "tnt_none"], missing), 1);
    assertEquals(missing.told.err, ['Cannot export: no tenant is "tnt_none"']);
    assertEquals(await isThere(file), false);
  });
});

serviceTest(["postgres"], {
  name: "runExport() tells how many requests wait that are not in the file",
  async fn() {
    const bed = await openInboxBed();
    const { tenant } = bed.api;
    const { tenant: other } = await bed.api.addTenant("globex");
    const variables = {
      STORE: "postgres",
      DATABASE_URL: TEST_SERVER.url,
      DATABASE_SCHEMA: bed.subject.schema,
    };
    await withFolder(async (folder) => {
      let files = 0;
      const run = async (...args: readonly string[]): Promise<Told> => {
        const exporting = options(variables);
        const file = `${folder}/${files++}.jsonl`;
        assertEquals(await runExport([file, ...args], exporting), 0);
        assert(!(await Deno.readTextFile(file)).includes("waits_yet"));
        return exporting.told;
      };
      assertEquals((await run()).err, []);
      for (let count = 0; count < 2; count++) await bed.enqueue("waits_yet");
      const [line = ""] = (await run()).err;
      assertMatch(line, /^2 requests from transactions wait and are not in/);
      const waiting = async (id: string): Promise<unknown> =>
        JSON.parse((await run("--json", "--tenant", id)).out[0]!).waiting;
      assertEquals([await waiting(tenant.id), await waiting(other.id)], [2, 0]);
      // Waiting requests are no fault of the data.
      const checking = options(variables);
      const settings = readDataSettings(variables);
      assertEquals(await runCheck([], { ...checking, settings }), 0);
      assertEquals(checking.told.err, []);
    });
    await bed.close();
  },
});

Deno.test("runExport() and runImport() leave what is there and say why", async () => {
  await withFolder(async (folder) => {
    const file = `${folder}/tasks.jsonl`;
    const none = options();
    assertEquals(await runExport([file, "--data-dir", folder], none), 1);
    assertMatch(none.told.err[0] ?? "", /there is no such database/);
    await withStore(folder, (store) => new RowStories(3).write(store, 20));
    await Deno.writeTextFile(file, "mine");
    const taken = options();
    assertEquals(await runExport([file, "--data-dir", folder], taken), 1);
    assertMatch(taken.told.err[0] ?? "", /there is a file already/);
    assertEquals(await Deno.readTextFile(file), "mine");
    assertEquals(await isThere(`${file}.part`), false);
    await Deno.remove(file);
    assertEquals(await runExport([file, "--data-dir", folder], options()), 0);
    const full = options();
    assertEquals(await runImport([file, "--data-dir", folder], full), 1);
    assertMatch(full.told.err[0] ?? "", /the store has tenants already/);
    const wrong = options({ STORE: "stone" });
    assertEquals(await runExport([file], wrong), 1);
    assertMatch(wrong.told.err[0] ?? "", /STORE/);
  });
});

Deno.test("commands that copy rows exit with 2 after wrong arguments", async () => {
  for (const args of [[""], ["a", "b"], ["--nothing"]]) {
    assertEquals(await runExport(args, options()), 2);
    assertEquals(await runImport(args, options()), 2);
  }
  assertEquals(await runMove([], options()), 2);
  const wrong = options();
  assertEquals(await runMove(["--to", "mysql://secret@host/a"], wrong), 1);
  assert(!wrong.told.err.join().includes("secret"));
});

async function isThere(path: string): Promise<boolean> {
  try {
    await Deno.stat(path);
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}
