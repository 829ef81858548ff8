/**
 * The users of a simulation who enqueue requests for tasks in transactions of
 * their own. Their check: each committed request leads to one task or one
 * refusal, and a request that was rolled back leads to none.
 *
 * @module
 */

import { SeededRandom } from "../../../../tests/support/seeded_random.ts";
import type { InboxRequest } from "../../store/inbox.ts";
import type { Transaction, TransactionResult } from "../../store/store.ts";
import type { InboxTables } from "../../store/testing/memory_inbox.ts";
import { SIMULATED_TENANT_ID, SIMULATED_WORKERS } from "./simulated_workers.ts";
import type { SimulationLedger } from "./simulation_ledger.ts";
import type { SteppingClock } from "../../../../tests/support/stepping_clock.ts";

/** Options of {@linkcode SimulatedSenders}. */
export interface SendersOptions {
  /** Decides what the users do. */
  readonly seed: number;
  /** The real time. */
  readonly clock: SteppingClock;
  /** Where the requests go. */
  readonly tables: InboxTables;
  /** Is told of broken promises. */
  readonly ledger: Pick<SimulationLedger, "broken">;
}

/** How many transactions are open at once. */
const SENDERS = 4;
/** How many transactions each user makes. */
const ROUNDS = 12;

/** Users who enqueue tasks. */
export class SimulatedSenders {
  readonly #options: SendersOptions;
  readonly #random: SeededRandom;
  /** Requests that were committed. */
  readonly #committed = new Set<number>();
  /** The tasks of each request. */
  readonly #tasks = new Map<number, number>();
  /** Requests that a commit has removed. */
  readonly #taken = new Set<number>();
  #last = 0;

  /** Takes what the users work with. */
  constructor(options: SendersOptions) {
    this.#options = options;
    this.#random = new SeededRandom(options.seed + 1);
  }

  /** Makes transactions; some stay open for long, and some are rolled back. */
  async run(): Promise<void> {
    await Promise.all(Array.from({ length: SENDERS }, () => this.#send()));
  }

  async #send(): Promise<void> {
    const { clock, tables } = this.#options;
    const random = this.#random;
    for (let round = 0; round < ROUNDS; round++) {
      await clock.sleep(random.below(40_000));
      const some: InboxRequest[] = [];
      for (let left = 1 + random.below(4); left > 0; left--) {
        some.push(this.#draw(++this.#last));
        if (random.chance(0.3)) await clock.sleep(random.below(2_000));
      }
      if (random.chance(0.2)) await clock.sleep(random.below(120_000));
      if (random.chance(0.25)) continue;
      for (const request of some) {
        this.#committed.add(request.number);
        tables.requests.set(request.number, request);
      }
    }
  }

  #draw(number: number): InboxRequest {
    const random = this.#random;
    const isBad = random.chance(0.15);
    return {
      number,
      tenantId: SIMULATED_TENANT_ID,
      role: random.pick(["shop", "mail"]),
      askedAtMs: this.#options.clock.nowMs(),
      worker: random.pick(SIMULATED_WORKERS).name,
      dataJson: JSON.stringify({ request: number }),
      optionsJson: isBad ? '{"tags": [7]}' : "{}",
    };
  }

  /** Notes what a commit has made of requests. */
  applied(
    transactions: readonly Transaction[],
    results: readonly TransactionResult[],
  ): void {
    const { ledger } = this.#options;
    for (const [index, { writes }] of transactions.entries()) {
      if (results[index]?.kind !== "ok") continue;
      for (const write of writes) {
        if (write.kind === "request") this.#taken.add(write.number);
        if (write.kind !== "task" || write.expectedVersion !== 0) continue;
        const number = requestOf(write.next?.dataJson);
        if (number === undefined) continue;
        const count = (this.#tasks.get(number) ?? 0) + 1;
        this.#tasks.set(number, count);
        if (count > 1) ledger.broken(`request ${number} became ${count} tasks`);
        if (!this.#committed.has(number)) {
          ledger.broken(`request ${number} was not committed and is a task`);
        }
      }
    }
  }

  /** Checks what has become of all requests. */
  checkEnd(): void {
    const { tables: { requests, refused }, ledger } = this.#options;
    for (const number of this.#committed) {
      const tasks = this.#tasks.get(number) ?? 0;
      const refusals = refused.filter((one) => one.number === number).length;
      if (requests.has(number)) {
        ledger.broken(`request ${number} waits for ever`);
      } else if (tasks + refusals !== 1) {
        ledger.broken(
          `request ${number} became ${tasks} tasks and ${refusals} refusals`,
        );
      } else if (tasks === 1 && !this.#taken.has(number)) {
        ledger.broken(`request ${number} was not removed with its task`);
      }
    }
  }
}

function requestOf(dataJson = "null"): number | undefined {
  const data = JSON.parse(dataJson) as { readonly request?: number } | null;
  return data?.request;
}
