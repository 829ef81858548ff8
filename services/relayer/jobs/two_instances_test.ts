/**
 * Tests of two instances on one database: of two runners, one of which stands
 * still or dies at any call that it makes; of requests that wait at one for a job
 * that the other one does; of one client's key at both.
 */

import { assert, assertEquals } from "@std/assert";
import { serviceTest } from "../../../tests/support/services.ts";
import { waitUntil } from "../../../tests/support/wait_until.ts";
import {
  openSubject,
  type PostgresSubject,
} from "../store/postgres/testing/postgres_subject.ts";
import type { RelayerStore } from "../store/store.ts";
import type { JobRunner } from "./job_runner.ts";
import { JobWaiters } from "./job_waiters.ts";
import { CALLER, JobWorld } from "./testing/job_world.ts";

const { owner } = CALLER;

/** A runner of an instance that is a member. */
async function openRunner(
  id: string,
  world: JobWorld,
  store: RelayerStore,
): Promise<JobRunner> {
  const beat = { id, version: "", address: "", wants: [] };
  await store.beat({ ...beat, sinceLastMs: undefined });
  return world.runner({
    instances: {
      members: [],
      id,
      isFenced: false,
      mayAct: () => Promise.resolve(true),
      onChange: () => () => {},
    },
  });
}

/** Two worlds on one database. */
interface Two {
  readonly subject: PostgresSubject;
  readonly first: JobWorld;
  readonly second: JobWorld;
  /** The store of the second one. */
  readonly store: RelayerStore;
}

async function withTwo(use: (two: Two) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "relayer_two_" });
  const subject = await openSubject();
  const { clock } = subject;
  const first = new JobWorld(folder, { clock, store: subject.store });
  try {
    await first.vault.start();
    const store = await subject.another();
    const second = new JobWorld(folder, { clock, store, of: first });
    await use({ subject, store, first, second });
  } finally {
    await first.vault.stop();
    await subject.close();
    await Deno.remove(folder, { recursive: true });
  }
}

/** Calls by which a runner looks for more jobs, whatever a batch does. */
const LOOKS = ["store.leaseJobs", "store.nextJobMs"];

/**
 * Stops a runner's world at its n-th call, until it is let go on; looks that
 * come after the first one do not count.
 */
class Stop {
  readonly #at: number;
  readonly #reached = Promise.withResolvers<string>();
  readonly #goesOn = Promise.withResolvers<void>();
  #calls = 0;

  constructor(at: number) {
    this.#at = at;
  }

  /** Resolves with the name of the call at which it stands. */
  get reached(): Promise<string> {
    return this.#reached.promise;
  }

  /** What each call of the world runs. */
  readonly hook = async (call: string, when: string): Promise<void> => {
    const isLater = this.#calls >= 2 && LOOKS.includes(call);
    if (this.#calls < this.#at && (isLater || ++this.#calls < this.#at)) return;
    this.#reached.resolve(`${when} ${call}`);
    await this.#goesOn.promise;
  };

  goOn(): void {
    this.#goesOn.resolve();
  }
}

/** Waits until a job has ended in the store; meanwhile time goes on. */
async function jobEnded(
  { store, subject }: Two,
  id: string,
  stepMs: number,
): Promise<void> {
  await waitUntil(async () => {
    subject.clock.advance(stepMs);
    const [job] = await store.jobs(owner, [id]);
    return job?.status === "done" || job?.status === "failed";
  }, { what: `the end of job ${id}` });
}

/** Stops a runner; meanwhile time goes on. */
async function stopped({ subject }: Two, runner: JobRunner): Promise<void> {
  let isOver = false;
  const stopping = runner.stop(60_000).then(() => void (isOver = true));
  await waitUntil(() => {
    subject.clock.advance(100);
    return isOver;
  }, { what: "the end of a runner" });
  await stopping;
}

/** How many rows, blobs and entries there are of all memories. */
async function countAll({ store, first }: Two): Promise<readonly number[]> {
  const { memories } = await store.stats(owner);
  const { blobs, catalog } = first;
  return [memories, blobs.blobs.size, catalog.entries.size];
}

/**
 * Lets the first runner stand still at its n-th call, and the second one take
 * over its job.
 *
 * @returns the call; undefined when the job was done before
 */
async function stopAt(
  two: Two,
  at: number,
  end: "dies" | "is late" | "is late, and its memory deleted",
): Promise<string | undefined> {
  const { subject, first, second, store } = two;
  const one = await openRunner("one", first, subject.store);
  const other = await openRunner("other", second, store);
  const [id = ""] = await first.accept([`Ada prefers tea ${at} ${end}`]);
  assert(first.recent.get(id) !== undefined);
  const before = await countAll(two);
  const stop = new Stop(at);
  first.hook = stop.hook;
  one.start();
  const reached = await Promise.race([
    stop.reached,
    jobEnded(two, id, 0).then(() => undefined),
  ]);
  if (reached === undefined) {
    await one.stop(60_000);
    return undefined;
  }
  if (end === "dies") {
    await store.leave("one");
    other.start();
  } else {
    // Nobody takes the job while the first one has it.
    subject.clock.advance(29_000);
    if (reached !== "before store.leaseJobs") {
      const nowMs = subject.clock.nowMs();
      const lease = { nowMs, limit: 9, leaseMs: 1, instance: "other" };
      assertEquals(await store.leaseJobs(lease), [], reached);
    }
    subject.clock.advance(2_000);
    other.start();
  }
  // A late commit of the first instance may delay the job once.
  await jobEnded(two, id, 100);
  await other.stop(60_000);
  const isDeleted = end === "is late, and its memory deleted";
  if (isDeleted) await second.remove(id);
  if (end === "dies") void one.stop(0);
  else {
    stop.goOn();
    await stopped(two, one);
  }
  assertEquals(
    await countAll(two),
    before.map((count) => count + (isDeleted ? 0 : 1)),
    `${end} ${reached}`,
  );
  const [memory] = await store.memories(owner, [id]);
  assertEquals(memory === undefined, isDeleted);
  first.hook = () => {};
  return reached;
}

for (
  const end of [
    "dies",
    "is late",
    "is late, and its memory deleted",
  ] as const
) {
  serviceTest(["postgres"], {
    name:
      `JobRunner of another instance ends a job once when the one that has it ${end}, at any call`,
    async fn() {
      await withTwo(async (two) => {
        const calls: string[] = [];
        for (let at = 1;; at++) {
          const call = await stopAt(two, at, end);
          if (call === undefined) break;
          calls.push(call);
        }
        // The steps that a crash may come between.
        for (
          const step of [
            ...["before store.leaseJobs", "after store.leaseJobs"],
            ...["before blobs.put", "after blobs.put", "before store.commit"],
            ...["after store.commit", "before catalog.add"],
            "after catalog.add",
          ]
        ) assert(calls.includes(step), `${step} of ${calls.join(", ")}`);
      });
    },
  });
}

serviceTest(["postgres"], {
  name:
    "JobWaiters.wait() answers when another instance has ended the job, and keeps no text of it",
  async fn() {
    await withTwo(async ({ subject, store, first, second }) => {
      const [id = ""] = await first.accept(["Ada prefers tea"]);
      const waitersOf = (world: JobWorld, its: RelayerStore): JobWaiters =>
        new JobWaiters({
          ...{ store: its, clock: subject.clock, logger: world.logger },
          recent: world.recent,
          hasOthers: () => true,
        });
      const waiters = waitersOf(first, subject.store);
      const others = waitersOf(second, store);
      waiters.start();
      // Time stands still, so that no look can find the end.
      const waiting = waiters.wait(owner, id, { waitMs: 20_000 });
      const [job] = await second.leaseDue();
      await second.steps({ onSettled: () => {} }).run(
        [job!],
        new AbortController().signal,
      );
      assert(first.recent.get(id) !== undefined);
      let ended: string | undefined;
      const answered = waiting.then((row) => void (ended = row?.status));
      await waitUntil(() => {
        // Notices before the first instance listens are lost.
        others.tell({ owner, id });
        return ended !== undefined;
      }, { what: "the answer" });
      await answered;
      assertEquals(ended, "done");
      assertEquals(first.recent.get(id), undefined);
      waiters.stop();
      others.stop();
    });
  },
});

serviceTest(["postgres"], {
  name:
    "JobIntake.accept() makes one job for a client's key that comes to two instances at once",
  async fn() {
    await withTwo(async ({ store, first, second }) => {
      for (let round = 0; round < 20; round++) {
        const options = {
          status: "running",
          idempotencyKey: `order ${round}`,
        } as const;
        const text = `Ada prefers tea ${round}`;
        const ids = await Promise.all(
          [first, second, first, second].map((world) =>
            world.accept([text], options)
          ),
        );
        const [one] = ids;
        assertEquals(ids, ids.map(() => one));
        const open = await store.openJobs(owner);
        assertEquals(open.jobs, round + 1);
      }
      const other = await second.offer(["Ben has a dog"], {
        status: "running",
        idempotencyKey: "order 0",
      });
      assertEquals(other.kind, "key_reused");
    });
  },
});
