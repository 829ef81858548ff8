import { assertEquals, assertRejects } from "@std/assert";
import { serviceTest } from "../../../../tests/support/services.ts";
import { StoreFailedError } from "../../../shared/store_failed.ts";
import { interceptStore } from "../../engine/testing/intercepted_store.ts";
import { REGISTRY } from "../../engine/repositories.ts";
import { removalWrites, TenantEraser } from "../../engine/tenant_removal.ts";
import { SYSTEM_ACTOR } from "../../domain/records.ts";
import type { InboxRequest } from "../../store/inbox.ts";
import { ENQUEUE_OPTIONS } from "../../store/postgres/inbox_tables.ts";
import { TEST_SERVER } from "../../store/postgres/testing/postgres_subject.ts";
import type { PostgresStore } from "../../store/postgres/postgres_store.ts";
import type { Store, Transaction } from "../../store/store.ts";
import { withCommit } from "../../store/wrapped_store.ts";
import { NEW_TASK } from "./task_schema.ts";
import { SERVICE_HOST } from "../testing/test_api.ts";
import {
  type InboxBed,
  type InboxInstance,
  inboxOf,
  openInboxBed,
  OPERATOR_TOKEN,
  unmapRole,
} from "./testing/inbox_bed.ts";

/** A test with an instance on a schema of its own. */
function inboxTest(
  name: string,
  run: (bed: InboxBed) => Promise<void>,
  options: Parameters<typeof openInboxBed>[0] = {},
): void {
  serviceTest(["postgres"], {
    name,
    fn: async () => {
      const bed = await openInboxBed(options);
      try {
        await run(bed);
      } finally {
        await bed.close();
      }
    },
  });
}

/** Adds the data of each task that an instance makes to a list. */
function noteMade({ api }: InboxInstance, made: unknown[]): void {
  api.engine.changes.onChange(({ previous, next }) => {
    if (previous === undefined && next !== undefined) {
      made.push(JSON.parse(next.dataJson));
    }
  });
}

/** Requests that were refused, as the tenant's API shows them. */
async function refused({ api }: InboxBed) {
  const answer = await api.call("GET", "/v1/refused-requests");
  assertEquals(answer.status, 200);
  return answer.at("data") as readonly {
    readonly request: number;
    readonly problem: Readonly<Record<string, unknown>>;
  }[];
}

Deno.test("enqueue() knows the fields of a new task that are no arguments", () => {
  const { properties = {} } = NEW_TASK.definitions?.().get("NewTask") ?? {};
  const own = ["worker", "data", "key", "ref"];
  const fields = Object.keys(properties).filter((name) => !own.includes(name));
  assertEquals([...ENQUEUE_OPTIONS].sort(), fields.sort());
});

inboxTest(
  "InboxWorker makes the task of a committed request, and none of one that was rolled back",
  async (bed) => {
    const { session, api, worker, role } = bed;
    await session.query("BEGIN");
    await bed.enqueue({ gone: true });
    assertEquals((await worker.runOnce()).shown, 0);
    await session.query("ROLLBACK");
    await session.query("BEGIN");
    await bed.enqueue({ a: [1, 2.5] }, { tags: ["x"], group: "g" }, "k");
    assertEquals((await worker.runOnce()).shown, 0);
    await session.query("COMMIT");
    assertEquals(await worker.runOnce(), { isOpen: true, shown: 1, taken: 1 });
    const list = await api.call("GET", "/v1/tasks");
    const [task, ...others] = list.at("data") as readonly {
      readonly [Name in "id" | "data" | "tags" | "group" | "key"]: unknown;
    }[];
    assertEquals(others, []);
    const { id, data, tags, group, key } = task!;
    assertEquals([data, tags, group, key], [{ a: [1, 2.5] }, ["x"], "g", "k"]);
    const history = await api.call("GET", `/v1/tasks/${id}/history`);
    const [created] = history.at("data") as readonly { actor: unknown }[];
    assertEquals(created?.actor, { type: "role", id: role });
    assertEquals((await worker.runOnce()).shown, 0);
    assertEquals(bed.ended, ["created"]);
  },
);

inboxTest(
  "InboxWorker sees a request of a transaction that began before others that it has seen",
  async (bed) => {
    const { subject: { schema }, role, worker } = bed;
    const slow = await TEST_SERVER.session({ user: role });
    await slow.query("BEGIN");
    await slow.query(`SELECT ${schema}.enqueue('mailer', '"slow"')`);
    for (let count = 0; count < 3; count++) {
      await bed.enqueue(count);
      assertEquals((await worker.runOnce()).taken, 1);
      assertEquals((await worker.runOnce()).shown, 0);
    }
    await slow.query("COMMIT");
    assertEquals((await worker.runOnce()).taken, 1);
    assertEquals(await bed.data(), [0, 1, 2, "slow"]);
    await slow.close();
  },
);

inboxTest(
  "InboxWorker makes a role's tasks in the order in which they were enqueued",
  async (bed) => {
    const { session } = bed;
    const all = Array.from({ length: 130 }, (_, index) => index);
    await session.query("BEGIN");
    for (const index of all) await bed.enqueue(index);
    await session.query("COMMIT");
    const made: unknown[] = [];
    noteMade(bed, made);
    await bed.drain();
    assertEquals(made, all);
  },
);

inboxTest(
  "InboxWorker refuses what POST /v1/tasks refuses, with the same problem",
  async (bed) => {
    const { api } = bed;
    const cases: readonly Readonly<Record<string, unknown>>[] = [
      { tags: [7] },
      { date: "yesterday" },
      { repeat: { cron: "* * *" } },
      { timezone: "Stockholm" },
      { on_conflict: "replace" },
      { job: "", priority: 1_000_000 },
      { dependencies: ["tsk_0000000000000000000000000z"] },
    ];
    const numbers: number[] = [];
    for (const options of cases) numbers.push(await bed.enqueue(1, options));
    numbers.push(await bed.enqueue("x".repeat(2_000)));
    await bed.enqueue(2);
    await bed.drain();
    const shown = new Map(
      (await refused(bed)).map((one) => [one.request, one.problem]),
    );
    const bodies = [
      ...cases.map((options) => ({ worker: "mailer", data: 1, ...options })),
      { worker: "mailer", data: "x".repeat(2_000) },
    ];
    for (const [index, body] of bodies.entries()) {
      const answer = await api.call("POST", "/v1/tasks", { body });
      const number = numbers[index]!;
      const { type, instance, request_id, ...problem } = shown.get(number)!;
      assertEquals(type, `/problems/${problem.code}`);
      assertEquals(instance, `/requests/enqueue_${number}`);
      assertEquals(request_id, `enqueue_${number}`);
      for (const [name, value] of Object.entries(problem)) {
        assertEquals(value, answer.at(name), JSON.stringify(body));
      }
    }
    assertEquals(shown.size, bodies.length);
    assertEquals(await bed.data(), [2]);
    assertEquals(bed.ended.filter((one) => one === "refused").length, 8);
  },
  { limits: { payloadBytes: 1_024 } },
);

inboxTest(
  "GET /:domain/refused-requests shows the operator a tenant's requests, page by page",
  async (bed) => {
    const { api } = bed;
    await api.addTenant("globex");
    for (let count = 0; count < 3; count++) {
      await bed.enqueue(count, { tags: [7] });
    }
    await bed.drain();
    const ask = (path: string) =>
      api.call("GET", path, {
        host: `accounts.admin.${SERVICE_HOST}`,
        key: OPERATOR_TOKEN,
      });
    const first = await ask("/acme/refused-requests?limit=2");
    const rest = await ask(
      `/acme/refused-requests?limit=2&cursor=${first.at("next")}`,
    );
    const pages = [first, rest].map((page) =>
      (page.at("data") as readonly { readonly request: number }[])
        .map(({ request }) => request)
    );
    assertEquals(pages, [[3, 2], [1]]);
    assertEquals(rest.at("next"), null);
    const other = await ask("/globex/refused-requests");
    assertEquals(other.at("data"), []);
    assertEquals((await ask("/nobody/refused-requests")).status, 404);
  },
);

inboxTest(
  "InboxWorker keeps to the plan and to keys, also within one commit",
  async (bed) => {
    const { session } = bed;
    await session.query("BEGIN");
    const numbers = [
      await bed.enqueue(1),
      await bed.enqueue(2, {}, "k"),
      await bed.enqueue(3, {}, "k"),
      await bed.enqueue(4, { on_conflict: "reject" }, "k"),
      await bed.enqueue(5),
      await bed.enqueue(6),
    ];
    await session.query("COMMIT");
    await bed.drain();
    assertEquals(await bed.data(), [1, 2, 5]);
    assertEquals(
      (await refused(bed)).map(({ request, problem }) => [
        request,
        problem.code,
      ]),
      [[numbers[5], "quota_exceeded"], [numbers[3], "key_conflict"]],
    );
    assertEquals(bed.ended.toSorted(), [
      ...["created", "created", "created", "found", "refused", "refused"],
    ]);
  },
  { limits: { activeTasks: 3 } },
);

inboxTest(
  "InboxWorker refuses requests of a suspended tenant, and of no other",
  async (bed) => {
    const { api } = bed;
    const { repositories } = api.engine.parts;
    const { tenant: other } = await api.addTenant("globex");
    await api.addWorker({ tenantId: other.id, name: "mailer" });
    const session = await TEST_SERVER.session({
      user: await bed.addRole("globex"),
    });
    const number = await bed.enqueue(1);
    await session.query(
      `SELECT ${bed.subject.schema}.enqueue('mailer', '2')`,
    );
    const { tenant } = api;
    await api.write(repositories.tenants.update(tenant, {
      ...tenant,
      version: tenant.version + 1,
      status: "suspended",
    }));
    await bed.drain();
    const { inbox } = bed.subject.store;
    const [one, ...rest] = await inbox!.refused({
      tenantId: tenant.id,
      limit: 10,
    });
    assertEquals([one?.number, rest], [number, []]);
    assertEquals(JSON.parse(one!.problem).code, "tenant_suspended");
    const tasks = await api.store.listTasks({
      tenantId: other.id,
      by: "created_at",
      sort: "created_at",
      order: "asc",
      limit: 10,
    });
    assertEquals(tasks.tasks.map(({ dataJson }) => dataJson), ["2"]);
    await session.close();
  },
);

inboxTest(
  "TenantEraser erases requests, refused ones and roles of a removed tenant",
  async (bed) => {
    const { api, subject: { schema, store } } = bed;
    await bed.enqueue(1, { tags: [7] });
    await bed.drain();
    await bed.enqueue(2);
    const { repositories, clock } = api.engine.parts;
    const tenant = await repositories.tenants.get(REGISTRY, api.tenant.id);
    await api.write(
      ...await removalWrites({ repositories }, tenant!, {
        nowMs: clock.nowMs(),
        actor: SYSTEM_ACTOR,
      }),
    );
    await new TenantEraser({ engine: api.engine }).runOnce();
    for (const table of ["enqueue_roles", "inbox", "inbox_refused"]) {
      assertEquals(await TEST_SERVER.sql(`SELECT FROM ${schema}.${table}`), []);
    }
    await assertRejects(() => bed.enqueue(3), Error, "belongs to no tenant");
    assertEquals((await store.inbox!.take(async () => {})).isOpen, false);
  },
);

inboxTest(
  "InboxWorker counts what it takes over of several tenants at once",
  async (bed) => {
    const { api, subject: { schema }, worker } = bed;
    const { tenant: other } = await api.addTenant("globex");
    await api.addWorker({ tenantId: other.id, name: "mailer" });
    const session = await TEST_SERVER.session({
      user: await bed.addRole("globex"),
    });
    await session.query(`SELECT ${schema}.enqueue('mailer', '1')`);
    for (let count = 0; count < 3; count++) await bed.enqueue(count);
    assertEquals(await worker.runOnce(), { isOpen: true, shown: 4, taken: 4 });
    await session.close();
  },
);

inboxTest(
  "InboxWorker tells for how long the oldest request may have been waiting",
  async (bed) => {
    const { api: { clock }, subject: { schema }, worker, role } = bed;
    const ask = async (): Promise<number> => {
      await worker.runOnce();
      return worker.waitedMs;
    };
    assertEquals(await ask(), 0);
    await bed.enqueue(1, { tags: [7] });
    await bed.enqueue(2);
    await TEST_SERVER.sql(
      `UPDATE ${schema}.inbox SET asked_ms = asked_ms - 60000 WHERE id = 1`,
    );
    const waitedMs = await ask();
    assertEquals(waitedMs >= 60_000 && waitedMs < 120_000, true, `${waitedMs}`);
    assertEquals(await ask(), 0);
    // Nobody looks.
    clock.advance(90_000);
    assertEquals(worker.waitedMs, 90_000);
    // No role may enqueue, so nothing can wait.
    await unmapRole(schema, role);
    await worker.runOnce();
    clock.advance(90_000);
    assertEquals(worker.waitedMs, 0);
  },
);

inboxTest(
  "InboxWorker keeps nothing of a transaction that was open while its tenant was erased",
  async (bed) => {
    const { api, session, worker, subject: { schema } } = bed;
    await session.query("BEGIN");
    await bed.enqueue({ secret: true });
    const { repositories, clock } = api.engine.parts;
    const tenant = await repositories.tenants.get(REGISTRY, api.tenant.id);
    await api.write(
      ...await removalWrites({ repositories }, tenant!, {
        nowMs: clock.nowMs(),
        actor: SYSTEM_ACTOR,
      }),
    );
    await new TenantEraser({ engine: api.engine }).runOnce();
    await session.query("COMMIT");
    assertEquals((await worker.runOnce()).shown, 1);
    for (const table of ["inbox", "inbox_refused"]) {
      assertEquals(await TEST_SERVER.sql(`SELECT FROM ${schema}.${table}`), []);
    }
    assertEquals(bed.ended, []);
  },
);

/** Lets the store fail where it is given a task with some data. */
function failingFor(store: Store, isPoison: (data: unknown) => boolean): Store {
  return withCommit(store, async (transactions, apply) => {
    const isBad = (transaction: Transaction): boolean =>
      transaction.writes.some((write) =>
        write.kind === "task" && write.next !== undefined &&
        isPoison(JSON.parse(write.next.dataJson))
      );
    if (transactions.some(isBad)) throw new StoreFailedError("it is poison");
    return await apply(transactions);
  });
}

serviceTest(["postgres"], {
  name:
    "InboxWorker sets aside a request that cannot be written, not the others",
  async fn() {
    let isHealed = false;
    const bed = await openInboxBed({
      wrap: (store) => failingFor(store, (data) => data === "bad" && !isHealed),
    });
    const { worker, api: { clock } } = bed;
    for (const data of [1, "bad", 2, 3]) await bed.enqueue(data);
    assertEquals((await worker.runOnce()).taken, 3);
    assertEquals(await bed.data(), [1, 2, 3]);
    assertEquals(worker.aside, 1);
    await bed.enqueue(4);
    assertEquals(await worker.runOnce(), { isOpen: true, shown: 1, taken: 1 });
    clock.advance(1_000);
    // It is tried again, and waits for twice as long.
    assertEquals(await worker.runOnce(), { isOpen: true, shown: 1, taken: 0 });
    isHealed = true;
    clock.advance(1_000);
    assertEquals((await worker.runOnce()).shown, 0);
    clock.advance(1_000);
    assertEquals((await worker.runOnce()).taken, 1);
    assertEquals([await bed.data(), worker.aside], [[1, 2, 3, 4, "bad"], 0]);
    await bed.close();
  },
});

serviceTest(["postgres"], {
  name: "InboxWorker refuses a request by which the service itself fails",
  async fn() {
    const bed = await openInboxBed({
      wrap: (store) =>
        withCommit(store, async (transactions, apply) => {
          const text = JSON.stringify(transactions);
          if (text.includes("bug")) throw new TypeError("a bug");
          return await apply(transactions);
        }),
    });
    for (const data of [1, "bug", 2]) await bed.enqueue(data);
    await bed.drain();
    assertEquals(await bed.data(), [1, 2]);
    const [one] = await refused(bed);
    assertEquals(one?.problem.code, "internal");
    await bed.close();
  },
});

serviceTest(["postgres"], {
  name:
    "InboxWorker leaves all requests, in their order, while the store fails",
  async fn() {
    let fails = false;
    const fail = (proceed: () => Promise<unknown>): Promise<unknown> =>
      fails ? Promise.reject(new StoreFailedError("it fails")) : proceed();
    const bed = await openInboxBed({
      wrap: (store) => interceptStore(store, { commit: fail, check: fail }),
    });
    for (const data of [1, 2, 3]) await bed.enqueue(data);
    fails = true;
    for (let tries = 0; tries < 3; tries++) {
      await assertRejects(() => bed.worker.runOnce(), StoreFailedError);
    }
    fails = false;
    assertEquals(bed.worker.aside, 0);
    await bed.drain();
    assertEquals(await bed.data(), [1, 2, 3]);
    assertEquals(await refused(bed), []);
    await bed.close();
  },
});

/** A step of taking requests over at which an instance dies. */
type Death =
  | "before commit"
  | "after commit"
  | "before refusal"
  | "after refusal";

/** Lets an instance die at a step: it does nothing more. */
function dyingStore(store: PostgresStore, death: Death): Store {
  let isDead = false;
  const around =
    (step: "commit" | "refusal") =>
    async <Answer>(proceed: () => Promise<Answer>): Promise<Answer> => {
      if (death === `before ${step}`) isDead = true;
      if (isDead) throw new StoreFailedError("the instance is dead");
      const answer = await proceed();
      if (death === `after ${step}`) isDead = true;
      if (isDead) throw new StoreFailedError("the instance is dead");
      return answer;
    };
  const inbox = inboxOf(store);
  const ofRequests = (transactions: readonly Transaction[]): boolean =>
    transactions.some(({ writes }) =>
      writes.some(({ kind }) => kind === "request")
    );
  return {
    ...withCommit(
      store,
      (transactions, apply) =>
        ofRequests(transactions)
          ? around("commit")(() => apply(transactions))
          : apply(transactions),
    ),
    check: () =>
      isDead ? Promise.reject(new StoreFailedError("dead")) : store.check(),
    inbox: {
      ...inbox,
      refuse: (refusals) => around("refusal")(() => inbox.refuse(refusals)),
    },
  };
}

for (
  const death of [
    "before commit",
    "after commit",
    "before refusal",
    "after refusal",
  ] as const
) {
  inboxTest(
    `InboxWorker takes each request over once when an instance dies ${death}`,
    async (bed) => {
      const dying = await bed.another((store) => dyingStore(store, death));
      for (let index = 0; index < 60; index++) {
        await bed.enqueue(index, index % 7 === 3 ? { tags: [7] } : {});
      }
      await assertRejects(() => dying.worker.runOnce(), StoreFailedError);
      await bed.drain();
      const all = Array.from({ length: 60 }, (_, index) => index);
      const isBad = (index: number): boolean => index % 7 === 3;
      assertEquals(
        (await bed.data()).toSorted((a, b) => Number(a) - Number(b)),
        all.filter((index) => !isBad(index)),
      );
      assertEquals((await refused(bed)).length, all.filter(isBad).length);
    },
  );
}

inboxTest(
  "InboxWorker of several instances takes each request over once",
  async (bed) => {
    const other = await bed.another();
    const third = await bed.another();
    const made: unknown[] = [];
    for (const one of [bed, other, third]) noteMade(one, made);
    await bed.session.query("BEGIN");
    for (let index = 0; index < 300; index++) {
      await bed.enqueue(index, index % 10 === 0 ? { tags: [7] } : {});
    }
    await bed.session.query("COMMIT");
    const isEmpty = async (): Promise<boolean> =>
      (await TEST_SERVER.sql(`SELECT FROM ${bed.subject.schema}.inbox LIMIT 1`))
        .length === 0;
    await Promise.all([bed, other, third].map(async ({ worker }) => {
      while (!await isEmpty()) await worker.runOnce();
    }));
    // Nobody is shown a tenant's requests while another instance has some.
    assertEquals(
      made,
      Array.from({ length: 300 }, (_, index) => index)
        .filter((index) => index % 10 !== 0),
    );
    assertEquals(
      [bed, other, third].flatMap(({ ended }) => ended)
        .filter((one) => one === "refused").length,
      30,
    );
  },
);

inboxTest(
  "InboxWorker takes each request over once even if others are shown the same",
  async (bed) => {
    let requests: readonly InboxRequest[] = [];
    const { worker } = await bed.another((store) => ({
      ...store,
      inbox: {
        ...inboxOf(store),
        async take(handle) {
          await handle(requests);
          return { isOpen: true, waitedMs: 0, shown: requests.length };
        },
      },
    }));
    for (let index = 0; index < 40; index++) {
      await bed.enqueue(index, index % 10 === 9 ? { tags: [7] } : {});
    }
    let taken = 0;
    await inboxOf(bed.subject.store).take(async (shown) => {
      requests = shown;
      const looks = [worker.runOnce(), worker.runOnce(), worker.runOnce()];
      for (const look of await Promise.all(looks)) taken += look.taken;
    });
    assertEquals([requests.length, taken], [40, 40]);
    await bed.drain();
    assertEquals((await bed.data()).length, 36);
    assertEquals((await refused(bed)).length, 4);
  },
);
