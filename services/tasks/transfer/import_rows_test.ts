import { assert, assertEquals, assertRejects } from "@std/assert";
import { serviceTest } from "../../../tests/support/services.ts";
import { systemClock } from "../../shared/clock.ts";
import { openSubject } from "../store/postgres/testing/postgres_subject.ts";
import { withFolder, withStore } from "../store/sqlite/testing/open_store.ts";
import type { Store } from "../store/store.ts";
import { createMemoryStore } from "../store/testing/memory_store.ts";
import { SAMPLE_MS } from "../store/testing/sample_tasks.ts";
import { writeExport } from "./export_file.ts";
import { importFile } from "./import_rows.ts";
import { RowStories } from "./testing/row_stories.ts";
import { demandWhole } from "./transfer_mark.ts";
import { scopeOfTenant, type TransferScope } from "./transfer_rows.ts";

const WHOLE: TransferScope = { nowMs: SAMPLE_MS };

/** The export of a store as one text. */
async function exported(
  store: Store,
  scope: TransferScope = WHOLE,
): Promise<string> {
  const parts: Uint8Array<ArrayBuffer>[] = [];
  await store.snapshot((rows) =>
    writeExport(rows, {
      ...scope,
      write: (bytes) => {
        parts.push(bytes.slice());
        return Promise.resolve();
      },
    })
  );
  return await new Blob(parts).text();
}

function memoryStore(): Store {
  return createMemoryStore({ clock: systemClock });
}

async function storyOf(seed: number, times = 400): Promise<string> {
  const store = memoryStore();
  await new RowStories(seed).write(store, times);
  return await exported(store);
}

async function withFile(
  text: string,
  use: (path: string) => Promise<void>,
): Promise<void> {
  await withFolder(async (folder) => {
    const path = `${folder}/tasks.jsonl`;
    await Deno.writeTextFile(path, text);
    await use(path);
  });
}

function importTo(store: Store, path: string, resumes = false) {
  return importFile(store, { path, resumes, onProgress: () => {} });
}

for (const seed of [1, 2, 3]) {
  Deno.test(`importFile() gives SQLite and memory what was exported, story ${seed}`, async () => {
    const text = await storyOf(seed);
    await withFile(text, async (path) => {
      await withFolder((folder) =>
        withStore(folder, async (store) => {
          const { differences } = await importTo(store, path);
          assertEquals(differences, []);
          assert(await exported(store) === text);
          assertEquals(await store.proveCounts(), 0);
          await demandWhole(store);
        })
      );
      const store = memoryStore();
      await importTo(store, path);
      assert(await exported(store) === text);
    });
  });
}

serviceTest(["postgres"], {
  name: "importFile() gives PostgreSQL and SQLite what the other has",
  async fn() {
    const text = await storyOf(4);
    await withFile(text, async (path) => {
      const subject = await openSubject();
      try {
        const { store } = subject;
        assertEquals((await importTo(store, path)).differences, []);
        const again = await exported(store);
        assert(again === text);
        assertEquals(await store.proveCounts(), 0);
        await Deno.writeTextFile(path, again);
      } finally {
        await subject.close();
      }
      await withFolder((folder) =>
        withStore(folder, async (store) => {
          await importTo(store, path);
          assert(await exported(store) === text);
        })
      );
    });
  },
});

Deno.test("importFile() goes on after an end at any commit, and no service starts before", async () => {
  const text = await storyOf(5, 150);
  await withFile(text, async (path) => {
    let isDone = false;
    for (let after = 1; !isDone; after += 2) {
      const inner = memoryStore();
      let left = after;
      const dying: Store = {
        ...inner,
        commit: async (transactions) => {
          const part = transactions.slice(0, left);
          left -= part.length;
          const results = await inner.commit(part);
          if (part.length < transactions.length) throw new Error("killed");
          return results;
        },
      };
      try {
        await importTo(dying, path);
        isDone = true;
        continue;
      } catch (error) {
        assertEquals((error as Error).message, "killed");
      }
      await assertRejects(() => demandWhole(inner), Error, "has not ended");
      await assertRejects(() => importTo(inner, path), Error, "--resume");
      const { differences } = await importTo(inner, path, true);
      assertEquals(differences, []);
      assert(await exported(inner) === text);
    }
  });
});

Deno.test("importFile() passes over the rows that are there", async () => {
  const text = await storyOf(6);
  await withFile(text, async (path) => {
    const inner = memoryStore();
    const failing: Store = {
      ...inner,
      snapshot: () => Promise.reject(new Error("killed")),
    };
    const dying: Store = {
      ...failing,
      snapshot: (read) =>
        failing.snapshot === undefined ? inner.snapshot(read) : dyingOnce(read),
    };
    let calls = 0;
    function dyingOnce<Answer>(
      read: Parameters<typeof inner.snapshot<Answer>>[0],
    ): Promise<Answer> {
      calls++;
      // The first one looks whether the store is empty, the second compares.
      return calls === 1
        ? inner.snapshot(read)
        : Promise.reject(new Error("killed"));
    }
    await assertRejects(() => importTo(dying, path), Error, "killed");
    const { written, counts } = await importTo(inner, path, true);
    // Answers are written again, and entries of audit logs are tried again.
    assertEquals(written, counts.answer + counts.audit);
  });
});

Deno.test("importFile() refuses a store that has tenants, or another copy", async () => {
  await withFile(await storyOf(7), async (path) => {
    const store = memoryStore();
    await new RowStories(8).write(store, 50);
    const before = await exported(store);
    await assertRejects(
      () => importTo(store, path),
      Error,
      "the store has tenants already",
    );
    assertEquals(await exported(store), before);
    await assertRejects(
      () => importTo(store, path, true),
      Error,
      "the store has tenants already",
    );
  });
});

Deno.test("importFile() refuses a store that instances use", async () => {
  await withFile(await storyOf(7, 20), async (path) => {
    const store = memoryStore();
    await store.beat({
      id: "ins_1",
      version: "1",
      address: "",
      wants: [],
      sinceLastMs: undefined,
    });
    await assertRejects(
      () => importTo(store, path),
      Error,
      "1 instances of the service use it",
    );
  });
});

Deno.test("importFile() notices a file that was cut or changed", async () => {
  const text = await storyOf(9, 60);
  const lines = text.trimEnd().split("\n");
  const end = lines.at(-1) ?? "";
  const history = lines.findIndex((line) => line.startsWith('{"kind":"hist'));
  const usage = lines.findIndex((line) => line.startsWith('{"kind":"usage"'));
  const faults: readonly (readonly [string, string, string])[] = [
    ["cut in a line", text.slice(0, -40), "was cut off"],
    ["cut after a line", `${lines.slice(0, -3).join("\n")}\n`, "was cut off"],
    [
      "a line left out",
      `${lines.toSpliced(usage, 1).join("\n")}\n`,
      "lines before it are missing: it tells",
    ],
    [
      "a changed number",
      text.replace('"executions":', '"executions":1'),
      "lines before it were changed",
    ],
    [
      "a changed history",
      text.replace('\\"type\\":\\"log\\"', '\\"type\\":\\"due\\"'),
      "its content has another hash",
    ],
    [
      "a history left out",
      `${lines.toSpliced(history, 1).join("\n")}\n`,
      "it is not the last one",
    ],
    ["lines behind the end", `${text}${end}\n`, "lines follow the last one"],
    ["no JSON", text.replace('{"kind":"tenant"', "{kind"), "it is not JSON"],
    ["nothing", "", "it is empty"],
    ["another file", "{}\n", '"kind" is not a text'],
    [
      "a later version",
      text.replace('"version":1', '"version":2'),
      "the export is of version 2",
    ],
  ];
  for (const [name, changed, message] of faults) {
    await withFile(changed, async (path) => {
      await assertRejects(
        () => importTo(memoryStore(), path),
        Error,
        message,
        name,
      );
    });
  }
});

Deno.test("importFile() tells what differs and keeps services from the store", async () => {
  const text = await storyOf(10, 100);
  await withFile(text, async (path) => {
    const inner = memoryStore();
    let isFirst = true;
    const lossy: Store = {
      ...inner,
      commit: async (transactions) => {
        const results = await inner.commit(
          transactions.filter(({ writes: [write] }) =>
            write?.kind !== "usage" || !isFirst
          ),
        );
        if (transactions.some(({ writes: [of] }) => of?.kind === "usage")) {
          isFirst = false;
        }
        return transactions.map((_, index) => results[index] ?? { kind: "ok" });
      },
    };
    const { differences } = await importTo(lossy, path);
    assert(differences.length > 0);
    assert(
      differences.every((text) => /^the usage in .* is missing$/.test(text)),
      differences.join("\n"),
    );
    await assertRejects(() => demandWhole(inner), Error, "has not ended");
    assertEquals((await importTo(inner, path, true)).differences, []);
  });
});

Deno.test("importFile() adds one tenant to a store with others", async () => {
  const source = memoryStore();
  await new RowStories(11).write(source, 300);
  await source.commit([{
    writes: [{
      kind: "record",
      recordKind: "tenant",
      tenantId: "",
      id: "tnt_a",
      expectedVersion: 0,
      next: {
        kind: "tenant",
        tenantId: "",
        id: "tnt_a",
        version: 4,
        alias: "a.example",
        text: "{}",
      },
    }],
  }]);
  const scope = scopeOfTenant("tnt_a", SAMPLE_MS);
  const text = await exported(source, scope);
  await withFile(text, async (path) => {
    const store = memoryStore();
    const other = scopeOfTenant("tnt_x", SAMPLE_MS);
    await store.commit([{
      writes: [{
        kind: "usage",
        tenantId: "tnt_x",
        period: "2026-01",
        executions: 1,
      }],
    }]);
    const before = await exported(store, other);
    assertEquals((await importTo(store, path)).differences, []);
    assert(await exported(store, scope) === text);
    assertEquals(await exported(store, other), before);
    await assertRejects(
      () => importTo(store, path),
      Error,
      'the store has tenant "tnt_a" already',
    );
  });
});
