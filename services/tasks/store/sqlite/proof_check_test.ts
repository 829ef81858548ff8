import { assert, assertEquals, assertMatch } from "@std/assert";
import { DatabaseSync } from "node:sqlite";
import { sha256 } from "../digest.ts";
import { Sealer } from "../../engine/task_writes.ts";
import type { Task } from "../../domain/task.ts";
import type { ProofKey } from "../../secrets/master_keys.ts";
import { ringOf } from "../../secrets/testing/keys.ts";
import type { Store, Write } from "../store.ts";
import {
  changed,
  removal,
  sampleIds,
  sampleTask,
  transactionsOf,
} from "../testing/sample_tasks.ts";
import { databasePath } from "./database_file.ts";
import { changeProofKeys } from "./data_keys.ts";
import { historyCheck } from "./history_check.ts";
import { withFolder, withStore } from "./testing/open_store.ts";
import {
  FIXTURE_TASK,
  FIXTURE_TENANT,
  makeV1Fixture,
} from "./testing/v1_fixture.ts";

const KEYS = ringOf("first").proofKeys();
const LONG = JSON.stringify("x".repeat(5_000));

function faultsIn(
  folder: string,
  keys: readonly ProofKey[] = KEYS,
): readonly string[] {
  return historyCheck(folder, { keys }).faults;
}

function tamper(folder: string, sql: string): void {
  const db = new DatabaseSync(databasePath(folder));
  try {
    db.exec(sql);
  } finally {
    db.close();
  }
}

/** Writes a task as the engine does; `before` is its previous version. */
async function put(store: Store, next: Task, before?: Task): Promise<Task> {
  const { task, write } = new Sealer().seal(next, {
    drafts: [{
      atMs: 1,
      type: before === undefined ? "created" : "succeeded",
      status: next.status,
      run: 1,
      actor: { type: "system", id: "system" },
    }],
    expectedVersion: before?.version ?? 0,
  });
  assertEquals(await store.commit([{ writes: [write] }]), [{ kind: "ok" }]);
  return task;
}

function audit(tenantId: string, action: string): Write {
  return { kind: "audit", tenantId, entry: { atMs: 5, action, text: "{}" } };
}

/** Writes tasks and audit logs of two tenants. */
async function writeSamples(store: Store): Promise<void> {
  const ids = sampleIds();
  for (const tenantId of ["ten_a", "ten_b"]) {
    const made = await put(
      store,
      sampleTask({ id: ids.next(), tenantId, dataJson: '{"pay":1}' }),
    );
    await put(
      store,
      changed(made, { status: "complete", resultJson: '"paid"' }),
      made,
    );
    await put(store, sampleTask({ id: ids.next(), tenantId, dataJson: LONG }));
    const gone = await put(store, sampleTask({ id: ids.next(), tenantId }));
    await store.commit(transactionsOf(removal(gone)));
    for (const action of ["a.one", "a.two", "a.three"]) {
      await store.commit(transactionsOf(audit(tenantId, action)));
    }
  }
}

const FIRST = "n = (SELECT min(n) FROM tasks)";
const OF_FIRST = "WHERE n = (SELECT min(n) FROM tasks)";
const BOUND = /^Cannot trust task "\w+": its tenant, worker, job, callback/;
const COUNT =
  /^Cannot trust the tasks of tenant "ten_a": there are 1, 2 were written$/;

/** How someone tampers with the file, and what the check reports. */
const TAMPERINGS: Readonly<Record<string, readonly [string, RegExp]>> = {
  "data of a task": [
    `UPDATE tasks SET data = '{"pay":1000}' WHERE ${FIRST}`,
    BOUND,
  ],
  "long data of a task": [
    "UPDATE task_data SET text = replace(text, 'xxx', 'yyy')",
    BOUND,
  ],
  "result of a task": [
    `UPDATE tasks SET result = '"unpaid"' WHERE ${FIRST}`,
    BOUND,
  ],
  "status of a task": [
    `UPDATE tasks SET status = 8, body = json_set(body, '$.status', 'failed')
      WHERE ${FIRST}`,
    BOUND,
  ],
  "column of the status alone": [
    `UPDATE tasks SET status = 8 WHERE ${FIRST}`,
    /its column "status" is not what its body says$/,
  ],
  "date that claims look at": [
    "UPDATE tasks SET rank = rank + 1 WHERE rank IS NOT NULL",
    /its column "rank" is not what its body says$/,
  ],
  "tenant of a task": [
    `UPDATE tasks SET tenant = 3 - tenant, lane =
      (SELECT max(lane) FROM lanes WHERE lanes.tenant = 3 - tasks.tenant)
      WHERE ${FIRST}`,
    BOUND,
  ],
  "names of two tenants": [
    `UPDATE tenants SET id = 'x' WHERE tenant = 1;
      UPDATE tenants SET id = 'ten_a' WHERE tenant = 2;
      UPDATE tenants SET id = 'ten_b' WHERE tenant = 1`,
    BOUND,
  ],
  "removed task with its history": [
    `DELETE FROM history ${OF_FIRST}; DELETE FROM tasks WHERE ${FIRST}`,
    COUNT,
  ],
  "removed task and its count": [
    `DELETE FROM history ${OF_FIRST}; DELETE FROM tasks WHERE ${FIRST};
      UPDATE proofs SET tasks = tasks - 1 WHERE tenant = 1`,
    /^Cannot trust the counts of tenant "ten_a": they are not what was sealed$/,
  ],
  "removed task and a count without MAC": [
    `DELETE FROM history ${OF_FIRST}; DELETE FROM tasks WHERE ${FIRST};
      UPDATE proofs SET tasks = tasks - 1, mac = NULL WHERE tenant = 1`,
    /^Cannot verify the counts of 1 rows: no master key has sealed them/,
  ],
  "removed task and a count of an unknown key": [
    `DELETE FROM history ${OF_FIRST}; DELETE FROM tasks WHERE ${FIRST};
      UPDATE proofs SET tasks = tasks - 1, mac = 'k:x' WHERE tenant = 1`,
    /^Cannot verify the counts of tenant "ten_a": the master key that sealed/,
  ],
  "count of another tenant": [
    `UPDATE proofs SET mac = (SELECT mac FROM proofs WHERE tenant = 2)
      WHERE tenant = 1`,
    /^Cannot trust the counts of tenant "ten_a": they are not what was sealed$/,
  ],
  "removed tenant": [
    `DELETE FROM history; DELETE FROM tasks; DELETE FROM task_data;
      DELETE FROM audit; DELETE FROM tenants; DELETE FROM lanes;
      DELETE FROM proofs WHERE tenant > 0`,
    /^Cannot trust the tenants: there are 0, 2 were written$/,
  ],
  "content of an audit entry": [
    "UPDATE audit SET action = 'a.uno' WHERE tenant = 1 AND number = 1",
    /audit log of tenant "ten_a" at entry 1: its content has another hash$/,
  ],
  "audit entry in the middle": [
    "DELETE FROM audit WHERE tenant = 1 AND number = 2",
    /audit log of tenant "ten_a" at entry 3: number 2 is missing$/,
  ],
  "last audit entries": [
    "DELETE FROM audit WHERE tenant = 1 AND number > 1",
    /audit log of tenant "ten_a" at entry 1: 3 were written$/,
  ],
  "all of an audit log": [
    "DELETE FROM audit WHERE tenant = 1",
    /audit log of tenant "ten_a" at entry 0: 3 were written$/,
  ],
  "hashes of an audit log": [
    "UPDATE audit SET hash = NULL WHERE tenant = 1",
    /audit log of tenant "ten_a" at entry 3: 3 were written$/,
  ],
  "first hashes of an audit log": [
    "UPDATE audit SET hash = NULL WHERE tenant = 1 AND number < 3",
    /audit log of tenant "ten_a" at entry 3: its content has another hash$/,
  ],
  "added audit entry": [
    "INSERT INTO audit SELECT tenant, 4, at_ms, action, text, hash FROM audit " +
    "WHERE number = 3",
    /audit log of tenant "ten_a" at entry 4: its content has another hash$/,
  ],
};

Deno.test("historyCheck() finds what was changed in the file or taken out of it", async (t) => {
  await withFolder(async (whole) => {
    await withStore(whole, writeSamples, { proofKeys: KEYS });
    assertEquals(historyCheck(whole, { keys: KEYS }), {
      faults: [],
      unbound: 0,
      unchained: 0,
    });
    for (const [what, [sql, told]] of Object.entries(TAMPERINGS)) {
      await t.step(what, async () => {
        await withFolder(async (folder) => {
          await Deno.copyFile(databasePath(whole), databasePath(folder));
          tamper(folder, sql);
          const [fault = ""] = faultsIn(folder).filter((one) => told.test(one));
          assertMatch(fault, told, faultsIn(folder).join("\n"));
        });
      });
    }
  });
});

Deno.test("historyCheck() still finds what was taken away after the store has gone on writing", async (t) => {
  await withFolder(async (whole) => {
    await withStore(whole, writeSamples, { proofKeys: KEYS });
    for (
      const what of [
        "removed task with its history",
        "removed task and its count",
        "removed task and a count without MAC",
        "removed tenant",
        "last audit entries",
        "added audit entry",
      ]
    ) {
      await t.step(what, async () => {
        await withFolder(async (folder) => {
          await Deno.copyFile(databasePath(whole), databasePath(folder));
          tamper(folder, TAMPERINGS[what]?.[0] ?? "");
          await withStore(folder, async (store) => {
            const ids = sampleIds(2);
            const id = ids.next();
            await put(store, sampleTask({ id, tenantId: "ten_a" }));
            await store.commit(transactionsOf(audit("ten_a", "a.four")));
          }, { proofKeys: KEYS });
          assert(faultsIn(folder).length > 0);
        });
      });
    }
  });
});

Deno.test("historyCheck() verifies counts and chains without a master key, but for their MACs", async () => {
  await withFolder(async (folder) => {
    await withStore(folder, writeSamples);
    assertEquals(faultsIn(folder, []), []);
    // A check with a new key cannot tell whether the row was there before.
    assertMatch(
      faultsIn(folder)[0] ?? "",
      /^Cannot verify the counts of 3 rows/,
    );
    assertEquals(
      changeProofKeys(folder, { keys: KEYS, also: ["unsealed"] }),
      0,
    );
    assertEquals(faultsIn(folder), []);
    tamper(folder, TAMPERINGS["removed task with its history"]?.[0] ?? "");
    assertMatch(faultsIn(folder, [])[0] ?? "", COUNT);
  });
});

Deno.test("historyCheck() takes the tenant whose id is empty, which holds the others", async () => {
  await withFolder(async (folder) => {
    await withStore(folder, async (store) => {
      await store.commit(transactionsOf(audit("", "tenant.created")));
    }, { proofKeys: KEYS });
    assertEquals(faultsIn(folder), []);
    tamper(folder, "DELETE FROM tenants");
    assertEquals(faultsIn(folder), [
      "Cannot trust the counts of tenant number 1: they are not what was sealed",
      "Cannot trust tenant number 1: it has no name",
    ]);
  });
});

Deno.test("historyCheck() takes what another master key sealed once that is changed", async () => {
  const next = ringOf("next").proofKeys();
  await withFolder(async (folder) => {
    await withStore(folder, writeSamples, { proofKeys: KEYS });
    const both = [...next, ...KEYS];
    await withStore(folder, async (store) => {
      await store.commit(transactionsOf(audit("ten_a", "a.four")));
    }, { proofKeys: both });
    assertEquals(faultsIn(folder, both), []);
    assertEquals(faultsIn(folder, next).length, 3);
    // The command runs beside a store that has the new key, but not as its
    // first one.
    await withStore(folder, async (store) => {
      await store.commit(transactionsOf(audit("ten_a", "a.five")));
      assertEquals(changeProofKeys(folder, { keys: both, also: [] }), 0);
      await store.commit(transactionsOf(audit("ten_a", "a.six")));
      await store.commit(transactionsOf(audit("ten_c", "c.one")));
    }, { proofKeys: [...KEYS, ...next] });
    assertEquals(faultsIn(folder, next), []);
    // A proof that was changed is not sealed again.
    tamper(folder, "UPDATE proofs SET tasks = 7 WHERE tenant = 1");
    assertEquals(changeProofKeys(folder, { keys: both, also: [] }), 1);
    assertEquals(faultsIn(folder, next).length, 2);
  });
});

Deno.test("historyCheck() tells what changed while its master key was not given", async () => {
  const other = ringOf("other").proofKeys();
  await withFolder(async (folder) => {
    await withStore(folder, writeSamples, { proofKeys: KEYS });
    for (const action of ["a.four", "a.five"]) {
      await withStore(folder, async (store) => {
        await store.commit(transactionsOf(audit("ten_a", action)));
      }, { proofKeys: other });
    }
    const told = 'Cannot verify the counts of tenant "ten_a": the master key ' +
      "that sealed them is not given, or was not when they changed";
    assertEquals(faultsIn(folder), [told]);
    assertEquals(changeProofKeys(folder, { keys: KEYS, also: [] }), 1);
    const also = ["unknown_key"] as const;
    assertEquals(changeProofKeys(folder, { keys: KEYS, also }), 0);
    assertEquals(faultsIn(folder), []);
  });
});

Deno.test("historyCheck() tells what an earlier version left unbound, and verifies it from the next change on", async () => {
  await withFolder(async (folder) => {
    makeV1Fixture(folder);
    tamper(
      folder,
      "UPDATE history SET hash = (SELECT '" +
        sha256('\n1\n{"type":"created","run":0}') + "'); " +
        "UPDATE tasks SET body = json_set(body, '$.historyHash', '" +
        sha256('\n1\n{"type":"created","run":0}') + "')",
    );
    let id = "";
    await withStore(folder, async (store) => {
      const task = await store.task(FIXTURE_TENANT, FIXTURE_TASK.id);
      assert(task !== undefined);
      id = task.id;
      const before = historyCheck(folder, { keys: KEYS });
      assertEquals(before, { faults: [], unbound: 1, unchained: 1 });
      await put(store, changed(task, { status: "complete" }), task);
      await store.commit(transactionsOf(audit(task.tenantId, "a.two")));
    }, { proofKeys: KEYS });
    const after = historyCheck(folder, { keys: KEYS });
    assertEquals(after, { faults: [], unbound: 0, unchained: 1 });
    tamper(folder, "UPDATE tasks SET data = '1'");
    assertEquals(faultsIn(folder).map((fault) => fault.includes(id)), [true]);
  });
});

Deno.test("changeProofKeys() seals no count that has lost its MAC", async () => {
  await withFolder(async (folder) => {
    await withStore(folder, async (store) => {
      await put(store, sampleTask({ id: sampleIds().next() }));
    }, { proofKeys: KEYS });
    assertEquals(faultsIn(folder), []);
    tamper(
      folder,
      "DELETE FROM tasks; DELETE FROM history; DELETE FROM task_counts; " +
        "UPDATE proofs SET tasks = 0, mac = NULL WHERE tenant <> 0",
    );
    const sealing = { keys: KEYS, also: ["unsealed"] } as const;
    assertEquals(changeProofKeys(folder, sealing), 1);
    assertEquals(faultsIn(folder).length, 1);
  });
});

Deno.test("historyCheck() trusts an audit log whose oldest entries were removed because of their age", async () => {
  await withFolder(async (folder) => {
    await withStore(folder, async (store) => {
      await writeSamples(store);
      const trim = { tenantId: "ten_a", beforeMs: Infinity, limit: 1 };
      assertEquals(await store.trimAudit(trim), 1);
    }, { proofKeys: KEYS });
    assertEquals(faultsIn(folder), []);
    tamper(
      folder,
      "UPDATE audit SET action = 'a.drei' WHERE tenant = 1 AND number = 3",
    );
    const [fault = ""] = faultsIn(folder);
    assertMatch(fault, /at entry 3: its content has another hash$/);
  });
});
