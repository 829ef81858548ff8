/**
 * The simulated server of a push worker.
 *
 * @module
 */

import type { SeededRandom } from "../../../../tests/support/seeded_random.ts";
import type { Engine } from "../engine.ts";
import { leaseHolder } from "../leases.ts";
import type { PushRequest } from "../../delivery/push_call.ts";
import type { PushOutcome } from "../../delivery/push_answer.ts";
import type { LeaseLedger } from "./lease_ledger.ts";
import { SIMULATED_TENANT_ID } from "./simulated_workers.ts";
import type { SimulationLedger } from "./simulation_ledger.ts";
import type { SimulationProfile } from "./simulation_profile.ts";
import type { InstanceLedger } from "./instance_ledger.ts";
import type { MachineClock } from "./machine_clock.ts";
import type { SteppingClock } from "../../../../tests/support/stepping_clock.ts";

/** An answer of a worker. */
type PushAnswer = Extract<PushOutcome, { readonly kind: "answered" }>;

/** The most calls that the process makes at once. */
export const MAX_IN_FLIGHT = 4;

interface CallBody {
  readonly data: {
    readonly task: { readonly id: string };
    readonly attempt: {
      readonly id: string;
      readonly token: string;
      readonly fence: number;
    };
  };
}

/** The process that makes a call, as the receiver sees it. */
interface CallingProcess {
  /** Whether the process has died. */
  readonly isDead: boolean;
  /** The machine that it runs on. */
  readonly machine: { readonly clock: MachineClock };
}

/** The parts of the simulation that the receiver uses. */
interface ReceiverWorld {
  /** The time. */
  readonly clock: SteppingClock;
  /** Decides at random what happens. */
  readonly random: SeededRandom;
  /** The probabilities of the run. */
  readonly profile: SimulationProfile;
  /** Whether faults have stopped. */
  readonly isHealed: boolean;
  /** Records broken promises, and knows which attempts were canceled. */
  readonly ledger: SimulationLedger;
  /** Tracks which worker works on which attempt. */
  readonly leases: LeaseLedger;
  /** Checks what instances do to each other's attempts. */
  readonly instances: InstanceLedger;
  /**
   * Notes that an attempt is worked on; its name consists of the task and the
   * fence.
   */
  noteAttempt(name: string): void;
  /**
   * Asks the running process until there is an answer; undefined when that was
   * in vain.
   */
  insist<T>(ask: (engine: Engine) => Promise<T>): Promise<T | undefined>;
}

/** Answers calls in random ways: success, failure, acceptance or silence. */
export class PushReceiver {
  readonly #world: ReceiverWorld;
  readonly #underWay = new Map<CallingProcess, number>();

  /** Takes the simulation that the receiver is part of. */
  constructor(world: ReceiverWorld) {
    this.#world = world;
  }

  /**
   * Answers a call of a process; never resolves when the process dies
   * meanwhile.
   */
  async call(life: CallingProcess, request: PushRequest): Promise<PushOutcome> {
    this.#count(life, 1);
    try {
      return await this.#call(life, request);
    } finally {
      this.#count(life, -1);
    }
  }

  #count(life: CallingProcess, change: number): void {
    const calls = (this.#underWay.get(life) ?? 0) + change;
    this.#underWay.set(life, calls);
    if (calls <= MAX_IN_FLIGHT) return;
    this.#world.ledger.broken(`${calls} calls are under way`);
  }

  async #call(
    life: CallingProcess,
    request: PushRequest,
  ): Promise<PushOutcome> {
    const { clock, random, profile, isHealed } = this.#world;
    const { data }: CallBody = JSON.parse(request.body);
    this.#world.noteAttempt(`${data.task.id} ${data.attempt.fence}`);
    this.#world.leases.begins(data.task.id, data.attempt.id);
    const end = this.#world.instances.calls(life, {
      taskId: data.task.id,
      attemptId: data.attempt.id,
      timeoutMs: request.timeoutMs,
    });
    const aborted = Promise.withResolvers<"aborted">();
    const onAbort = (): void => aborted.resolve("aborted");
    if (request.signal?.aborted) onAbort();
    request.signal?.addEventListener("abort", onAbort);
    const isSluggish = !isHealed && random.chance(profile.sluggishShare);
    const takesMs = isSluggish ? request.timeoutMs : random.below(5_000);
    const ended = await Promise.race([
      clock.sleep(Math.min(takesMs, request.timeoutMs)),
      aborted.promise,
    ]);
    request.signal?.removeEventListener("abort", onAbort);
    end();
    await life.machine.clock.awake();
    if (life.isDead) return await new Promise<never>(() => {});
    const durationMs = takesMs;
    this.#world.leases.ends(data.task.id, data.attempt.id);
    if (ended === "aborted") return failed("canceled", durationMs);
    if (takesMs >= request.timeoutMs) return failed("timed_out", durationMs);
    return this.#answer(data, durationMs);
  }

  #answer(data: CallBody["data"], durationMs: number): PushOutcome {
    const { random, profile, isHealed } = this.#world;
    if (!isHealed && random.chance(profile.failShare)) {
      return random.chance(0.5)
        ? failed("connection_failed", durationMs)
        : answered(503, { durationMs, retryAfterMs: random.below(5_000) });
    }
    if (!isHealed && random.chance(0.2)) {
      void this.#finishLater(data);
      return answered(202, { durationMs, leaseMs: 15_000 });
    }
    return answered(200, { durationMs });
  }

  /** Reports the outcome of an accepted task later, or never. */
  async #finishLater({ task, attempt }: CallBody["data"]): Promise<void> {
    const { clock, random, profile, ledger, leases } = this.#world;
    leases.begins(task.id, attempt.id);
    await clock.sleep(100 + random.below(8_000));
    if (random.chance(profile.vanishShare)) {
      return leases.vanishes(task.id, attempt.id);
    }
    leases.ends(task.id, attempt.id);
    const outcome = await this.#world.insist(({ leases }) =>
      leases.report({
        holder: leaseHolder({
          tenantId: SIMULATED_TENANT_ID,
          leaseId: attempt.id,
          token: attempt.token,
        }),
        event: (lease) => ({ kind: "complete", lease }),
      })
    );
    const isRight = outcome?.kind === "ok" || outcome === undefined ||
      ledger.canceledAttempts.has(attempt.id);
    if (profile.isReliable && !isRight) {
      ledger.broken(`${attempt.id} was accepted and cannot be completed`);
    }
  }
}

function failed(
  code: "canceled" | "timed_out" | "connection_failed",
  durationMs: number,
): PushOutcome {
  return { kind: "failed", code, message: `the call was ${code}`, durationMs };
}

function answered(
  status: number,
  fields: Pick<PushAnswer, "durationMs" | "retryAfterMs" | "leaseMs">,
): PushAnswer {
  return {
    kind: "answered",
    status,
    headers: {},
    bodyText: "{}",
    isTruncated: false,
    isFinal: false,
    ...fields,
  };
}
