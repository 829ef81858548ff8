/**
 * Workers of the crash test, which lease tasks and report outcomes, even if the
 * service was down in between.
 *
 * @module
 */

import type { LeaseJson } from "../tasks_client.ts";
import { type ChaosWorld, pause } from "./chaos_clients.ts";

/** The outcome that a worker has to report on a lease. */
interface Outcome {
  readonly lease: LeaseJson;
  readonly word: Readonly<Record<string, unknown>> & {
    readonly action: "complete" | "fail" | "release";
  };
}

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
      const { status, json } = await client.call<
        { readonly leases: readonly LeaseJson[] }
      >("POST", "/api/v1/workers/chaos/lease", {
        body: {
          max: 1 + random.below(20),
          wait: "PT0.3S",
          instance: this.#instance,
        },
      });
      if (status !== 200) {
        known.fault(`lease answered ${status} ${JSON.stringify(json)}`);
        return;
      }
      for (const lease of json.leases) {
        known.leased(lease);
        this.#unsaid.push({ lease, word: pickWord(world) });
      }
      await pause(random.below(10));
    }
  }

  async #sayAll(world: ChaosWorld): Promise<void> {
    while (this.#unsaid.length > 0) {
      const said = world.random.chance(0.5)
        ? this.#unsaid.slice(0, 1)
        : this.#unsaid;
      if (said.length === 1) await say(world, said);
      else await sayBatch(world, said);
      this.#unsaid = this.#unsaid.slice(said.length);
    }
  }
}

async function say(
  world: ChaosWorld,
  [outcome]: readonly Outcome[],
): Promise<void> {
  if (outcome === undefined) return;
  const { lease, word: { action, ...body } } = outcome;
  const sentAtMs = Date.now();
  const { status, json } = await world.client.call<SaidLease>(
    "POST",
    `/api/v1/leases/${lease.id}/${action}`,
    { body, token: lease.token },
  );
  judge(world, outcome, {
    sentAtMs,
    status,
    ...(status === 200 ? { lease: json } : { problem: json }),
  });
}

async function sayBatch(
  world: ChaosWorld,
  outcomes: readonly Outcome[],
): Promise<void> {
  const leases = outcomes.map(({ lease: { id, token }, word }) => ({
    id,
    token,
    ...word,
  }));
  const sentAtMs = Date.now();
  const { status, json } = await world.client.call<
    { readonly results: readonly BatchResult[] }
  >("POST", "/api/v1/leases/batch", { body: { leases } });
  if (status !== 200) {
    world.known.fault(`batch answered ${status} ${JSON.stringify(json)}`);
    return;
  }
  for (const [index, outcome] of outcomes.entries()) {
    const result = json.results[index] ?? { status: 0 };
    judge(world, outcome, { ...result, sentAtMs });
  }
}

function judge(
  { known }: ChaosWorld,
  { lease, word }: Outcome,
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
  known.fault(
    `${word.action} of ${lease.id} until ${lease.expires_at} answered ` +
      JSON.stringify(result),
  );
}

function pickWord({ random }: ChaosWorld): Outcome["word"] {
  const share = random.next();
  if (share < 0.9) return { action: "complete", result: { ok: true } };
  return share < 0.95
    ? { action: "fail", error: "by chance" }
    : { action: "release" };
}
