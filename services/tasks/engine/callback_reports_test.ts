import { assertEquals, assertExists } from "@std/assert";
import type { Task } from "../domain/task.ts";
import type { TaskEvent } from "../domain/task_event.ts";
import type { EventOutcome } from "./changes.ts";
import {
  openTestEngine,
  OWNER,
  TENANT_ID,
  type TestEngine,
  type TestEngineOptions,
} from "./testing/test_engine.ts";
import { interceptStore } from "./testing/intercepted_store.ts";
import { internalTenant } from "./workers.ts";

interface Called extends TestEngine {
  /** The task that ended. */
  readonly origin: Task;
  /** The call at its end. */
  readonly call: Task;
  /** Lets something happen to the call. */
  happens(event: TaskEvent): Promise<EventOutcome>;
}

/** An engine that runs, and a task whose end makes a call. */
async function open(options: TestEngineOptions = {}): Promise<Called> {
  const world = await openTestEngine(options);
  const mailer = await world.worker();
  await world.engine.start();
  const origin = await world.task(mailer, {
    callback: { url: "https://owner.example/end", on: ["complete"] },
  });
  await world.complete((await world.lease(mailer))[0]);
  const { tasks } = await world.store.scan({ statuses: ["waiting"], limit: 9 });
  const [call] = tasks;
  assertExists(call);
  return {
    ...world,
    origin,
    call,
    happens: (event) =>
      world.engine.changes.apply({
        tenantId: internalTenant(TENANT_ID),
        id: call.id,
        event,
        actor: OWNER,
      }),
  };
}

function start({ parts: { bootId } }: TestEngine): TaskEvent {
  return { kind: "start", tokenHash: "", leaseMs: 30_000, bootId };
}

/** Tries a call until it is given up, in a way that no answer brings. */
async function giveUp(
  world: Called,
  end: () => Promise<unknown>,
): Promise<void> {
  for (let tries = 0; tries < 100; tries++) {
    const outcome = await world.happens(start(world));
    if (outcome.kind === "refused") {
      const call = await world.store.task(
        internalTenant(TENANT_ID),
        world.call.id,
      );
      if (call?.status === "failed") return;
      // Its date is days away at last.
      await world.happens({ kind: "retry" });
      continue;
    }
    await end();
  }
  throw new Error("the call is never given up");
}

Deno.test("CallbackReports tells the origin of a call whose time runs out each time", async () => {
  const world = await open();
  await giveUp(world, () => world.clock.advance(31_000));
  await world.engine.stop();
  assertEquals(await reports(world), ["callback_failed"]);
});

Deno.test("CallbackReports tells the origin of a call whose server dies each time", async () => {
  const world = await open();
  await giveUp(world, async () => {
    const call = await world.store.task(
      internalTenant(TENANT_ID),
      world.call.id,
    );
    await world.happens({
      kind: "lose",
      lease: { id: call?.attempt?.id ?? "" },
      reason: "the server was restarted",
    });
  });
  await world.engine.stop();
  assertEquals(await reports(world), ["callback_failed"]);
});

Deno.test("CallbackReports tells once of a call that was made, when the store can be written again", async () => {
  let fails = false;
  const world = await open({
    wrap: (store) =>
      interceptStore(store, {
        commit: (proceed) =>
          fails ? Promise.reject(new Error("no disk")) : proceed(),
      }),
  });
  await world.happens(start(world));
  const call = await world.store.task(internalTenant(TENANT_ID), world.call.id);
  const lease = { id: call?.attempt?.id ?? "" };
  // The report is the first thing after the end of the call.
  world.engine.changes.onChange(() => fails = true);
  await world.happens({ kind: "complete", lease });
  await world.clock.advance(1_000);
  assertEquals(await reports(world), []);
  fails = false;
  await world.clock.advance(5_000);
  await world.engine.stop();
  assertEquals(await reports(world), ["callback_sent"]);
  assertEquals(world.clock.pendingTimers, 0);
});

async function reports(world: Called): Promise<readonly string[]> {
  const types = await world.history(world.origin);
  return types.filter((type) => type.startsWith("callback"));
}
