import { assert, assertEquals, assertRejects } from "@std/assert";
import { StoreBusyError } from "../store/store.ts";
import type { NewText } from "./job_sealer.ts";
import { DELETED_ERROR } from "./job_failure.ts";
import { RecentRate } from "./job_intake.ts";
import { CALLER, type JobWorld, withWorld } from "./testing/job_world.ts";

Deno.test("RecentRate counts the current span and the one before", () => {
  const rate = new RecentRate();
  for (let at = 0; at < 250; at += 10) rate.count(at);
  assertEquals(rate.perSecond(249), 100);
  assertEquals(rate.perSecond(499), 100);
  assertEquals(rate.perSecond(500), 0);
});

Deno.test("RecentRate begins anew after a silence and when the clock is set back", () => {
  const rate = new RecentRate();
  rate.count(10_000);
  assertEquals(rate.perSecond(20_000), 0);
  rate.count(5_000);
  assertEquals(rate.perSecond(5_000), 4);
});

const { owner } = CALLER;
const TEA: NewText = { text: "Ada likes tea.", namespace: "default" };
const KEYED = { status: "running", idempotencyKey: "k" } as const;

/** Tracks the keys that the vault makes and destroys. */
function watchKeys(world: JobWorld): { readonly keys: Set<string> } {
  const keys = new Set<string>();
  const { vault } = world;
  const seal = vault.seal.bind(vault);
  vault.seal = async (...values) => {
    const sealed = await seal(...values);
    keys.add(sealed.keyId);
    return sealed;
  };
  const destroy = vault.destroy.bind(vault);
  vault.destroy = async (whose, keyId) => {
    keys.delete(keyId);
    return await destroy(whose, keyId);
  };
  return { keys };
}

Deno.test("JobIntake.accept() has texts on disk when it answers", async () => {
  await withWorld(async (world) => {
    const ids = await world.accept([TEA, { ...TEA, text: "Bea." }]);
    await world.restart();
    const jobs = await world.store.jobs(owner, ids);
    assertEquals(jobs.map((job) => job?.status), ["running", "running"]);
    assertEquals(world.accepted, 1);
    await world.runDue();
    assertEquals(ids.map((id) => world.isFound(id)), [true, true]);
  });
});

Deno.test("JobIntake.accept() makes jobs once for equal requests with a key, at once or later", async () => {
  await withWorld(async (world) => {
    const { keys } = watchKeys(world);
    const outcomes = await Promise.all(
      Array.from({ length: 10 }, () => world.offer([TEA, TEA], KEYED)),
    );
    const [first] = outcomes;
    assert(first?.kind === "accepted");
    for (const outcome of outcomes) {
      assert(outcome.kind === "accepted");
      assertEquals(outcome.jobIds, first.jobIds);
    }
    const made = outcomes.filter((one) =>
      one.kind === "accepted" && !one.isRepeated
    );
    assertEquals([made.length, keys.size], [1, 2]);
    await world.runDue();
    await world.restart();
    const later = await world.offer([TEA, TEA], KEYED);
    assertEquals(later, {
      kind: "accepted",
      jobIds: first.jobIds,
      isRepeated: true,
    });
    assertEquals((await world.store.stats(owner)).memories, 2);
  });
});

Deno.test("JobIntake.accept() refuses a key that stood for something else", async () => {
  await withWorld(async (world) => {
    const given = { ...TEA, metadata: { a: 1, b: 2 }, importance: 0.5 };
    await world.accept([given], KEYED);
    const { importance: _default, ...same } = given;
    const equal = { ...same, metadata: { b: 2, a: 1 } };
    assertEquals((await world.offer([equal], KEYED)).kind, "accepted");
    const others: readonly (readonly NewText[])[] = [
      [{ ...given, text: "Ada likes tea" }],
      [{ ...given, namespace: "n" }],
      [{ ...given, importance: 0.6 }],
      [{ ...given, metadata: { a: 1, b: "2" } }],
      [given, given],
    ];
    for (const texts of others) {
      assertEquals(await world.offer(texts, KEYED), { kind: "key_reused" });
    }
    const owners = { ...CALLER, owner: "0xb" };
    const other = await world.intake().accept(owners, [TEA], KEYED);
    assertEquals(other.kind, "accepted");
    // Another delegate of the same owner means the same.
    const agent = { ...CALLER, publicKey: "ee".repeat(32) };
    const again = await world.intake().accept(agent, [given], KEYED);
    assert(again.kind === "accepted" && again.isRepeated);
  });
});

Deno.test("JobIntake.accept() knows a key for a day, or as long as it is told", async () => {
  await withWorld(async (world) => {
    const intake = world.intake({ keyLifeMs: 3_600_000 });
    const accept = async () => await intake.accept(CALLER, [TEA], KEYED);
    const ids = [];
    for (const waitMs of [0, 3_599_999, 1]) {
      await world.clock.advanceAsync(waitMs);
      const outcome = await accept();
      ids.push(outcome.kind === "accepted" ? outcome.jobIds[0] : "");
    }
    assertEquals(ids[0], ids[1]);
    assert(ids[1] !== ids[2]);
    await world.runDue();
    assertEquals((await world.store.stats(owner)).memories, 2);
  });
});

Deno.test("JobIntake.accept() begins failed jobs of a key again, each by itself", async () => {
  await withWorld(async (world) => {
    const texts = ["One.", "Two.", "Three."];
    const ids = await world.accept(texts, KEYED);
    for (const id of ids) {
      await world.store.commit([{
        kind: "job",
        owner,
        id,
        expectedVersion: 1,
        patch: { status: "failed", attempts: 10, error: "away" },
      }]);
    }
    const intake = world.intake();
    const parts = texts.map((text) => ({ text, namespace: "default" }));
    let isFirst = true;
    world.hook = async (call, when) => {
      if (call !== "store.commit" || when !== "before" || !isFirst) return;
      isFirst = false;
      await world.remove(ids[1] ?? "");
    };
    const outcomes = await Promise.all([
      intake.accept(CALLER, parts, KEYED),
      intake.accept(CALLER, parts, KEYED),
    ]);
    world.hook = () => {};
    for (const outcome of outcomes) {
      assertEquals(outcome, {
        kind: "accepted",
        jobIds: ids,
        isRepeated: true,
      });
    }
    const jobs = await world.store.jobs(owner, ids);
    assertEquals(jobs.map((job) => job?.status), [
      "pending",
      "failed",
      "pending",
    ]);
    assertEquals([jobs[0]?.attempts, jobs[2]?.attempts], [0, 0]);
    await world.runDue();
    assertEquals(ids.map((id) => world.isFound(id)), [true, false, true]);
  });
});

Deno.test("JobIntake.accept() does not bring back what was deleted", async () => {
  await withWorld(async (world) => {
    const [id = ""] = await world.accept([TEA], KEYED);
    await world.runDue();
    await world.remove(id);
    const again = await world.offer([TEA], KEYED);
    assertEquals(again, { kind: "accepted", jobIds: [id], isRepeated: true });
    await world.runDue();
    assertEquals(await world.findTraces(id), []);
    const job = await world.job(id);
    assertEquals(job.status, "failed");
    assertEquals(job.error, DELETED_ERROR);
  });
});

Deno.test("JobIntake.accept() leaves no key behind when the vault or the store is busy", async () => {
  await withWorld(async (world) => {
    const { keys } = watchKeys(world);
    let seals = 0;
    world.hook = (call, when) => {
      if (call === "vault.seal" && when === "before" && ++seals === 3) {
        throw new StoreBusyError(70);
      }
    };
    const texts = Array.from({ length: 5 }, (_, at) => ({
      ...TEA,
      text: `Text ${at}.`,
    }));
    const intake = world.intake();
    assertEquals(await intake.accept(CALLER, texts, KEYED), {
      kind: "busy",
      retryAfterMs: 70,
    });
    assertEquals([seals, keys.size, intake.isReady], [5, 0, false]);
    world.hook = (call, when) => {
      if (call === "store.commit" && when === "before") {
        throw new StoreBusyError(80);
      }
      // A failure to destroy keys does not change the answer either.
      if (call === "vault.destroy" && when === "after") {
        throw new StoreBusyError(90);
      }
    };
    assertEquals(await intake.accept(CALLER, texts, KEYED), {
      kind: "busy",
      retryAfterMs: 80,
    });
    assertEquals([keys.size, world.accepted], [0, 0]);
    world.hook = () => {};
    const outcome = await intake.accept(CALLER, texts, KEYED);
    assert(outcome.kind === "accepted" && !outcome.isRepeated);
    assertEquals(keys.size, 5);
    await world.clock.advanceAsync(5_000);
    assertEquals(intake.isReady, true);
  });
});

Deno.test("JobIntake.accept() keeps the keys of jobs that may be on disk after all", async () => {
  await withWorld(async (world) => {
    world.hook = (call, when) => {
      if (call === "store.commit" && when === "after") {
        throw new Error("disk I/O error");
      }
    };
    await assertRejects(() => world.offer([TEA], KEYED), Error, "disk");
    world.hook = () => {};
    const again = await world.offer([TEA], KEYED);
    assert(again.kind === "accepted" && again.isRepeated);
    await world.runDue();
    assertEquals(world.isFound(again.jobIds[0] ?? ""), true);
    assertEquals((await world.store.stats(owner)).memories, 1);
  });
});

Deno.test("JobIntake.accept() leaves jobs whole wherever a crash comes", async () => {
  const calls: string[] = [];
  await withWorld(async (world) => {
    world.hook = (call, when) => void calls.push(`${call} ${when}`);
    await world.accept([TEA], KEYED);
  });
  for (const [point, name] of calls.entries()) {
    await withWorld(async (world) => {
      const { promise, resolve } = Promise.withResolvers<void>();
      let count = 0;
      world.hook = () => {
        if (count++ < point) return undefined;
        resolve();
        return new Promise(() => {});
      };
      void world.offer([TEA], KEYED);
      await promise;
      await world.restart();
      const outcome = await world.offer([TEA], KEYED);
      assertEquals(outcome.kind, "accepted", name);
      await world.runDue();
      assertEquals((await world.store.stats(owner)).memories, 1, name);
      const [id = ""] = outcome.kind === "accepted" ? outcome.jobIds : [];
      assertEquals(world.isFound(id), true, name);
    });
  }
});

Deno.test("JobIntake.accept() takes the place only of what is there", async () => {
  await withWorld(async (world) => {
    const [id = ""] = await world.accept([TEA]);
    const next = [{ ...TEA, supersedes: id }];
    const missing = { kind: "nothing_to_supersede", id } as const;
    assertEquals(await world.offer(next), missing);
    await world.runDue();
    const stranger = { ...CALLER, owner: "0xb" };
    const options = { status: "running" } as const;
    const intake = world.intake();
    assertEquals(await intake.accept(stranger, next, options), missing);
    const grant = (name: string) =>
      ({ id: "t", scope: "write", namespaces: new Set([name]) }) as const;
    const bounded = { ...CALLER, grant: grant("elsewhere") };
    assertEquals(await intake.accept(bounded, next, options), missing);
    assertEquals((await world.offer(next, KEYED)).kind, "accepted");
    await world.remove(id);
    assertEquals(await world.offer(next), missing);
    // A repeated request gets its earlier answer, although the memory that it
    // superseded is gone.
    assertEquals((await world.offer(next, KEYED)).kind, "accepted");
  });
});

Deno.test("JobIntake.accept() counts bytes of UTF-8 towards the quota", async () => {
  await withWorld(async (world) => {
    const text = "鯨".repeat(1_000);
    const options = { status: "running" } as const;
    const accept = async (quotaBytes: number) =>
      (await world.intake({ quotaBytes }).accept(
        CALLER,
        [{ ...TEA, text }],
        options,
      )).kind;
    assertEquals(await accept(3_000), "over_quota");
    assertEquals(await accept(3_500), "accepted");
    assertEquals(await accept(6_000), "over_quota");
    await world.runDue();
    assertEquals(await accept(6_000), "over_quota");
  });
});

Deno.test("JobIntake.accept() keeps to quota and open jobs when many come at once", async () => {
  await withWorld(async (world) => {
    const text = "x".repeat(10_000);
    const options = { status: "running" } as const;
    const offer = async (limits: Parameters<JobWorld["intake"]>[0]) => {
      const intake = world.intake(limits);
      const outcomes = await Promise.all(
        Array.from(
          { length: 20 },
          () => intake.accept(CALLER, [{ ...TEA, text }], options),
        ),
      );
      return outcomes.filter(({ kind }) => kind === "accepted").length;
    };
    assertEquals(await offer({ quotaBytes: 55_000 }), 5);
    assertEquals(await offer({ maxOpenJobs: 12 }), 7);
    assertEquals((await world.store.openJobs(owner)).jobs, 12);
  });
});

Deno.test("JobIntake.accept() takes bulks of a mebibyte each, all or none", async () => {
  await withWorld(async (world) => {
    const texts = Array.from({ length: 20 }, (_, at) => ({
      ...TEA,
      text: `${at} `.padEnd(1_048_576, "whale "),
    }));
    const options = { status: "running" } as const;
    const small = world.intake({ quotaBytes: 20 * 1_048_576 });
    assertEquals(
      (await small.accept(CALLER, texts, options)).kind,
      "over_quota",
    );
    assertEquals((await world.store.openJobs(owner)).jobs, 0);
    const large = world.intake({ quotaBytes: 30 * 1_048_576 });
    assertEquals((await large.accept(CALLER, texts, options)).kind, "accepted");
    assertEquals((await world.store.openJobs(owner)).jobs, 20);
  });
});

Deno.test("JobIntake.isPressed tells of much that comes in, and only while it does", async () => {
  await withWorld(async (world) => {
    const intake = world.intake({ quotaBytes: 1 });
    const options = { status: "running" } as const;
    for (let at = 0; at < 26; at++) {
      await intake.accept(CALLER, [TEA], options);
    }
    assertEquals(intake.isPressed, true);
    await world.clock.advanceAsync(500);
    assertEquals(intake.isPressed, false);
  });
});
