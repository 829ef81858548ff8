/**
 * A simulated pull worker that behaves like real ones: it fails, releases
 * tasks, pauses, repeats its reports, and dies silently.
 *
 * @module
 */

import type { TaskEvent } from "../../domain/task_event.ts";
import type { Engine } from "../engine.ts";
import type { Grant } from "../waiter.ts";
import { type LeaseHolder, leaseHolder, type LeaseOutcome } from "../leases.ts";
import { SIMULATED_TENANT_ID } from "./simulated_workers.ts";
import type { SimulatedWorld } from "./simulation_world.ts";

/** The report of a worker at the end of an attempt. */
export type LastWord = "complete" | "fail" | "release" | "wait";

const LEASE_MS = 15_000;

/** A process that leases the tasks of one worker. */
export class WorkerProcess {
  readonly #world: SimulatedWorld;
  readonly #workerId: string;
  readonly #instance: string;

  /** Creates the process; {@linkcode run} lets it work. */
  constructor(
    world: SimulatedWorld,
    name: { readonly workerId: string; readonly instance: string },
  ) {
    this.#world = world;
    this.#workerId = name.workerId;
    this.#instance = name.instance;
  }

  /** Works until the simulation ends. */
  async run(): Promise<void> {
    const { random, clock } = this.#world;
    while (!this.#world.isOver) {
      const grants = await this.#lease();
      if (grants.length === 0) await clock.sleep(random.below(2_000));
      await Promise.all(grants.map((grant) => this.#work(grant)));
    }
  }

  async #lease(): Promise<readonly Grant[]> {
    const { random, isHealed, revocations, credentials } = this.#world;
    const machine = this.#world.pickMachine();
    if (machine === undefined) return [];
    const credentialId = credentials.get(this.#instance) ?? "";
    const isAuthorized = async (engine: Engine): Promise<boolean> => {
      const { credentials } = engine.parts.repositories;
      const found = await credentials.get(SIMULATED_TENANT_ID, credentialId);
      if (found === undefined) return false;
      revocations.served(credentialId, machine.clock);
      return true;
    };
    try {
      return await machine.call(async (engine) => {
        if (!await isAuthorized(engine)) return [];
        return await engine.leases.lease({
          tenantId: SIMULATED_TENANT_ID,
          workerId: this.#workerId,
          instance: this.#instance,
          max: 1 + random.below(5),
          waitMs: random.pick([0, 1_000, 20_000]),
          leaseMs: LEASE_MS,
          isStillAuthorized: () => isAuthorized(engine),
          ...(isHealed || random.chance(0.7)
            ? {}
            : { jobs: [random.pick(["default", "a", "b"])] }),
        });
      });
    } catch (error) {
      // All other errors are the store's, and the client is told to try again.
      if (error instanceof TypeError || error instanceof RangeError) {
        throw error;
      }
      return [];
    }
  }

  async #work(grant: Grant): Promise<void> {
    const { random, clock, profile, isHealed } = this.#world;
    noteGrant(this.#world, grant);
    const { leases } = this.#world;
    const taskId = grant.task.id;
    const attemptId = grant.task.attempt?.id ?? "";
    leases.begins(taskId, attemptId);
    if (!isHealed && random.chance(profile.vanishShare)) {
      return leases.vanishes(taskId, attemptId);
    }
    if (!isHealed && random.chance(profile.sluggishShare)) {
      await clock.sleep(LEASE_MS + random.below(60_000));
    } else if (random.chance(0.2)) {
      if (!await this.#workLong(grant)) return leases.ends(taskId, attemptId);
    } else await clock.sleep(random.below(4_000));
    leases.ends(taskId, attemptId);
    const word = lastWord(this.#world);
    const outcome = await say(this.#world, { grant, word });
    checkWord(this.#world, { grant, word, outcome });
    if (random.chance(0.1)) await this.#sayMore(grant, { word, outcome });
  }

  /** Works while sending heartbeats; returns false when the attempt is lost. */
  async #workLong(grant: Grant): Promise<boolean> {
    const { random, clock, ledger } = this.#world;
    for (let beats = 1 + random.below(5); beats > 0; beats--) {
      await clock.sleep(5_000);
      const leaseId = grant.task.attempt?.id;
      const isOver = ledger.tasks.get(grant.task.id)?.attempt?.id !== leaseId;
      const outcome = await this.#world.insist(({ leases }) =>
        leases.report({
          holder: toHolder(grant),
          event: (lease) => ({
            kind: "heartbeat",
            lease,
            ...(random.chance(0.3) ? { progressJson: `${beats}` } : {}),
          }),
        })
      );
      if (isOver && outcome?.kind === "ok") {
        ledger.broken(`${leaseId} has ended, and a heartbeat was accepted`);
      }
      if (outcome?.kind !== "ok") {
        checkWord(this.#world, { grant, word: "heartbeat", outcome });
        return false;
      }
    }
    return true;
  }

  /**
   * Repeats a report: the same one has to be accepted or be too late, and
   * another outcome has to be refused.
   */
  async #sayMore(
    grant: Grant,
    said: {
      readonly word: LastWord;
      readonly outcome: LeaseOutcome | undefined;
    },
  ): Promise<void> {
    if (said.outcome?.kind !== "ok") return;
    await say(this.#world, { grant, word: said.word });
    const word = said.word === "complete" ? "fail" : "complete";
    const outcome = await say(this.#world, { grant, word });
    if (outcome?.kind !== "ok") return;
    this.#world.ledger.broken(
      `${grant.task.attempt?.id} was settled by ${said.word} and by ${word}`,
    );
  }
}

/** Notes a leased attempt; no attempt may be leased twice. */
export function noteGrant(
  world: SimulatedWorld,
  { task, previous }: Pick<Grant, "task" | "previous">,
): void {
  const { attempt, id } = task;
  if (attempt === undefined || previous.fence + 1 !== task.fence) {
    world.ledger.broken(`${id} was handed out without an attempt of its own`);
  }
  world.noteAttempt(`${id} ${task.fence}`);
}

/** Draws how an attempt ends. */
export function lastWord(
  { random, profile, isHealed }: SimulatedWorld,
): LastWord {
  if (isHealed) return "complete";
  const chance = random.next();
  if (chance < profile.failShare) return "fail";
  if (chance < profile.failShare + profile.releaseShare) return "release";
  return random.chance(0.15) ? "wait" : "complete";
}

/** Reports the end of an attempt until there is an answer. */
export async function say(
  world: SimulatedWorld,
  { grant, word }: { readonly grant: Grant; readonly word: LastWord },
): Promise<LeaseOutcome | undefined> {
  const { random } = world;
  const delayMs = random.chance(0.5) ? random.below(5_000) : 0;
  const retryAfterMs = random.chance(0.2) ? random.below(5_000) : undefined;
  return await world.insist(({ leases }) =>
    leases.report({
      holder: toHolder(grant),
      event: (lease): TaskEvent => {
        switch (word) {
          case "complete":
            return { kind: "complete", lease, resultJson: `"${lease.id}"` };
          case "fail":
            return {
              kind: "fail",
              lease,
              failure: { code: "simulated" },
              message: "it was made to fail",
              ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
            };
          case "release":
            return { kind: "release", lease, delayMs };
          case "wait":
            return {
              kind: "wait",
              lease,
              asked: random.chance(0.7)
                ? { kind: "event", event: "go" }
                : { kind: "approval", by: "member", byAnother: false },
              timeoutMs: 1_000 + random.below(60_000),
              onTimeout: random.pick(["resume", "resume", "fail"]),
              stateJson: `"${lease.id}"`,
            };
        }
      },
    })
  );
}

/**
 * Checks that without faults a report is always accepted, unless the task was
 * canceled.
 */
export function checkWord(
  world: SimulatedWorld,
  { grant, word, outcome }: {
    readonly grant: Grant;
    readonly word: string;
    readonly outcome: LeaseOutcome | undefined;
  },
): void {
  if (!world.profile.isReliable || outcome === undefined || world.isOver) {
    return;
  }
  const id = grant.task.attempt?.id;
  const isRight = outcome.kind === "ok" &&
      (word === "heartbeat" || !outcome.isRepeated) ||
    outcome.kind === "lease_gone" && outcome.isCanceled ||
    outcome.kind === "missing" && world.ledger.removed.has(grant.task.id);
  if (isRight || wasCanceled(world, grant)) return;
  world.ledger.broken(
    `${word} of ${id} was answered with ${JSON.stringify(outcome.kind)}`,
  );
}

/**
 * Tells whether the attempt was canceled; the task may have been reopened and
 * started again since.
 */
function wasCanceled({ ledger }: SimulatedWorld, { task }: Grant): boolean {
  return ledger.canceledAttempts.has(task.attempt?.id ?? "");
}

function toHolder(grant: Grant): LeaseHolder {
  return leaseHolder({
    tenantId: grant.task.tenantId,
    leaseId: grant.task.attempt?.id ?? "",
    token: grant.token,
  });
}
