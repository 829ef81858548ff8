/**
 * Workers of the crash test, which lease tasks and report outcomes, even if the
 * service was down in between.
 *
 * @module
 */

import type { LeaseJson } from "../tasks_client.ts";
import { pause } from "../../support/chaos/chaos_service.ts";
import { type ChaosWorld, tryCall } from "./chaos_clients.ts";

/** The outcome that a worker has to report on a lease. */
interface Outcome {
  readonly lease: LeaseJson;
  readonly word: Readonly<Record<string, unknown>> & {
    readonly action: "complete" | "fail" | "release" | "wait";
  };
  /** Whether it was sent before, and the answer was lost. */
  mayBeApplied: boolean;
}

/** The type of the history record of each report. */
const TYPES = {
  complete: "succeeded",
  fail: "failed",
  release: "released",
  wait: "waiting",
};

interface SaidLease {
  readonly repeated: boolean;
}

interface BatchResult {
  readonly status: number;
  readonly lease?: SaidLease;
  readonly problem?: unknown;
}

/**
 * How much the clocks of the service and the worker may differ, in
 * milliseconds.
 */
const TOLERANCE_MS = 50;

/** A worker, which continues to exist when the service is killed. */
export class ChaosWorker {
  readonly #instance: string;
  /** Outcomes that are not reported yet. */
  #unsaid: Outcome[] = [];

  /** Creates a worker with the name of its instance. */
  constructor(instance: string) {
    this.#instance = instance;
  }

  /** Leases tasks and reports outcomes while the load goes on. */
  async work(world: ChaosWorld): Promise<void> {
    const { client, known, random } = world;
    while (world.isOpen()) {
      await this.#sayAll(world);
      const answer = await tryCall(world, () =>
        client.call<
          { readonly leases: readonly LeaseJson[] }
        >("POST", "/api/v1/workers/chaos/lease", {
          body: {
            max: 1 + random.below(20),
            wait: "PT0.3S",
            instance: this.#instance,
          },
        }));
      if (answer === undefined) continue;
      const { status, json } = answer;
      if (status !== 200) {
        known.fault(`lease answered ${status} ${JSON.stringify(json)}`);
        return;
      }
      for (const lease of json.leases) {
        known.leased(lease);
        this.#unsaid.push({
          ...{ lease, word: pickWord(world), mayBeApplied: false },
        });
      }
      await pause(random.below(10));
    }
  }

  async #sayAll(world: ChaosWorld): Promise<void> {
    while (this.#unsaid.length > 0) {
      const said = world.random.chance(0.5)
        ? this.#unsaid.slice(0, 1)
        : this.#unsaid;
      const isSaid = said.length === 1
        ? await say(world, said)
        : await sayBatch(world, said);
      // It is said again: a report that was applied is told as repeated.
      if (!isSaid) {
        for (const outcome of said) outcome.mayBeApplied = true;
        return;
      }
      this.#unsaid = this.#unsaid.slice(said.length);
    }
  }
}

/** Returns whether the outcome of the report is known. */
async function say(
  world: ChaosWorld,
  [outcome]: readonly Outcome[],
): Promise<boolean> {
  if (outcome === undefined) return true;
  const { lease, word: { action, ...body } } = outcome;
  const sentAtMs = Date.now();
  const answer = await tryCall(world, () =>
    world.client.call<SaidLease>(
      "POST",
      `/api/v1/leases/${lease.id}/${action}`,
      { body, token: lease.token },
    ));
  if (answer === undefined) return false;
  const { status, json } = answer;
  judge(world, outcome, {
    sentAtMs,
    status,
    ...(status === 200 ? { lease: json } : { problem: json }),
  });
  return true;
}

async function sayBatch(
  world: ChaosWorld,
  outcomes: readonly Outcome[],
): Promise<boolean> {
  const leases = outcomes.map(({ lease: { id, token }, word }) => ({
    id,
    token,
    ...word,
  }));
  const sentAtMs = Date.now();
  const answer = await tryCall(world, () =>
    world.client.call<
      { readonly results: readonly BatchResult[] }
    >("POST", "/api/v1/leases/batch", { body: { leases } }));
  if (answer === undefined) return false;
  const { status, json } = answer;
  if (status !== 200) {
    world.known.fault(`batch answered ${status} ${JSON.stringify(json)}`);
    return true;
  }
  for (const [index, outcome] of outcomes.entries()) {
    const result = json.results[index] ?? { status: 0 };
    judge(world, outcome, { ...result, sentAtMs });
  }
  return true;
}

function judge(
  { known }: ChaosWorld,
  { lease, word, mayBeApplied }: Outcome,
  result: BatchResult & { readonly sentAtMs: number },
): void {
  const { id } = lease.task;
  if (result.status === 200) {
    if (word.action === "complete") {
      known.succeeded(id, {
        isRepeated: result.lease?.repeated ?? false,
        sentAtMs: result.sentAtMs,
      });
    }
    return;
  }
  const isOver = Date.now() + TOLERANCE_MS >= Date.parse(lease.expires_at);
  const mayBeCanceled = known.tasks.get(id)?.mayBeCanceled ?? true;
  if (result.status === 409 && (isOver || mayBeCanceled)) return;
  if (result.status === 409 && mayBeApplied) {
    const type = TYPES[word.action];
    known.tasks.get(id)?.reports.push({ lease: lease.id, type });
    return;
  }
  known.fault(
    `${word.action} of ${lease.id} until ${lease.expires_at} answered ` +
      JSON.stringify(result),
  );
}

function pickWord({ random }: ChaosWorld): Outcome["word"] {
  const share = random.next();
  if (share < 0.85) return { action: "complete", result: { ok: true } };
  if (share < 0.9) {
    const state = { n: random.below(1_000) };
    return {
      action: "wait",
      wait_for: { event: "go", timeout: "PT1S", state },
    };
  }
  return share < 0.95
    ? { action: "fail", error: "by chance" }
    : { action: "release" };
}
