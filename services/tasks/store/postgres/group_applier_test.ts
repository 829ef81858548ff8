import { assertEquals } from "@std/assert";
import { startPgBouncer } from "../../../../tests/support/pgbouncer.ts";
import { serviceTest } from "../../../../tests/support/services.ts";
import { systemClock } from "../../../shared/clock.ts";
import { openPool } from "../../../shared/postgres/pool.ts";
import { openSession } from "../../../shared/postgres/session.ts";
import { ServerWatch } from "../../../shared/postgres/server_watch.ts";
import type { Write } from "../store.ts";
import {
  change,
  changed,
  creation,
  sampleIds,
  sampleTask,
} from "../testing/sample_tasks.ts";
import { conflictCode } from "../result_codes.ts";
import { GroupApplier } from "./group_applier.ts";
import { InternedNames } from "./interned_names.ts";
import { KnownTasks } from "./known_tasks.ts";
import { LimitLocks } from "./limit_locks.ts";
import { prepareWrite } from "./prepared_write.ts";
import {
  openSubject,
  SILENT,
  TEST_SERVER,
} from "./testing/postgres_subject.ts";

const REFUSED = [conflictCode(0, "version")];

/** Calls `run` with an applier over one connection. */
async function withApplier(
  run: (applier: GroupApplier) => Promise<void>,
  { connection = TEST_SERVER.connection(), hasSessions = true } = {},
): Promise<void> {
  const subject = await openSubject();
  const options = { clock: systemClock, logger: SILENT };
  const pool = openPool({
    ...options,
    connection,
    watch: new ServerWatch(options),
    max: 1,
    prepare: hasSessions,
    settings: { search_path: subject.schema },
  });
  try {
    const names = new InternedNames(pool);
    const locks = new LimitLocks(pool);
    const applier = new GroupApplier(pool, { names, locks, hasSessions });
    // Names that are known are not asked for, so groups follow each other.
    const first = sampleTask({ id: sampleIds(2).next() });
    assertEquals(await applier.apply([prepared(creation(first))]), []);
    await run(applier);
  } finally {
    await pool.close();
    await subject.close();
  }
}

function prepared(...writes: readonly Write[]) {
  return writes.map((write) => prepareWrite(write, new KnownTasks()));
}

async function applyOutOfOrder(applier: GroupApplier): Promise<void> {
  const next = sampleTask({ id: sampleIds(4).next() });
  const early = await Promise.all([
    applier.apply([prepared(change(changed(next, { run: 1 })))]),
    applier.apply([prepared(creation(next))]),
  ]);
  assertEquals(early, [REFUSED, []]);
  const task = sampleTask({ id: sampleIds().next() });
  const second = changed(task, { run: 1 });
  // The change comes too early. It is looked at again once it was refused,
  // when the creation, which is sent right behind it, must not be there.
  const codes = await Promise.all([
    applier.apply([prepared(change(second))]),
    applier.apply([prepared(creation(task))]),
    applier.apply([prepared(change(second))]),
    applier.apply([prepared(creation(task))]),
  ]);
  assertEquals(codes, [REFUSED, [], [], REFUSED]);
}

serviceTest(["postgres"], {
  name: "GroupApplier applies no group before the one that was given before it",
  fn: () => withApplier(applyOutOfOrder),
});

serviceTest(["postgres", "pgbouncer"], {
  name:
    "GroupApplier keeps the order of groups behind a pooler, whose connection others have used",
  async fn() {
    const { connection, stop } = await startPgBouncer(TEST_SERVER, {
      poolSize: 1,
    });
    try {
      await withApplier(async (applier) => {
        // What another instance leaves behind that has applied two groups.
        const other = await openSession(connection.hosts[0]!, {
          ...{ connection, clock: systemClock, prepare: false },
          ...{ connectTimeoutMs: 5_000, queryTimeoutMs: 5_000 },
        });
        await other.session.query("SET tercet.last_group = 2");
        await other.session.close();
        await applyOutOfOrder(applier);
      }, { connection, hasSessions: false });
    } finally {
      await stop();
    }
  },
});

serviceTest(["postgres"], {
  name: "GroupApplier keeps the order of groups of several statements",
  fn: () =>
    withApplier(async (applier) => {
      const record: Write = {
        kind: "record",
        recordKind: "worker",
        tenantId: "tnt_a",
        id: "wrk_a",
        expectedVersion: 0,
        next: {
          kind: "worker",
          tenantId: "tnt_a",
          id: "wrk_a",
          version: 1,
          text: "{}",
        },
      };
      const require: Write = { ...record, kind: "require" };
      const ids = sampleIds();
      const create = () =>
        prepared(require, creation(sampleTask({ id: ids.next() })));
      const codes = await Promise.all([
        applier.apply([create()]),
        applier.apply([prepared(record), create()]),
        applier.apply([create()]),
        applier.apply([prepared(record)]),
      ]);
      assertEquals(codes, [[conflictCode(0, "missing")], [], [], REFUSED]);
    }),
});

serviceTest(["postgres"], {
  name: "GroupApplier tells which writes are refused and applies all others",
  fn: () =>
    withApplier(async (applier) => {
      const ids = sampleIds();
      const tasks = Array.from(
        { length: 90 },
        (_, index) => sampleTask({ id: ids.next(), key: `k${index % 45}` }),
      );
      const codes = await applier.apply(
        tasks.map((task) => prepared(creation(task))),
      );
      assertEquals(
        codes,
        tasks.map((_, index) => index < 45 ? 0 : conflictCode(0, "key")),
      );
    }),
});
