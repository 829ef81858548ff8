import { assert, assertEquals, assertRejects } from "@std/assert";
import { RecordingLogger } from "../../../tests/support/recording_logger.ts";
import { serviceTest } from "../../../tests/support/services.ts";
import { systemClock } from "../../shared/clock.ts";
import { describeError, settle } from "../../shared/settled.ts";
import { StoreMovedError } from "../store/moved.ts";
import { openSubject } from "../store/postgres/testing/postgres_subject.ts";
import { databasePath, openWriting } from "../store/sqlite/database_file.ts";
import { MovingFolder } from "../store/sqlite/moving_folder.ts";
import { SqliteStore } from "../store/sqlite/sqlite_store.ts";
import { withFolder, withStore } from "../store/sqlite/testing/open_store.ts";
import type { Store } from "../store/store.ts";
import { createMemoryStore } from "../store/testing/memory_store.ts";
import { SAMPLE_MS } from "../store/testing/sample_tasks.ts";
import { type MoveProgress, moveRows } from "./move.ts";
import { encodeRow } from "./row_text.ts";
import { RowStories } from "./testing/row_stories.ts";
import { demandWhole, findTransfer } from "./transfer_mark.ts";
import { readRows } from "./transfer_rows.ts";

const TO = "postgres://tasks@db.example/tasks";

/** All rows as text, of answers those that live long. */
async function textOf(store: Store): Promise<string> {
  return await store.snapshot(async (rows) => {
    let text = "";
    for await (const row of readRows(rows, { nowMs: 4e12 })) {
      text += `${encodeRow(row)}\n`;
    }
    return text;
  });
}

function memoryStore(): Store {
  return createMemoryStore({ clock: systemClock });
}

/** A folder and a store that serves it. */
async function withService(
  use: (service: Store, folder: string) => Promise<void>,
): Promise<void> {
  await withFolder((folder) =>
    withStore(folder, (service) => use(service, folder))
  );
}

async function move(
  folder: string,
  target: Store,
  {
    onProgress = () => {},
    maxFreezeMs = 4_500,
  }: {
    readonly onProgress?: (progress: MoveProgress) => void;
    readonly maxFreezeMs?: number;
  } = {},
) {
  const source = new MovingFolder(folder, { nowMs: Date.now });
  try {
    return await moveRows({
      source,
      from: `the folder "${folder}"`,
      target,
      to: TO,
      clock: systemClock,
      onProgress,
      maxFreezeMs,
    });
  } finally {
    source.close();
  }
}

async function isMoved(service: Store): Promise<boolean> {
  const checked = await settle(() => service.check());
  return checked.kind !== "ok" && checked.error instanceof StoreMovedError;
}

/** A move of a folder whose service writes on until it is refused. */
async function moveBusy(
  folder: string,
  { service, stories, target }: {
    readonly service: Store;
    readonly stories: RowStories;
    readonly target: Store;
  },
) {
  let isEnded = false;
  const writing = (async () => {
    for (let written = 0;; written++) {
      const outcome = await settle(() => stories.write(service, 1));
      if (outcome.kind === "ok" && !isEnded) continue;
      const isRefused = outcome.kind === "failed" &&
        outcome.error instanceof StoreMovedError;
      return { written, isRefused };
    }
  })();
  try {
    const moved = await move(folder, target);
    return { moved, ...await writing };
  } finally {
    isEnded = true;
    await writing;
  }
}

for (const seed of [1, 2, 3]) {
  Deno.test(`moveRows() takes all that a busy service has acknowledged, story ${seed}`, async () => {
    await withService(async (service, folder) => {
      const stories = new RowStories(seed);
      await stories.write(service, 300);
      const target = memoryStore();
      const { moved, written, isRefused } = await moveBusy(folder, {
        service,
        stories,
        target,
      });
      assertEquals([moved.kind, isRefused], ["moved", true]);
      assert(moved.kind === "moved" && moved.frozenMs < 5_000);
      assert(written > 0);
      const model = memoryStore();
      await new RowStories(seed).write(model, 300 + written);
      assert(await textOf(target) === await textOf(model));
      await demandWhole(target);
    });
  });
}

serviceTest(["postgres"], {
  name:
    "moveRows() takes all that a busy service has acknowledged to PostgreSQL",
  async fn() {
    const subject = await openSubject();
    try {
      await withService(async (service, folder) => {
        const stories = new RowStories(4);
        await stories.write(service, 300);
        const { moved, written, isRefused } = await moveBusy(folder, {
          service,
          stories,
          target: subject.store,
        });
        assertEquals(
          [moved.kind, isRefused],
          ["moved", true],
          Deno.inspect(moved),
        );
        const model = memoryStore();
        await new RowStories(4).write(model, 300 + written);
        assert(await textOf(subject.store) === await textOf(model));
        assertEquals(await subject.store.proveCounts(), 0);
      });
    } finally {
      await subject.close();
    }
  },
});

Deno.test("moveRows() leaves a folder whose service answers nothing more and does not start", async () => {
  await withFolder(async (folder) => {
    await withStore(folder, async (service) => {
      await new RowStories(5).write(service, 50);
      await move(folder, memoryStore());
      const beat = {
        id: "ins_1",
        version: "1",
        address: "",
        wants: [],
        sinceLastMs: undefined,
      };
      await assertRejects(() => service.beat(beat), StoreMovedError, TO);
      await assertRejects(() => service.check(), StoreMovedError, TO);
      await assertRejects(() => service.tenantQueues(), StoreMovedError, TO);
      await assertRejects(
        () => service.sweep(SAMPLE_MS + 1_000, 10),
        StoreMovedError,
      );
    });
    const again = new SqliteStore({
      dataFolder: folder,
      clock: systemClock,
      logger: new RecordingLogger(),
    });
    await assertRejects(() => again.start(), Error, `has moved to ${TO}`);
    await assertRejects(() => move(folder, memoryStore()), Error, TO);
  });
});

Deno.test("moveRows() goes on after it ended anywhere, with rows that changed and went meanwhile", async () => {
  await withService(async (service, folder) => {
    const stories = new RowStories(6);
    await stories.write(service, 200);
    const inner = memoryStore();
    let writes = 200;
    for (let ends = 1;; ends++) {
      let commits = 0;
      const dying: Store = {
        ...inner,
        commit: (transactions) =>
          ++commits > ends
            ? Promise.reject(new Error("killed"))
            : inner.commit(transactions),
      };
      const moved = await settle(() => move(folder, dying));
      if (moved.kind === "ok") break;
      assertEquals(describeError(moved.error), "killed");
      await assertRejects(() => demandWhole(inner), Error, "has not ended");
      if (await isMoved(service)) break;
      // The service goes on.
      await stories.write(service, 30);
      writes += 30;
    }
    assert(writes > 300);
    if ((await findTransfer(inner)) !== undefined) {
      assertEquals((await move(folder, inner)).kind, "finished");
    }
    const model = memoryStore();
    await new RowStories(6).write(model, writes);
    assert(await textOf(inner) === await textOf(model));
  });
});

Deno.test("moveRows() lets the service go on when the last copy takes too long", async () => {
  await withService(async (service, folder) => {
    const stories = new RowStories(7);
    await stories.write(service, 100);
    const inner = memoryStore();
    let isFrozen = false;
    let freezes = 0;
    const slow: Store = {
      ...inner,
      usage: async (...of) => {
        if (isFrozen) await new Promise((resolve) => setTimeout(resolve, 60));
        return await inner.usage(...of);
      },
    };
    const db = openWriting(databasePath(folder), "relaxed");
    await assertRejects(
      () =>
        move(folder, slow, {
          maxFreezeMs: 20,
          onProgress: ({ step }) => {
            if (step === "following") {
              db.exec("UPDATE usage SET executions = executions");
            }
            isFrozen = step === "freezing";
            if (isFrozen) freezes++;
          },
        }),
      Error,
      "could not be copied within 20 ms",
    );
    db.close();
    assertEquals(freezes, 5);
    await stories.write(service, 10);
    assertEquals((await move(folder, inner)).kind, "moved");
  });
});

Deno.test("moveRows() tells what differs and lets the service go on", async () => {
  await withService(async (service, folder) => {
    const stories = new RowStories(8);
    await stories.write(service, 100);
    const inner = memoryStore();
    const lossy: Store = {
      ...inner,
      commit: async (transactions) =>
        await inner.commit(transactions.map(({ writes }) => ({
          writes: writes.filter(({ kind }) => kind !== "audit"),
        }))),
    };
    const moved = await move(folder, lossy);
    assert(moved.kind === "differs");
    assert(moved.differences.length > 0);
    await stories.write(service, 10);
    await assertRejects(() => demandWhole(inner), Error, "has not ended");
  });
});

Deno.test("moveRows() refuses a store with other rows", async () => {
  await withService(async (service, folder) => {
    await new RowStories(9).write(service, 10);
    const target = memoryStore();
    await new RowStories(10).write(target, 10);
    const before = await textOf(target);
    await assertRejects(() => move(folder, target), Error, "rows already");
    assertEquals(await textOf(target), before);
  });
});

Deno.test("moveRows() takes away the mark of a store when only that is left to do", async () => {
  await withService(async (service, folder) => {
    await new RowStories(11).write(service, 30);
    const inner = memoryStore();
    const dying: Store = {
      ...inner,
      commit: (transactions) =>
        transactions.some(({ writes: [write] }) =>
            write?.kind === "record" && write.id === "transfer" &&
            write.next === undefined
          )
          ? Promise.reject(new Error("killed"))
          : inner.commit(transactions),
    };
    await assertRejects(() => move(folder, dying), Error, "killed");
    await assertRejects(() => demandWhole(inner), Error, "has not ended");
    assertEquals((await move(folder, inner)).kind, "finished");
    await demandWhole(inner);
  });
});
