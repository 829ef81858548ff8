import { assertEquals } from "@std/assert";
import { StoreFailedError } from "../../../shared/store_failed.ts";
import { type Store, StoreBusyError } from "../../store/store.ts";
import {
  openTestEngine,
  OWNER,
  TENANT_ID,
  type TestEngine,
} from "../testing/test_engine.ts";
import { REGISTRY } from "../repositories.ts";
import { openFleet } from "../testing/test_fleet.ts";
import {
  type BulkOrder,
  newOperation,
  puttingNote,
  puttingOperation,
  readOperation,
  toName,
} from "./operation.ts";
import { Operations } from "./operations.ts";

const OTHER_ID = "ten_other";

Deno.test("Operations goes on with other tenants' actions while one waits for room or fails", async () => {
  const faults: readonly ((world: World) => { end(): void })[] = [
    (world) => failCommits(world, () => new StoreBusyError(5_000)),
    (world) => failCommits(world, () => new StoreFailedError("no disk")),
    (world) => failCommits(world, () => new TypeError("cannot be read")),
  ];
  for (const fail of faults) {
    const world = await open();
    const failing = fail(world);
    const mine = await world.order(pausing(world));
    const others = await world.order(missing(world));
    await world.clock.advance(0);
    assertEquals(await world.readStatus(OTHER_ID, others), "done");
    assertEquals(await world.readStatus(TENANT_ID, mine), "running");
    failing.end();
    await world.clock.advance(10_000);
    assertEquals(await world.readStatus(TENANT_ID, mine), "done");
    await world.operations.stop();
  }
});

Deno.test("Operations gives no action up because the store failed or was busy, however long", async () => {
  for (
    const error of [new StoreBusyError(50), new StoreFailedError("no disk")]
  ) {
    const world = await open();
    const failing = failCommits(world, () => error);
    const id = await world.order(pausing(world));
    await world.clock.advance(200_000);
    failing.end();
    await world.clock.advance(2_000);
    assertEquals(await world.readStatus(TENANT_ID, id), "done");
    await world.operations.stop();
  }
});

Deno.test("Operations tries again to give an action up when the store failed in it", async () => {
  const world = await open();
  const failing = failCommits(world, () => new TypeError("cannot be read"));
  const id = await world.order(pausing(world));
  await world.clock.advance(70_000);
  assertEquals(await world.readStatus(TENANT_ID, id), "running");
  failing.end({ exceptGivingUp: true });
  await world.clock.advance(2_000);
  assertEquals(await world.readStatus(TENANT_ID, id), "failed");
  await world.operations.stop();
});

Deno.test("Operations.stop() does not wait for room in the store", async () => {
  const world = await open();
  // The activity of the tasks that were made is written.
  await world.clock.advance(5_000);
  const failing = failCommits(world, () => new StoreBusyError(5_000));
  const id = await world.order(pausing(world));
  await world.clock.advance(1);
  // The clock stands still, so waiting would never end.
  await world.operations.stop();
  assertEquals(world.clock.pendingTimers, 0);
  failing.end();
  const next = new Operations(world.engine, { answerWrites: () => [] });
  await next.start();
  await world.clock.advance(0);
  assertEquals(await world.readStatus(TENANT_ID, id), "done");
  await next.stop();
});

Deno.test("Operations leaves an action to the instance that works on it, and takes it over when that one is gone", async () => {
  const fleet = await openFleet();
  const [one] = fleet.instances;
  const runners = fleet.instances.map(({ engine }) =>
    new Operations(engine, { answerWrites: () => [] })
  );
  for (const runner of runners) await runner.start();
  const worker = await one.worker();
  await one.task(worker);
  const busy = fleet.instances.find(({ parts }) =>
    !parts.instances.holds("bulk")
  )!;
  const failing = failCommits(busy, () => new StoreBusyError(5_000));
  const operation = newOperation(pausing(one), one.parts.newId("opr"));
  await runners[fleet.instances.indexOf(busy)]!.order(operation, []);
  const status = async (): Promise<string | undefined> =>
    (await readOperation(one.store, toName(operation)))?.status;
  await fleet.advance(130_000);
  assertEquals(await status(), "running");
  busy.die();
  await fleet.advance(12_000, [busy]);
  assertEquals(await status(), "done");
  const notes = await one.store.records({
    kind: "operation",
    tenantId: REGISTRY,
    limit: 10,
  });
  assertEquals(notes.records, []);
  failing.end();
  for (const [index, each] of fleet.instances.entries()) {
    if (each === busy) continue;
    await runners[index]!.stop();
    await each.stop();
  }
});

Deno.test("Operations continues an action that an earlier version was asked for", async () => {
  const world = await open();
  const operation = newOperation(pausing(world), world.parts.newId("opr"));
  const { tenantId, id } = toName(operation);
  // Such a note names no instance.
  await world.store.commit([
    { writes: [puttingNote({ tenantId, id, version: 1 })] },
    { writes: [puttingOperation(operation)] },
  ]);
  assertEquals(await world.operations.start(), 1);
  await world.clock.advance(0);
  assertEquals(await world.readStatus(tenantId, id), "done");
  await world.operations.stop();
});

interface World extends TestEngine {
  readonly operations: Operations;
  /** Orders an action and returns the operation's id. */
  order(order: BulkOrder): Promise<string>;
  readStatus(tenantId: string, id: string): Promise<string | undefined>;
}

/** Opens an engine with three tasks. */
async function open(): Promise<World> {
  const world = await openTestEngine();
  const worker = await world.worker();
  for (let left = 3; left > 0; left--) await world.task(worker);
  const operations = new Operations(world.engine, { answerWrites: () => [] });
  return {
    ...world,
    operations,
    async order(order) {
      const operation = newOperation(order, world.parts.newId("opr"));
      const begun = await operations.order(operation, []);
      if (begun.kind !== "ok") throw new Error(begun.kind);
      return operation.id;
    },
    readStatus: async (tenantId, id) =>
      (await readOperation(world.store, { tenantId, id }))?.status,
  };
}

function pausing({ clock }: TestEngine): BulkOrder {
  return {
    action: "pause",
    tenantId: TENANT_ID,
    actor: OWNER,
    filter: { by: "date" },
    limit: 1_000,
    isDryRun: false,
    orderedAtMs: clock.nowMs(),
  };
}

/** An order of several portions, whose tasks are not there. */
function missing(world: TestEngine): BulkOrder {
  const ids = Array.from({ length: 170 }, (_, index) => `tsk_${index}`);
  return { ...pausing(world), tenantId: OTHER_ID, filter: undefined, ids };
}

/** Makes the commits fail that advance an operation of the test's tenant. */
function failCommits(
  { parts: { store } }: { readonly parts: { readonly store: Store } },
  error: () => Error,
): { end(options?: { readonly exceptGivingUp: boolean }): void } {
  const { commit } = store;
  let exceptGivingUp = false;
  let isFailing = true;
  store.commit = async (transactions) => {
    const fails = isFailing &&
      transactions.some(({ writes }) =>
        writes.some((write) =>
          write.kind === "record" && write.tenantId === TENANT_ID &&
          write.expectedVersion > 0 && write.recordKind === "operation" &&
          !(exceptGivingUp && write.next?.text.includes('"status":"failed"'))
        )
      );
    if (fails) throw error();
    return await commit(transactions);
  };
  return {
    end(options) {
      exceptGivingUp = options?.exceptGivingUp === true;
      isFailing = exceptGivingUp;
    },
  };
}
