import { assert, assertEquals } from "@std/assert";
import { createMemoryStore } from "../store/testing/memory_store.ts";
import { createTasks } from "./testing/create_tasks.ts";
import { interceptStore, slowCommits } from "./testing/intercepted_store.ts";
import { sampleDefinition } from "./testing/samples.ts";
import { SteppingClock } from "../../../tests/support/stepping_clock.ts";
import {
  openTestEngine,
  OWNER,
  TENANT_ID,
  type TestEngine,
} from "./testing/test_engine.ts";

/**
 * Lets each of several instances create tasks of one key at once, and counts
 * what became of them.
 */
async function compete(
  { instances, requests }: {
    readonly instances: number;
    /** How many requests each instance gets. */
    readonly requests: number;
  },
) {
  const clock = new SteppingClock();
  const store = createMemoryStore({ clock });
  let commits = 0;
  const engines = await Promise.all(
    Array.from({ length: instances }, (_, index) =>
      openTestEngine({
        store: createMemoryStore({ clock, besides: store }),
        clock,
        seed: index + 1,
        wrap: (inner) =>
          slowCommits(interceptStore(inner, {
            commit(proceed, [first] = []) {
              if (first?.writes[0]?.kind !== "activity") commits++;
              return proceed();
            },
          })),
      })),
  );
  const [first] = engines;
  assert(first !== undefined);
  const worker = await first.worker();
  commits = 0;
  let isDone = false;
  const creating = Promise.all(
    engines.flatMap(({ engine }, index) =>
      Array.from({ length: requests }, async (_, request) => {
        const { kind } = await createTasks(engine, [{
          tenantId: TENANT_ID,
          worker,
          definition: sampleDefinition({
            workerId: worker.id,
            key: "one",
            dataJson: JSON.stringify([index, request]),
          }),
          dateMs: undefined,
          isPaused: false,
          actor: OWNER,
          onConflict: "replace",
        }]);
        return kind;
      })
    ),
  );
  creating.finally(() => isDone = true);
  while (!isDone) await clock.advance(1);
  const outcomes = await creating;
  const task = await store.taskByKey({
    tenantId: TENANT_ID,
    workerId: worker.id,
    key: "one",
  });
  assert(task !== undefined);
  const history = await first.history(task);
  for (const { engine } of engines) await engine.stop();
  return { outcomes, commits, history };
}

Deno.test("requests for one key at one instance need a commit each", async () => {
  const { outcomes, commits, history } = await compete({
    instances: 1,
    requests: 50,
  });
  assertEquals(outcomes.every((kind) => kind === "ok"), true);
  assertEquals([commits, history.length], [50, 50]);
});

Deno.test("a request for one key outlasts a burst of them at another instance, which always writes first", async () => {
  const clock = new SteppingClock();
  const store = createMemoryStore({ clock });
  const sleep = (ms: number): Promise<void> =>
    new Promise((resolve) => void clock.setTimer(resolve, ms));
  const engines = await Promise.all(
    [1, 2].map((seed) =>
      openTestEngine({
        store: createMemoryStore({ clock, besides: store }),
        clock,
        seed,
        wrap: (inner) =>
          interceptStore(inner, {
            async commit(proceed) {
              await sleep(2);
              return await proceed();
            },
          }),
      })
    ),
  );
  const [one, other] = engines;
  assert(one !== undefined && other !== undefined);
  const making = one.worker();
  await clock.advance(10);
  const worker = await making;
  const create = async ({ engine }: TestEngine): Promise<string> =>
    (await createTasks(engine, [{
      ...{ tenantId: TENANT_ID, worker, actor: OWNER, isPaused: false },
      ...{ dateMs: undefined, onConflict: "replace" as const },
      definition: sampleDefinition({ workerId: worker.id, key: "one" }),
    }])).kind;
  const burst = Promise.all(Array.from({ length: 100 }, () => create(one)));
  await clock.advance(9);
  const single = create(other);
  await clock.advance(2_000);
  assertEquals(new Set(await burst), new Set(["ok"]));
  assertEquals(await single, "ok");
  const stopping = engines.map(({ engine }) => engine.stop());
  await clock.advance(10);
  await Promise.all(stopping);
});

for (const instances of [2, 3, 5]) {
  Deno.test(`requests for one key at ${instances} instances are all answered, each written once, and wait for ${instances - 1} others at most in each round`, async () => {
    const requests = 50;
    const { outcomes, commits, history } = await compete({
      instances,
      requests,
    });
    assertEquals(outcomes.every((kind) => kind === "ok"), true);
    const all = instances * requests;
    const written = history.filter((type) =>
      type === "created" || type === "updated"
    );
    assertEquals(written.length, all);
    // The locks let one request of each instance through, and in each round one
    // of them succeeds.
    assert(commits <= all * instances, `${commits} commits`);
  });
}
