/**
 * Conformance tests of events: those of tenants that someone listens to are kept
 * by the commits that bring them about.
 *
 * @module
 */

import { assert, assertEquals, assertNotEquals } from "@std/assert";
import type { HistoryDraft } from "../../../domain/history.ts";
import type { Task } from "../../../domain/task.ts";
import type { EventPage, Store, StoredEvent, Write } from "../../store.ts";
import {
  change,
  changed,
  creation,
  removal,
  SAMPLE_MS,
  sampleIds,
  sampleTask,
  withHistory,
} from "../sample_tasks.ts";
import type {
  SeveralStores,
  SeveralStoresCase,
} from "./several_stores_cases.ts";
import {
  collectCases,
  commitEach,
  commitTransaction,
  type StoreCase,
} from "./store_case.ts";

const TENANT = "tnt_a";
const FAR_MS = Date.UTC(2095, 0, 1);

/** The tests of events. */
export function eventCases(): readonly StoreCase[] {
  return collectCases((check) => {
    check(
      "keeps no event of a tenant that nobody listens to",
      async (store) => {
        await commitEach(store, listen("tnt_b"), told(sampleIds().next()));
        await commitEach(store, audit(1), engineEvent(1));
        const { events, isReset } = await readAll(store, "");
        assertEquals({ events, isReset }, { events: [], isReset: true });
        const end = await begin(store);
        assertEquals((await readAll(store, end)).events, []);
      },
    );

    check("keeps events of tasks, audit logs and the engine", async (store) => {
      const start = await begin(store);
      const id = sampleIds().next();
      const task = sampleTask({ id, key: "k", job: "j", group: "g" });
      await commitEach(store, told(task, [{ message: "ä 😀 \u0000 \ud800" }]));
      await commitEach(store, audit(2), engineEvent(3));
      const { events } = await readAll(store, start);
      const [first, second, third] = events;
      assert(first?.source === "history");
      assertEquals(first.task, {
        id,
        workerId: "wrk_a",
        job: "j",
        group: "g",
        key: "k",
        dateMs: SAMPLE_MS,
      });
      assertEquals(JSON.parse(first.text).message, "ä 😀 \u0000 \ud800");
      assertEquals({ ...second, cursor: "" }, {
        cursor: "",
        source: "audit",
        type: "user.created",
        atMs: SAMPLE_MS + 2,
        text: '{"target":"ä"}',
      });
      assertEquals({ ...third, cursor: "" }, {
        cursor: "",
        source: "engine",
        type: "worker.stale",
        atMs: SAMPLE_MS + 3,
        text: '{"worker":"😀"}',
      });
      assertEquals(events.length, 3);
    });

    check("goes on from the cursor of any event", async (store) => {
      const start = await begin(store);
      const ids = sampleIds();
      for (let index = 0; index < 7; index++) {
        await commitEach(store, told(ids.next(), [{ amount: index }]));
      }
      const { events } = await readAll(store, start, 2);
      assertEquals(amounts(events), [0, 1, 2, 3, 4, 5, 6]);
      for (const [index, { cursor }] of events.entries()) {
        const page = await store.events({
          tenantId: TENANT,
          after: cursor,
          limit: 3,
        });
        assertEquals(page.isReset, false);
        assertEquals(
          amounts(page.events),
          [0, 1, 2, 3, 4, 5, 6].slice(index + 1, index + 4),
        );
        assertEquals(page.end, page.events.at(-1)?.cursor ?? cursor);
        const before = await store.events({
          tenantId: TENANT,
          after: start,
          through: cursor,
          limit: 10,
        });
        assertEquals(amounts(before.events).length, index + 1);
      }
    });

    check("keeps the events of a task in their order", async (store) => {
      const start = await begin(store);
      const id = sampleIds().next();
      let last = withHistory(sampleTask({ id }), [{ amount: 0 }]);
      const writes: Write[] = [
        { ...creation(last.task), history: last.history },
      ];
      for (let index = 1; index < 9; index += 2) {
        const drafts = [{ amount: index }, { amount: index + 1 }];
        last = withHistory(changed(last.task, {}), drafts);
        writes.push({ ...change(last.task), history: last.history });
      }
      // All in one commit, each in a transaction of its own.
      await commitEach(store, ...writes);
      const { events } = await readAll(store, start);
      assertEquals(amounts(events), [0, 1, 2, 3, 4, 5, 6, 7, 8]);
    });

    check("keeps no event of what was not applied", async (store) => {
      const start = await begin(store);
      const id = sampleIds().next();
      assertEquals(
        (await commitTransaction(store, told(id), audit(1), demand("wrk_none")))
          ?.kind,
        "conflict",
      );
      await commitEach(store, told(id, [{ amount: 1 }]));
      const again = await commitTransaction(store, told(id, [{ amount: 2 }]));
      assertEquals(again?.kind, "conflict");
      assertEquals(amounts((await readAll(store, start)).events), [1]);
    });

    check("keeps the events of a task that is removed after", async (store) => {
      const start = await begin(store);
      const { task, history } = withHistory(
        sampleTask({ id: sampleIds().next() }),
        [{ amount: 1 }],
      );
      await commitEach(store, { ...creation(task), history }, removal(task));
      assertEquals(amounts((await readAll(store, start)).events), [1]);
    });

    check("listens as long as the longest wanted", async (store) => {
      const start = await begin(store, FAR_MS);
      await commitEach(store, listen(TENANT, FAR_MS - 10));
      await store.sweep(FAR_MS - 1, 100);
      await commitEach(store, told(sampleIds().next()));
      assertEquals((await readAll(store, start)).events.length, 1);
    });

    check("begins anew after nobody has listened", async (store) => {
      for (const end of ["sweep", "write"]) {
        const ids = sampleIds(end === "sweep" ? 1 : 2);
        const start = await begin(store, SAMPLE_MS);
        await commitEach(store, told(ids.next(), [{ atMs: FAR_MS }]));
        const { end: before } = await readAll(store, start);
        if (end === "sweep") await store.sweep(SAMPLE_MS, 100);
        else await commitEach(store, listen(TENANT, 0));
        await commitEach(store, told(ids.next()));
        // Nothing of it is left to those who listen later.
        await store.sweep(SAMPLE_MS, 100);
        await begin(store, FAR_MS);
        await commitEach(store, told(ids.next(), [{ amount: 3 }]));
        const { events, isReset } = await readAll(store, before);
        assertEquals(isReset, true);
        assertEquals(amounts(events), [3]);
        await commitEach(store, listen(TENANT, 0));
        await store.sweep(SAMPLE_MS, 100);
      }
    });

    check("sweeps old events, and tells who has missed them", async (store) => {
      const start = await begin(store, FAR_MS);
      const ids = sampleIds();
      for (let index = 0; index < 5; index++) {
        await commitEach(store, told(ids.next(), [{ amount: index }]));
      }
      const { events } = await readAll(store, start);
      assertEquals(await store.sweep(SAMPLE_MS, 100), 0);
      assertEquals(await store.sweep(FAR_MS - 1, 2), 2);
      const missed = await readAll(store, events[0]?.cursor ?? "");
      assertEquals(missed.isReset, true);
      assertEquals(amounts(missed.events), [2, 3, 4]);
      const kept = await readAll(store, events[1]?.cursor ?? "");
      assertEquals(kept.isReset, false);
      assertEquals(amounts(kept.events), [2, 3, 4]);
      assertEquals(await store.sweep(FAR_MS - 1, 9), 3);
      const { end } = await readAll(store, events[4]?.cursor ?? "");
      await commitEach(store, told(ids.next(), [{ amount: 9 }]));
      assertEquals(amounts((await readAll(store, end)).events), [9]);
    });

    check(
      "begins at its oldest for a cursor that it never gave",
      async (store) => {
        const start = await begin(store);
        await commitEach(store, told(sampleIds().next(), [{ amount: 1 }]));
        for (const after of ["", "x", `${start}x`, "abc-1", "abc-1-1", "😀"]) {
          const { events, isReset } = await readAll(store, after);
          assertEquals({ after, isReset }, { after, isReset: true });
          assertEquals(amounts(events), [1]);
        }
      },
    );

    check("tells who is listened to", async (store) => {
      const ids = ["tnt_c", "tnt_a", "tnt_b"];
      await commitEach(store, ...ids.map((id) => listen(id)));
      assertEquals(await store.listeners(9), ["tnt_a", "tnt_b", "tnt_c"]);
      assertEquals(await store.listeners(1, "tnt_a"), ["tnt_b"]);
      await commitEach(store, listen("tnt_b", 0));
      assertEquals(await store.listeners(9), ["tnt_a", "tnt_c"]);
    });

    check("shows events to their tenant only", async (store) => {
      const start = await begin(store);
      await commitEach(store, listen("tnt_b"));
      const task = sampleTask({ id: sampleIds().next(), tenantId: "tnt_b" });
      await commitEach(store, told(task), { ...audit(1), tenantId: "tnt_b" });
      assertEquals((await readAll(store, start)).events, []);
      const other = await readAll(store, "", 10, "tnt_b");
      assertEquals(other.events.length, 2);
    });

    check(
      "has its events still when it is opened again",
      async (store, subject) => {
        if (subject.reopen === undefined) return;
        const start = await begin(store);
        const ids = sampleIds();
        await commitEach(store, told(ids.next(), [{ amount: 1 }]));
        const { end } = await readAll(store, start);
        const again = await subject.reopen();
        await commitEach(again, told(ids.next(), [{ amount: 2 }]));
        const { events, isReset } = await readAll(again, end);
        assertEquals(isReset, false);
        assertEquals(amounts(events), [2]);
        assertNotEquals(events[0]?.cursor, end);
      },
    );
  });
}

/** The tests of events of several stores. */
export function severalEventCases(): readonly SeveralStoresCase[] {
  return [{
    title: "show each event once, whoever has committed it",
    run: async (subject: SeveralStores) => {
      const stores = [
        subject.store,
        await subject.another(),
        await subject.another(),
      ] as const;
      let after = await begin(stores[1]);
      const seen: StoredEvent[] = [];
      const read = async (): Promise<EventPage> => {
        const page = await stores[2].events({
          tenantId: TENANT,
          after,
          limit: 50,
        });
        assertEquals(page.isReset, false);
        seen.push(...page.events);
        after = page.end;
        return page;
      };
      const writing = Promise.all(stores.map(async (store, at) => {
        const ids = sampleIds(at + 1);
        for (let index = 0; index < 40; index++) {
          const id = ids.next();
          await commitEach(store, told(id, [{ amount: at * 1_000 + index }]));
        }
      }));
      let isWritten = false;
      writing.finally(() => isWritten = true);
      while (!isWritten) await read();
      await writing;
      for (let page = await read(); page.isHeld || page.events.length > 0;) {
        page = await read();
      }
      assertEquals(new Set(seen.map(({ cursor }) => cursor)).size, 120);
      for (const at of [0, 1, 2]) {
        assertEquals(
          amounts(seen).filter((amount) => Math.floor(amount / 1_000) === at),
          Array.from({ length: 40 }, (_, index) => at * 1_000 + index),
        );
      }
    },
  }];
}

function listen(tenantId: string, untilMs = FAR_MS): Write {
  return { kind: "listen", tenantId, untilMs };
}

/** Listens, and returns the cursor from which on all is kept. */
async function begin(store: Store, untilMs = FAR_MS): Promise<string> {
  await commitEach(store, listen(TENANT, untilMs));
  while (true) {
    const { end, isHeld, isReset, events } = await store.events({
      tenantId: TENANT,
      limit: 10,
    });
    assertEquals({ isReset, events }, { isReset: false, events: [] });
    if (!isHeld) return end;
  }
}

/** Reads all pages after a cursor, until nothing is held back. */
async function readAll(
  store: Store,
  after: string,
  limit = 100,
  tenantId = TENANT,
): Promise<EventPage> {
  const first = await store.events({ tenantId, after, limit });
  const events = [...first.events];
  let page = first;
  while (page.isHeld || page.events.length > 0) {
    page = await store.events({ tenantId, after: page.end, limit });
    events.push(...page.events);
  }
  return { ...page, events, isReset: first.isReset };
}

/** The write of a new task with records in its history. */
function told(
  of: Task | string,
  drafts: readonly Partial<HistoryDraft>[] = [{}],
): Write {
  const { task, history } = withHistory(
    typeof of === "string" ? sampleTask({ id: of }) : of,
    drafts,
  );
  return { ...creation(task), history };
}

function audit(after: number): Extract<Write, { kind: "audit" }> {
  return {
    kind: "audit",
    tenantId: TENANT,
    entry: {
      atMs: SAMPLE_MS + after,
      action: "user.created",
      text: '{"target":"ä"}',
    },
  };
}

function engineEvent(after: number): Write {
  return {
    kind: "event",
    tenantId: TENANT,
    type: "worker.stale",
    atMs: SAMPLE_MS + after,
    text: '{"worker":"😀"}',
  };
}

function demand(id: string): Write {
  return { kind: "require", tenantId: TENANT, recordKind: "worker", id };
}

function amounts(events: readonly StoredEvent[]): number[] {
  return events.map(({ text }) => JSON.parse(text).amount);
}
