import { assert, assertEquals, assertNotEquals } from "@std/assert";
import type { FairKey } from "../../shared/fair_queue.ts";
import type { Turn } from "../../shared/fair_turns.ts";
import { BlobStoreError } from "../blobs/blob_store.ts";
import type { Change } from "../store/changes.ts";
import { DELETED_ERROR } from "./job_failure.ts";
import {
  CALLER,
  type JobWorld,
  never,
  withWorld,
} from "./testing/job_world.ts";

const { owner } = CALLER;
const WHOLE = ["blob", "entry", "index", "row"];

/** Runs the due jobs and returns the calls that they made, in order. */
async function listCalls(world: JobWorld): Promise<readonly string[]> {
  const calls: string[] = [];
  world.hook = (call, when) => void calls.push(`${call} ${when}`);
  await world.runDue();
  world.hook = () => {};
  return calls;
}

/**
 * Returns the calls of a job that supersedes a memory; each is a point at which
 * the job can be interrupted.
 */
async function listPoints(): Promise<readonly string[]> {
  let calls: readonly string[] = [];
  await withWorld(async (world) => {
    await prepare(world);
    calls = await listCalls(world);
  });
  return calls;
}

/** Makes a memory and a job that supersedes it; returns the ids of both. */
async function prepare(
  world: JobWorld,
): Promise<{ readonly old: string; readonly id: string }> {
  const [old = ""] = await world.accept(["Ada lives in Ghent."]);
  await world.runDue();
  const [id = ""] = await world.accept([
    { text: "Ada lives in Bruges.", namespace: "default", supersedes: old },
  ]);
  return { old, id };
}

/** Makes a hook that acts at the call of this number. */
function at(point: number, act: () => unknown): (call: string) => unknown {
  let count = 0;
  return () => count++ === point ? act() : undefined;
}

/** Runs the due jobs, and resolves when the call of this number hangs. */
async function cutAt(world: JobWorld, point: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  world.hook = at(point, () => {
    resolve();
    // After a crash no further call happens.
    world.hook = never;
    return never();
  });
  void world.runDue();
  await promise;
}

Deno.test("JobSteps.run() stores a memory, finds it and notes it", async () => {
  await withWorld(async (world) => {
    const { old, id } = await prepare(world);
    assertEquals(await world.runDue(), [{ kind: "done" }]);
    assertEquals(await world.findTraces(id), WHOLE);
    assertEquals((await world.job(id)).status, "done");
    assertEquals([world.isFound(old), world.isFound(id)], [false, true]);
    assertEquals(world.settled.includes(id), true);
    const entry = await world.catalog.findEntry(owner, id);
    assertEquals(entry?.supersedes, old);
  });
});

Deno.test("JobSteps.run() loses and doubles nothing wherever a crash comes", async () => {
  const points = await listPoints();
  assert(points.length >= 10, points.join());
  for (const [point, name] of points.entries()) {
    await withWorld(async (world) => {
      const { old, id } = await prepare(world);
      await cutAt(world, point);
      await world.restart();
      // Recall finds exactly one of the two memories.
      assertNotEquals(world.isFound(old), world.isFound(id), name);
      await world.runDue();
      assertEquals(await world.findTraces(id), WHOLE, name);
      assertEquals((await world.job(id)).status, "done", name);
      assertEquals(world.isFound(old), false, name);
      assertEquals((await world.store.stats(owner)).memories, 1, name);
      assertEquals(world.blobs.blobs.size, 2, name);
      assertEquals(world.catalog.entries.size, 2, name);
      assertEquals(await world.store.nextJobMs(), undefined, name);
      assertEquals((await world.store.openJobs(owner)).bytes, 0, name);
      const text = await openText(world, id);
      assertEquals(text, "Ada lives in Bruges.", name);
      assertEquals(await openText(world, old), "Ada lives in Ghent.", name);
    });
  }
});

Deno.test("JobSteps.run() repeats what a part refuses, at whatever step", async () => {
  const points = await listPoints();
  for (const [point, name] of points.entries()) {
    await withWorld(async (world) => {
      const { old, id } = await prepare(world);
      world.hook = at(point, () => {
        throw new BlobStoreError("away", { isPassing: true });
      });
      await world.runDue();
      world.hook = () => {};
      await world.runDue();
      assertEquals(await world.findTraces(id), WHOLE, name);
      assertEquals((await world.job(id)).status, "done", name);
      assertEquals(world.isFound(old), false, name);
      assertEquals(world.blobs.blobs.size, 2, name);
      assert(world.settled.includes(id), name);
    });
  }
});

Deno.test("JobSteps.run() leaves nothing of a memory that is deleted at any moment", async () => {
  for (const [point, name] of (await listPoints()).entries()) {
    await withWorld(async (world) => {
      const { old, id } = await prepare(world);
      world.hook = at(point, async () => {
        assertEquals((await world.remove(id)).kind, "removed", name);
      });
      await world.runDue();
      assertEquals(await world.findTraces(id), [], name);
      const job = await world.job(id);
      assertEquals(
        [job.status, job.error],
        ["failed", DELETED_ERROR],
        name,
      );
      await world.restart();
      await world.runDue();
      assertEquals(await world.findTraces(id), [], name);
      assertEquals((await world.remove(id)).kind, "missing", name);
      assertEquals(world.blobs.blobs.size, 1, name);
      assertEquals(await openText(world, old), "Ada lives in Ghent.", name);
    });
  }
});

Deno.test("JobSteps.run() leaves nothing of a memory that is deleted after a crash", async () => {
  for (const [point, name] of (await listPoints()).entries()) {
    await withWorld(async (world) => {
      const { id } = await prepare(world);
      await cutAt(world, point);
      await world.restart();
      assertEquals((await world.remove(id)).kind, "removed", name);
      assertEquals(await world.findTraces(id), [], name);
      await world.runDue();
      assertEquals(await world.findTraces(id), [], name);
    });
  }
});

/**
 * Has the vault make another blob of a job's payload each time, as it does
 * where owners' keys are with key servers.
 */
function resealing(world: JobWorld, first = 0): void {
  let number = first;
  world.vault.protect = (_owner, bytes) =>
    Promise.resolve(Uint8Array.of(...bytes, number++));
}

/** The calls of such a job. */
async function resealedPoints(): Promise<readonly string[]> {
  let calls: readonly string[] = [];
  await withWorld(async (world) => {
    await prepare(world);
    resealing(world);
    calls = await listCalls(world);
  });
  return calls;
}

Deno.test("JobSteps.run() keeps one blob of a memory that is sealed once more in each attempt, wherever a crash comes", async () => {
  for (const [point, name] of (await resealedPoints()).entries()) {
    await withWorld(async (world) => {
      const { id } = await prepare(world);
      resealing(world);
      await cutAt(world, point);
      await world.restart();
      resealing(world, 100);
      await world.runDue();
      const { status, blobId } = await world.job(id);
      assertEquals(status, "done", name);
      assertEquals(world.blobs.blobs.has(blobId ?? ""), true, name);
      // The other blob is the one of the memory that this one supersedes.
      assertEquals(world.blobs.blobs.size, 2, name);
    });
  }
});

/** Makes a job whose first attempt has put a blob, and crashed then. */
async function prepareSecondAttempt(
  world: JobWorld,
  putPoint: number,
): Promise<string> {
  const { id } = await prepare(world);
  resealing(world);
  await cutAt(world, putPoint);
  await world.restart();
  resealing(world, 100);
  return id;
}

Deno.test("JobSteps.run() keeps one blob of a memory when the second attempt fails or crashes as well", async () => {
  const put = (await resealedPoints()).indexOf("blobs.put after");
  let calls: readonly string[] = [];
  await withWorld(async (world) => {
    await prepareSecondAttempt(world, put);
    calls = await listCalls(world);
  });
  assert(calls.includes("blobs.remove before"), calls.join());
  for (const [point, name] of calls.entries()) {
    await withWorld(async (world) => {
      const id = await prepareSecondAttempt(world, put);
      world.hook = at(point, () => {
        throw new BlobStoreError("away", { isPassing: true });
      });
      await world.runDue();
      world.hook = () => {};
      await world.runDue();
      assertEquals((await world.job(id)).status, "done", name);
      assertEquals(world.blobs.blobs.size, 2, name);
    });
    await withWorld(async (world) => {
      const id = await prepareSecondAttempt(world, put);
      await cutAt(world, point);
      await world.restart();
      resealing(world, 200);
      await world.runDue();
      assertEquals((await world.job(id)).status, "done", name);
      assertEquals(world.blobs.blobs.size, 2, name);
    });
  }
});

Deno.test("JobSteps.run() leaves no blob that is sealed once more when its memory is deleted, at any moment or after a crash", async () => {
  for (const [point, name] of (await resealedPoints()).entries()) {
    await withWorld(async (world) => {
      const { id } = await prepare(world);
      resealing(world);
      world.hook = at(point, () => world.remove(id));
      await world.runDue();
      assertEquals(world.blobs.blobs.size, 1, name);
    });
    await withWorld(async (world) => {
      const { id } = await prepare(world);
      resealing(world);
      await cutAt(world, point);
      await world.restart();
      assertEquals((await world.remove(id)).kind, "removed", name);
      assertEquals(world.blobs.blobs.size, 1, name);
    });
  }
});

Deno.test("JobSteps.run() keeps what restoring needs when a namespace is forgotten meanwhile", async () => {
  for (const [point, name] of (await listPoints()).entries()) {
    await withWorld(async (world) => {
      const { id } = await prepare(world);
      world.hook = at(point, async () => {
        const namespace = "default";
        await world.store.commit([
          { kind: "remove_namespace", owner, namespace },
        ]);
        world.index.removeNamespace(owner, namespace);
      });
      await world.runDue();
      const traces = await world.findTraces(id);
      assert(traces.includes("entry"), name);
      assert(traces.includes("blob"), name);
      assertEquals(traces.includes("index"), traces.includes("row"), name);
      assertEquals((await world.job(id)).status, "done", name);
      assertEquals(await openText(world, id), "Ada lives in Bruges.", name);
    });
  }
});

Deno.test("JobSteps.run() lets two take the place of one, and deletes the later ones", async () => {
  await withWorld(async (world) => {
    const [old = ""] = await world.accept(["One."]);
    await world.runDue();
    const next = (text: string) => ({
      text,
      namespace: "default",
      supersedes: old,
    });
    const [left = "", right = ""] = await world.accept([
      next("Two."),
      next("Three."),
    ]);
    await world.runDue();
    const found = () => [old, left, right].map((id) => world.isFound(id));
    assertEquals(found(), [false, true, true]);
    const [chained = ""] = await world.accept([
      { text: "Four.", namespace: "other", supersedes: left },
    ]);
    await world.runDue();
    assertEquals(found(), [false, false, true]);
    // A superseded memory does not come back.
    await world.remove(chained);
    await world.remove(right);
    assertEquals(found(), [false, false, false]);
    await world.restart();
    assertEquals(found(), [false, false, false]);
    const [again = ""] = await world.accept([next("Five.")]);
    await world.runDue();
    assertEquals([world.isFound(old), world.isFound(again)], [false, true]);
  });
});

Deno.test("JobSteps.run() stores a memory whose predecessor is deleted meanwhile", async () => {
  for (const [point, name] of (await listPoints()).entries()) {
    await withWorld(async (world) => {
      const { old, id } = await prepare(world);
      world.hook = at(point, () => world.remove(old));
      await world.runDue();
      assertEquals(await world.findTraces(old), [], name);
      assertEquals(await world.findTraces(id), WHOLE, name);
    });
  }
});

Deno.test("JobSteps.run() leaves alone what somebody else took further", async () => {
  await withWorld(async (world) => {
    const [id = ""] = await world.accept(["Tea."]);
    const [job] = await world.leaseDue(1);
    assert(job !== undefined);
    const { signal } = new AbortController();
    assertEquals(await world.steps().run([job], signal), [{ kind: "done" }]);
    // The attempt that hung continues with the job as it was then.
    assertEquals(await world.steps().run([job], signal), [{ kind: "done" }]);
    assertEquals(await world.findTraces(id), WHOLE);
    assertEquals((await world.store.stats(owner)).memories, 1);
    await world.remove(id);
    await world.steps().run([job], signal);
    assertEquals(await world.findTraces(id), []);
  });
});

Deno.test("JobSteps.run() puts no blob of a memory that was deleted while it waited", async () => {
  await withWorld(async (world) => {
    const [id = ""] = await world.accept(["Tea."]);
    world.embedder.answer = async () => {
      await world.remove(id);
      return undefined;
    };
    const calls: string[] = [];
    world.hook = (call) => void calls.push(call);
    const outcomes = await world.runDue();
    assertEquals(outcomes, [{ kind: "done" }]);
    assert(!calls.includes("blobs.put"), calls.join());
    assertEquals(await world.findTraces(id), []);
  });
});

Deno.test("JobSteps.run() stores what the embedder refuses or fails on, found by its words", async () => {
  await withWorld(async (world) => {
    const texts = Array.from({ length: 32 }, (_, at) => `Text ${at}.`);
    const ids = await world.accept(texts);
    world.embedder.answer = (asked) => {
      if (asked.includes("Text 11.")) throw new RangeError("poison");
      return asked.includes("Text 20.")
        ? { kind: "unavailable", reason: "status 400", isPassing: false }
        : undefined;
    };
    const outcomes = await world.runDue();
    assert(outcomes.every(({ kind }) => kind === "done"));
    for (const id of ids) {
      assertEquals((await world.job(id)).status, "done");
    }
    const states = await Promise.all(
      ids.map((id) => world.findVectorState(id)),
    );
    assertEquals([states[11], states[20]], ["pending", "refused"]);
    assertEquals(states.filter((state) => state === "ready").length, 30);
    assertEquals(ids.filter((id) => world.isFound(id)).length, 30);
    assertEquals(world.vectorsDue, [ids[11]]);
    assertEquals(
      (await world.job(ids[20] ?? "")).error,
      "Cannot embed text: the embedder refuses the text",
    );
  });
});

Deno.test("JobSteps.run() stores all without vectors when the embedder takes nothing at all", async () => {
  await withWorld(async (world) => {
    const ids = await world.accept(
      Array.from({ length: 32 }, (_, at) => `Text ${at}.`),
    );
    world.embedder.answer = () => ({
      kind: "unavailable",
      reason: "status 401",
      isPassing: false,
    });
    await world.runDue();
    assert(world.embedder.calls.length <= 25);
    // Its settings are wrong, which its operator can mend.
    assertEquals(world.vectorsDue.sort(), [...ids].sort());
    for (const id of ids) {
      assertEquals(await world.findTraces(id), ["blob", "entry", "row"]);
    }
  });
});

Deno.test("JobSteps.run() gives no memory another one's vector", async () => {
  await withWorld(async (world) => {
    const ids = await world.accept(["One.", "Two.", "Three."]);
    world.embedder.answer = () => ({
      kind: "ok",
      vectors: [new Float32Array(64).fill(0.125)],
    });
    await world.runDue();
    const states = await Promise.all(
      ids.map((id) => world.findVectorState(id)),
    );
    assertEquals(states, ["pending", "pending", "pending"]);
  });
});

Deno.test("JobSteps.run() fails for good what cannot be opened, and only that", async () => {
  await withWorld(async (world) => {
    const [gone = "", good = "", torn = ""] = await world.accept([
      "One.",
      "Two.",
      "Three.",
    ]);
    await world.restart();
    await world.vault.destroy(owner, (await world.job(gone)).keyId);
    const payload = Uint8Array.from((await world.job(torn)).payload ?? []);
    payload[payload.length - 1]! ^= 1;
    const tear: Change = {
      kind: "job",
      owner,
      id: torn,
      expectedVersion: 1,
      patch: { payload },
    };
    await world.store.commit([tear]);
    const outcomes = await world.runDue();
    assertEquals(
      outcomes.map((one) => one.kind === "failed" ? one.reason : "done"),
      [
        DELETED_ERROR,
        "done",
        "Cannot store memory: its content is damaged",
      ],
    );
    assertEquals(await world.findTraces(good), WHOLE);
  });
});

Deno.test("JobSteps.run() keeps no text of a job that did not get to its end", async () => {
  await withWorld(async (world) => {
    const [id = ""] = await world.accept(["Tea."]);
    const intake = world.intake();
    await intake.accept(CALLER, [{ text: "Coffee.", namespace: "n" }], {
      status: "running",
    });
    world.blobs.put = () => {
      throw new BlobStoreError("away", { isPassing: true });
    };
    await world.runDue();
    assertEquals(world.recent.get(id), undefined);
    Reflect.deleteProperty(world.blobs, "put");
    await world.runDue();
    assertEquals(await world.findTraces(id), WHOLE);
  });
});

Deno.test("JobSteps.run() brings a stored job to its end though the index is full", async () => {
  await withWorld(async (world) => {
    const [id = ""] = await world.accept(["Tea."]);
    world.index.add = () => {
      throw new RangeError("full");
    };
    await world.runDue();
    assertEquals((await world.job(id)).status, "done");
    assert(world.settled.includes(id));
    assertEquals(
      world.logger.lines.filter(({ level }) => level === "error").length,
      1,
    );
  });
});

async function openText(
  world: JobWorld,
  id: string,
): Promise<string | undefined> {
  const entry = await world.catalog.findEntry(owner, id);
  const bytes = entry && world.blobs.blobs.get(entry.blobId);
  const opened = bytes && await world.vault.open(owner, bytes);
  return opened?.kind === "ok" ? opened.value.text : undefined;
}

Deno.test("JobSteps.run() asks for a turn for each job, at the cost of its owner", async () => {
  await withWorld(async (world) => {
    await world.accept(["Ada likes tea.", "Bo likes coffee."]);
    const asks: string[] = [];
    const turns = {
      begin(key: FairKey) {
        let payer = key;
        const turn: Turn = {
          key,
          waitedMs: 0,
          usedMs: 0,
          pause: () => void asks.push(formatKey(payer)),
          moveTo: (next) => void (payer = next),
          measure: (work) => work(),
        };
        return { kind: "ok", turn } as const;
      },
    };
    const jobs = await world.leaseDue(10);
    const steps = world.steps({ turns });
    const { signal } = new AbortController();
    const outcomes = await steps.run(jobs, signal);
    assertEquals(outcomes, [{ kind: "done" }, { kind: "done" }]);
    // The jobs pause before each text is decrypted, before it is shortened, and
    // while it is embedded.
    assert(asks.length >= 2 * jobs.length + jobs.length, asks.join());
    assertEquals(new Set(asks), new Set([`jobs ${owner}`]));
  });
});

function formatKey(key: FairKey): string {
  return typeof key === "string" ? key : `${key.group} ${key.member}`;
}
