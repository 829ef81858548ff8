/**
 * The world of a simulation: one real time, one store, and the machines that
 * use them.
 *
 * @module
 */

import { RecordingLogger } from "../../../../tests/support/recording_logger.ts";
import { SeededRandom } from "../../../../tests/support/seeded_random.ts";
import type { Tenant, WorkerDefinition } from "../../domain/records.ts";
import type {
  Store,
  Transaction,
  TransactionResult,
} from "../../store/store.ts";
import {
  createMemoryStore,
  inboxTablesOf,
} from "../../store/testing/memory_store.ts";
import type { Engine } from "../engine.ts";
import { REGISTRY } from "../repositories.ts";
import { InstanceLedger } from "./instance_ledger.ts";
import { LeaseLedger } from "./lease_ledger.ts";
import { PushReceiver } from "./push_receiver.ts";
import { RevocationLedger } from "./revocation_ledger.ts";
import { SimulatedMachine } from "./simulated_machine.ts";
import type { Plant, Process } from "./simulated_process.ts";
import { SimulatedSenders } from "./simulated_senders.ts";
import { SIMULATED_TENANT_ID, SIMULATED_WORKERS } from "./simulated_workers.ts";
import { SimulationLedger } from "./simulation_ledger.ts";
import {
  ALONE,
  drawFleet,
  drawProfile,
  type FleetProfile,
  type SimulationProfile,
} from "./simulation_profile.ts";
import { SteppingClock } from "../../../../tests/support/stepping_clock.ts";

/** Options of {@linkcode SimulatedWorld}. */
export interface WorldOptions {
  /** Decides what happens. */
  readonly seed: number;
  /** How many machines run an instance. */
  readonly engines: number;
  /** The fault to put into each process. */
  readonly plant: Plant;
}

/** One in so many runs of several instances has an inbox. */
const SENDERS_IN = 3;

/** The world of a simulation. */
export class SimulatedWorld {
  /**
   * The real time, which is that of the store. A machine that is alone has it
   * as its own time, and may set it.
   */
  readonly clock = new SteppingClock();
  /** Decides at random what happens. */
  readonly random: SeededRandom;
  /** The probabilities and fault rates of the run. */
  readonly profile: SimulationProfile;
  /** The instances, and what happens to them. */
  readonly fleet: FleetProfile;
  /** Checks the applied writes. */
  readonly ledger: SimulationLedger;
  /** Tracks which worker works on which attempt. */
  readonly leases: LeaseLedger;
  /** Checks what instances do to each other's attempts. */
  readonly instances: InstanceLedger;
  /** Checks for how long stays in force what was revoked or paused. */
  readonly revocations: RevocationLedger;
  /** What the processes have logged. */
  readonly logger = new RecordingLogger();
  /** The store, which outlives the processes. */
  readonly store: Store;
  /** Users who enqueue tasks in transactions, in some of the runs. */
  readonly senders: SimulatedSenders | undefined;
  /** Answers the calls to push workers. */
  readonly receiver: PushReceiver = new PushReceiver(this);
  /** The machines. */
  readonly machines: readonly SimulatedMachine[];
  /** The credential that each worker process presents. */
  readonly credentials = new Map<string, string>();
  /** The fault that was put into each process. */
  readonly plant: Plant;
  /** How many processes have died. */
  crashes = 0;
  /** Whether faults have stopped. */
  isHealed = false;
  /** Whether the simulation has ended. */
  isOver = false;
  readonly #attempts = new Set<string>();
  #ids = 0;

  /** Creates the world of a seed. */
  constructor({ seed, engines, plant }: WorldOptions) {
    this.plant = plant;
    this.random = new SeededRandom(seed);
    this.profile = drawProfile(this.random);
    this.fleet = engines === 1
      ? ALONE
      : drawFleet(this.random, { ...this.profile, engines });
    const elapsedMs = (): number => this.clock.elapsedMs;
    const hasOwnTime = engines > 1;
    this.store = createMemoryStore({
      clock: this.clock,
      ...(hasOwnTime ? { ownTimeMs: () => this.clock.nowMs() } : {}),
      hasInbox: hasOwnTime && seed % SENDERS_IN === 0,
    });
    this.ledger = new SimulationLedger(SIMULATED_WORKERS, elapsedMs);
    const tables = inboxTablesOf(this.store);
    this.senders = tables && new SimulatedSenders({
      ...{ seed, tables, clock: this.clock, ledger: this.ledger },
    });
    const { ledger, fleet, profile: { isReliable }, clock } = this;
    this.leases = new LeaseLedger({ ledger, elapsedMs, isReliable });
    this.instances = new InstanceLedger({ ledger, clock, hasOwnTime });
    this.revocations = new RevocationLedger({
      ledger,
      clock,
      isEachTold: fleet.notices.lostShare === 0 &&
        fleet.notices.maxDelayMs <= 500 && !fleet.mishaps.includes("cut"),
    });
    this.machines = Array.from({ length: engines }, () => {
      const skewMs = this.random.below(2 * fleet.maxSkewMs + 1);
      return new SimulatedMachine(this, skewMs - fleet.maxSkewMs);
    });
  }

  /** A machine whose process accepts requests, if there is one. */
  pickMachine(): SimulatedMachine | undefined {
    const open = this.machines.filter(({ life }) => life?.isOpen === true);
    return open.length > 1 ? this.random.pick(open) : open[0];
  }

  /** The id of a new process. */
  nextBootId(): string {
    return `boot_${this.#ids++}`;
  }

  /**
   * Notes that an attempt is worked on; its name consists of the task and the
   * fence.
   */
  noteAttempt(name: string): void {
    if (this.#attempts.has(name)) this.ledger.broken(`two work at ${name}`);
    this.#attempts.add(name);
  }

  /** Checks a commit of a process. */
  onApplied(
    transactions: readonly Transaction[],
    results: readonly TransactionResult[],
    process: Process,
  ): void {
    const { isCalm } = this.profile;
    const nowMs = this.clock.nowMs();
    this.instances.applied(transactions, results);
    this.senders?.applied(transactions, results);
    this.revocations.applied(transactions, results, process.machine.clock);
    const isOnTime = isCalm || this.fleet.engines > 1;
    this.ledger.applied(transactions, { results, isCalm, isOnTime, nowMs });
    this.leases.applied(transactions, results);
  }

  /** Notes that a process dies. */
  onCrash(process: Process): void {
    this.crashes++;
    const others = this.machines.flatMap((machine) =>
      machine.life?.isOpen === true && machine.life !== process
        ? [machine.life]
        : []
    );
    this.instances.dies(process, others);
  }

  /**
   * Asks any process until there is an answer, as a persistent client does.
   * Undefined when it gave up, or the simulation has ended.
   */
  async insist<T>(
    ask: (engine: Engine) => Promise<T>,
    tries = 1_000,
  ): Promise<T | undefined> {
    for (let count = 0; count < tries && !this.isOver; count++) {
      const machine = this.pickMachine();
      if (machine !== undefined) {
        try {
          return await machine.call(ask);
        } catch (error) {
          if (error instanceof TypeError || error instanceof RangeError) {
            this.ledger.broken(`a call threw ${error.stack}`);
            return undefined;
          }
        }
      }
      await this.clock.sleep(50 + this.random.below(1_000));
    }
    return undefined;
  }

  /** Lets things happen to a machine until the faults stop. */
  async haunt(machine: SimulatedMachine): Promise<void> {
    const { random, clock, fleet } = this;
    if (fleet.mishaps.length === 0) return;
    while (!this.isHealed) {
      await clock.sleep(5_000 + random.below(fleet.maxPeaceMs));
      if (!this.isHealed) await machine.suffer(random.pick(fleet.mishaps));
    }
  }
}

/** Adds the tenant of the simulation and its workers to a store. */
export async function addWorkers(
  store: Store,
  workers: readonly WorkerDefinition[],
): Promise<void> {
  const tenant: Tenant = {
    id: SIMULATED_TENANT_ID,
    version: 1,
    domain: "simulated",
    status: "active",
    plan: "simulated",
    timezone: "UTC",
    createdAtMs: 0,
    updatedAtMs: 0,
  };
  await store.commit([{
    writes: [{
      kind: "record",
      recordKind: "tenant",
      tenantId: REGISTRY,
      id: tenant.id,
      expectedVersion: 0,
      next: {
        kind: "tenant",
        tenantId: REGISTRY,
        id: tenant.id,
        version: 1,
        alias: tenant.domain,
        text: JSON.stringify(tenant),
      },
    }],
  }]);
  await store.commit(workers.map((worker) => ({
    writes: [{
      kind: "record",
      recordKind: "worker",
      tenantId: worker.tenantId,
      id: worker.id,
      expectedVersion: 0,
      next: {
        kind: "worker",
        tenantId: worker.tenantId,
        id: worker.id,
        version: 1,
        alias: worker.name,
        text: JSON.stringify(worker),
      },
    }],
  })));
}
