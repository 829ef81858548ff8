import { assert, assertEquals } from "@std/assert";
import { createHash } from "node:crypto";
import { ProcessOutput } from "../../../../tests/support/process_output.ts";
import { roundsOf } from "../../../../tests/support/rounds.ts";
import { SeededRandom } from "../../../../tests/support/seeded_random.ts";
import { waitUntil } from "../../../../tests/support/wait_until.ts";
import { withOwnStd } from "../../../../tests/support/with_own_std.ts";
import { verifyChain } from "../../domain/testing/verify_history.ts";
import type { Store } from "../store.ts";
import { integrityCheck } from "./database_file.ts";
import { withFolder, withStore } from "./testing/open_store.ts";

const FLAGS = ["--no-check", "--no-prompt", "--allow-read", "--allow-write"];
const SEED = 20_261_121;
const TENANT = "tnt_a";

/** Commits in a process of its own, kills it and returns the answers it got. */
async function commitAndKill(
  folder: string,
  random: SeededRandom,
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
    const lines = 1 + random.below(60);
    await waitUntil(() => output.lines.length >= lines, {
      what: `${lines} answers`,
      timeoutMs: 30_000,
      intervalMs: 1,
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
  const kills = Math.min(10, roundsOf(3));
  const random = new SeededRandom(SEED);
  await withFolder(async (folder) => {
    const answered: string[] = [];
    for (let kill = 0; kill < kills; kill++) {
      answered.push(...await commitAndKill(folder, random));
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
    (text) => createHash("sha256").update(text).digest("base64url"),
  );
  assertEquals(verdict, {
    kind: "ok",
    end: { count: 3, hash: task?.historyHash ?? "" },
  });
}
