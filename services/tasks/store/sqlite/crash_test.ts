import { assert, assertEquals } from "@std/assert";
import { DatabaseSync } from "node:sqlite";
import { ProcessOutput } from "../../../../tests/support/process_output.ts";
import { countRounds } from "../../../../tests/support/rounds.ts";
import { SeededRandom } from "../../../../tests/support/seeded_random.ts";
import { waitUntil } from "../../../../tests/support/wait_until.ts";
import { withOwnStd } from "../../../../tests/support/with_own_std.ts";
import { databaseVersion } from "../../../shared/sqlite/migrations.ts";
import { verifyChain } from "../../domain/testing/verify_history.ts";
import { sha256 } from "../digest.ts";
import type { Store } from "../store.ts";
import {
  creation,
  sampleIds,
  sampleTask,
  toTransactions,
  withHistory,
} from "../testing/sample_tasks.ts";
import {
  databasePath,
  fileLength,
  integrityCheck,
  logPath,
} from "./database_file.ts";
import { historyCheck } from "./history_check.ts";
import { MIGRATIONS } from "./migrations.ts";
import { withFolder, withStore } from "./testing/open_store.ts";

const FLAGS = ["--no-check", "--no-prompt", "--allow-read", "--allow-write"];
const SEED = 20_261_121;
const TENANT = "tnt_a";
/** The action of audit entries from before a migration. */
const OLD = "a.old";

/**
 * Commits in a process of its own, kills it once `isEnough` and returns the
 * answers it got.
 */
async function commitUntil(
  isEnough: (answers: readonly string[]) => boolean,
  { folder, random }: {
    readonly folder: string;
    readonly random: SeededRandom;
  },
): Promise<readonly string[]> {
  const program = new URL("./testing/committing_process.ts", import.meta.url);
  const child = new Deno.Command(Deno.execPath(), {
    args: [
      ...withOwnStd(["run", ...FLAGS]),
      program.href,
      folder,
      String(random.below(1_000_000)),
    ],
    stdin: "null",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  const output = new ProcessOutput(child.stdout);
  try {
    await waitUntil(() => isEnough(output.lines), {
      ...{ what: "the time to kill", timeoutMs: 30_000, intervalMs: 1 },
    });
    await new Promise((resolve) => setTimeout(resolve, random.below(5)));
  } finally {
    kill(child);
    await child.status;
    await output.ended;
  }
  return output.lines.flatMap((line) => line.split(" "));
}

function kill(child: Deno.ChildProcess): void {
  try {
    child.kill("SIGKILL");
  } catch (error) {
    // The process ended by itself and printed the reason on stderr.
    if (!(error instanceof TypeError)) throw error;
  }
}

Deno.test("whatever was answered is there after a kill, and nothing by halves", async () => {
  const kills = Math.min(10, countRounds(3));
  const random = new SeededRandom(SEED);
  await withFolder(async (folder) => {
    const answered: string[] = [];
    for (let kill = 0; kill < kills; kill++) {
      const lines = 1 + random.below(60);
      const isEnough = (answers: readonly string[]) => answers.length >= lines;
      answered.push(...await commitUntil(isEnough, { folder, random }));
      await withStore(folder, (store) => demandWhole(store, answered));
      assertEquals(
        integrityCheck(folder),
        [],
        `kill ${kill} of ${kills}, seed ${SEED}`,
      );
    }
    assert(
      answered.length > 50 * kills,
      `only ${answered.length} were answered`,
    );
  });
});

Deno.test("a migration that is killed loses nothing, and the next start completes it", async () => {
  const random = new SeededRandom(SEED);
  await withFolder(async (old) => {
    await withStore(old, async (store) => {
      const made = withHistory(sampleTask({ id: sampleIds().next() }), [
        {},
        {},
      ]);
      await store.commit(toTransactions(
        { ...creation(made.task), history: made.history },
        { kind: "usage", tenantId: TENANT, period: "old", executions: 7 },
      ));
    });
    makeVersion3(old);
    const before = rowsIn(old);
    let interrupted = 0;
    for (let round = 0; round < 20 && interrupted < 3; round++) {
      await withFolder(async (folder) => {
        await Deno.copyFile(databasePath(old), databasePath(folder));
        const log = logPath(databasePath(folder));
        const bytes = 1 + random.below(4_000_000);
        await commitUntil(
          (answers) => answers.length > 0 || (fileLength(log) ?? 0) >= bytes,
          { folder, random },
        );
        if (versionIn(folder) === 3) {
          interrupted++;
          assertEquals(rowsIn(folder), before);
        }
        await withStore(folder, () => Promise.resolve());
        assertEquals(versionIn(folder), MIGRATIONS.length);
        assertEquals(rowsIn(folder), before);
        assertEquals(integrityCheck(folder), []);
        assertEquals(historyCheck(folder), []);
      });
    }
    assertEquals(interrupted, 3);
  });
});

/** Makes a database one of version 3, with a long audit log. */
function makeVersion3(folder: string): void {
  const db = new DatabaseSync(databasePath(folder));
  db.exec(`
    DROP TABLE probe;
    DROP TABLE starts;
    DROP TABLE listeners;
    DROP TABLE events;
    DROP TRIGGER history_events;
    DROP TRIGGER audit_events;
    DROP TABLE job_counts;
    DROP TABLE activity;
    DROP INDEX task_counts_top;
    DROP INDEX tasks_failing;
    ALTER TABLE tasks DROP COLUMN failing_ms;
    DROP INDEX tasks_repeating;
    DROP INDEX tasks_repeating_by_creation;
    ALTER TABLE tasks DROP COLUMN repeats;
    DROP INDEX tasks_awaiting;
    ALTER TABLE tasks DROP COLUMN awaits;
    DROP TABLE task_tags;
    ALTER TABLE tasks DROP COLUMN tags;
    ${MIGRATIONS[2]?.sql}
    DELETE FROM migrations WHERE version > 3;
    WITH RECURSIVE entries(number) AS
      (VALUES(1) UNION ALL SELECT number + 1 FROM entries WHERE number < 20000)
    INSERT INTO audit SELECT 1, number, number, '${OLD}', hex(randomblob(200)),
      hex(randomblob(16)) FROM entries;
  `);
  db.close();
}

/** A digest of the rows that were there before the migration. */
function rowsIn(folder: string): string {
  const db = new DatabaseSync(databasePath(folder));
  const first = "(SELECT min(n) FROM tasks)";
  const rows = [
    `SELECT n, id, version, status, lane, body FROM tasks WHERE n = ${first}`,
    `SELECT * FROM history WHERE n = ${first}`,
    "SELECT * FROM usage WHERE period = 'old'",
    `SELECT number, at_ms, text FROM audit WHERE action = '${OLD}'`,
  ].map((sql) => db.prepare(sql).all());
  db.close();
  return sha256(JSON.stringify(rows));
}

function versionIn(folder: string): number {
  const db = new DatabaseSync(databasePath(folder));
  try {
    return databaseVersion(db);
  } finally {
    db.close();
  }
}

async function demandWhole(
  store: Store,
  answered: readonly string[],
): Promise<void> {
  const audited = new Set<string>();
  let before: number | undefined;
  while (true) {
    const lines = await store.audit({
      tenantId: TENANT,
      limit: 1_000,
      ...(before === undefined ? {} : { before }),
    });
    for (const { text } of lines) audited.add(text);
    before = lines.at(-1)?.number;
    if (before === undefined) break;
  }
  for (const id of answered) assert(audited.has(id), `"${id}" is lost`);
  const { executions } = await store.usage(TENANT, "all");
  assertEquals(executions, audited.size);
  const counts = await store.counts({ tenantId: TENANT });
  assertEquals(await store.proveCounts(), 0);
  assertEquals(counts, { waiting: audited.size });
  for (const id of audited) await demandTask(store, id);
}

async function demandTask(store: Store, id: string): Promise<void> {
  const task = await store.task(TENANT, id);
  assertEquals(task?.run, 1, id);
  const { records } = await store.history({
    tenantId: TENANT,
    taskId: id,
    order: "asc",
    limit: 10,
  });
  const verdict = verifyChain(
    records,
    { count: 0, hash: "" },
    sha256,
  );
  assertEquals(verdict, {
    kind: "ok",
    end: { count: 3, hash: task?.historyHash ?? "" },
  });
}
