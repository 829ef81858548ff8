/**
 * Conformance tests of transactions: applied as a whole or not at all, in
 * order, and independent of each other.
 *
 * @module
 */

import { assertEquals } from "@std/assert";
import type { StoredRecord, Write } from "../../store.ts";
import {
  change,
  changed,
  creation,
  removal,
  sampleIds,
  sampleTask,
  toTransactions,
  withHistory,
} from "../sample_tasks.ts";
import {
  collectCases,
  commitTransaction,
  create,
  type StoreCase,
} from "./store_case.ts";

const TENANT = "tnt_a";

/** The tests of transactions. */
export function transactionCases(): readonly StoreCase[] {
  return collectCases((check) => {
    check("answers for no transactions", async (store) => {
      assertEquals(await store.commit([]), []);
      assertEquals(await store.commit([{ writes: [] }]), [{ kind: "ok" }]);
    });

    check("is the same store when its methods are copied", async (store) => {
      const task = sampleTask({ id: sampleIds().next() });
      let commits = 0;
      const copy = {
        ...store,
        commit: (transactions: Parameters<typeof store.commit>[0]) => {
          commits++;
          return store.commit(transactions);
        },
      };
      await create(copy, task);
      assertEquals(commits, 1);
      assertEquals(await copy.task(task.tenantId, task.id), task);
      await copy.check();
      assertEquals(
        (await copy.scan({ status: "running", limit: 1 })).tasks,
        [],
      );
    });

    check(
      "undoes all of a transaction when its last write conflicts",
      async (store) => {
        const ids = sampleIds();
        const [there, fresh] = [
          sampleTask({ id: ids.next() }),
          sampleTask({ id: ids.next() }),
        ];
        await create(store, there);
        const noted = withHistory(changed(there, { run: 1 }), [{}, {}]);
        const writes: Write[] = [
          creation(fresh),
          { ...change(noted.task), history: noted.history },
          recordWrite({ version: 1 }),
          { kind: "audit", tenantId: TENANT, entry: line("worker.created") },
          { kind: "usage", tenantId: TENANT, period: "2026-06", executions: 3 },
          answerWrite("k"),
          {
            kind: "require",
            recordKind: "worker",
            tenantId: TENANT,
            id: "wrk_missing",
          },
        ];
        assertEquals(await commitTransaction(store, ...writes), {
          kind: "conflict",
          write: 6,
          reason: "missing",
        });
        assertEquals(await store.task(TENANT, fresh.id), undefined);
        assertEquals(await store.task(TENANT, there.id), there);
        assertEquals(await store.record("user", TENANT, "usr_1"), undefined);
        assertEquals(await store.audit({ tenantId: TENANT, limit: 9 }), []);
        assertEquals(await store.usage(TENANT, "2026-06"), { executions: 0 });
        assertEquals(await store.idempotency(TENANT, "k", 0), undefined);
        const { records } = await store.history({
          tenantId: TENANT,
          taskId: there.id,
          order: "asc",
          limit: 9,
        });
        assertEquals(records, []);
      },
    );

    check("undoes what came before, whatever conflicts", async (store) => {
      const ids = sampleIds();
      const keyed = sampleTask({ id: ids.next(), key: "taken" });
      await create(store, keyed);
      await commitTransaction(
        store,
        recordWrite({ version: 1, alias: "taken" }),
      );
      await commitTransaction(store, answerWrite("taken"));
      const conflicts: (readonly [Write, string])[] = [
        [creation(keyed), "version"],
        [creation(sampleTask({ id: ids.next(), key: "taken" })), "key"],
        [recordWrite({ version: 3 }), "version"],
        [recordWrite({ id: "usr_2", version: 1, alias: "taken" }), "alias"],
        [answerWrite("taken"), "idempotency"],
        [removal(sampleTask({ id: ids.next() })), "version"],
      ];
      for (const [write, reason] of conflicts) {
        const fresh = sampleTask({ id: ids.next() });
        assertEquals(
          await commitTransaction(store, creation(fresh), write),
          { kind: "conflict", write: 1, reason } as unknown,
          reason,
        );
        assertEquals(await store.task(TENANT, fresh.id), undefined, reason);
      }
    });

    check("lets no transaction disturb the others", async (store) => {
      const ids = sampleIds();
      const tasks = Array.from(
        { length: 9 },
        () => sampleTask({ id: ids.next() }),
      );
      const transactions = tasks.map((task, index) =>
        index % 3 === 1
          ? { writes: [creation(task), recordWrite({ version: 7 })] }
          : { writes: [creation(task)] }
      );
      const results = await store.commit(transactions);
      assertEquals(
        results.map(({ kind }) => kind),
        tasks.map((_, index) => index % 3 === 1 ? "conflict" : "ok"),
      );
      const found = await store.tasks(TENANT, tasks.map(({ id }) => id));
      assertEquals(
        found.map((task) => task !== undefined),
        tasks.map((_, index) => index % 3 !== 1),
      );
    });

    check(
      "applies the transactions of a commit in their order",
      async (store) => {
        const task = sampleTask({ id: sampleIds().next() });
        const second = changed(task, { run: 1 });
        const third = changed(second, { run: 2 });
        const results = await store.commit(
          toTransactions(
            creation(task),
            change(second),
            change(second),
            change(third),
          ),
        );
        assertEquals(results.map(({ kind }) => kind), [
          "ok",
          "ok",
          "conflict",
          "ok",
        ]);
        assertEquals(await store.task(TENANT, task.id), third);
      },
    );

    check("applies commits in the order they were made", async (store) => {
      let task = sampleTask({ id: sampleIds().next() });
      const commits = [store.commit(toTransactions(creation(task)))];
      for (let count = 0; count < 50; count++) {
        task = changed(task, { run: count });
        commits.push(store.commit(toTransactions(change(task))));
      }
      for (const results of await Promise.all(commits)) {
        assertEquals(results, [{ kind: "ok" }]);
      }
      assertEquals(await store.task(TENANT, task.id), task);
    });

    check("lets one of many rivals win", async (store) => {
      let task = sampleTask({ id: sampleIds().next() });
      await create(store, task);
      for (let round = 0; round < 10; round++) {
        const rivals = Array.from(
          { length: 8 },
          (_, rival) => changed(task, { run: rival }),
        );
        const results = await Promise.all(
          rivals.map((rival) => store.commit(toTransactions(change(rival)))),
        );
        const winners = rivals.filter((_, index) =>
          results[index]?.[0]?.kind === "ok"
        );
        assertEquals(winners.length, 1);
        for (const winner of winners) task = winner;
        assertEquals(await store.task(TENANT, task.id), task);
      }
    });

    check(
      "takes writes that undo each other within a transaction",
      async (store) => {
        const ids = sampleIds();
        const old = sampleTask({ id: ids.next(), key: "nightly" });
        await create(store, old);
        const canceled = changed(old, { status: "canceled", isDue: false });
        const replacement = sampleTask({ id: ids.next(), key: "nightly" });
        assertEquals(
          await commitTransaction(
            store,
            change(canceled),
            creation(replacement),
          ),
          { kind: "ok" },
        );
        const brief = sampleTask({ id: ids.next() });
        assertEquals(
          await commitTransaction(store, creation(brief), removal(brief)),
          { kind: "ok" },
        );
        assertEquals(await store.task(TENANT, brief.id), undefined);
        assertEquals(
          await store.taskByKey({
            tenantId: TENANT,
            workerId: "wrk_a",
            key: "nightly",
          }),
          replacement,
        );
      },
    );

    check(
      "keeps what was answered when it is opened again",
      async (store, subject) => {
        if (subject.reopen === undefined) return;
        const ids = sampleIds();
        const large = JSON.stringify("x".repeat(100_000));
        const tasks = Array.from(
          { length: 500 },
          (_, index) =>
            sampleTask({
              id: ids.next(),
              workerId: `wrk_${index % 7}`,
              ...(index % 50 === 0 ? { dataJson: large } : {}),
            }),
        );
        await create(store, ...tasks);
        await commitTransaction(store, recordWrite({ version: 1 }));
        const reopened = await subject.reopen();
        assertEquals(
          await reopened.tasks(TENANT, tasks.map(({ id }) => id)),
          tasks,
        );
        assertEquals(
          (await reopened.record("user", TENANT, "usr_1"))?.version,
          1,
        );
        const late = sampleTask({ id: ids.next(), workerId: "wrk_3" });
        await create(reopened, late);
        assertEquals(await reopened.task(TENANT, late.id), late);
      },
    );
  });
}

function recordWrite(
  over: Partial<StoredRecord> & { readonly version: number },
): Write {
  const next: StoredRecord = {
    kind: "user",
    tenantId: TENANT,
    id: "usr_1",
    text: "{}",
    ...over,
  };
  return {
    kind: "record",
    recordKind: next.kind,
    tenantId: next.tenantId,
    id: next.id,
    expectedVersion: next.version - 1,
    next,
  };
}

function answerWrite(key: string): Write {
  return {
    kind: "idempotency",
    tenantId: TENANT,
    key,
    entry: {
      bodyHash: "hash",
      status: 201,
      headers: { location: "/v1/tasks/1" },
      body: "{}",
      expiresAtMs: Date.UTC(2090, 0, 1),
    },
  };
}

function line(action: string): { atMs: number; action: string; text: string } {
  return { atMs: 1, action, text: "{}" };
}
