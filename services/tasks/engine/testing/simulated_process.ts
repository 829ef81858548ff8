/**
 * A process of a simulation: an instance of the service on a machine, with its
 * own handle of the store, until it dies.
 *
 * @module
 */

import type { SeededRandom } from "../../../../tests/support/seeded_random.ts";
import type { Timer } from "../../../shared/clock.ts";
import { FairTurns } from "../../../shared/fair_turns.ts";
import type { Logger } from "../../../shared/logger.ts";
import { UNLIMITED_PLAN } from "../../domain/records.ts";
import type { Notice } from "../../store/instances.ts";
import type {
  Store,
  Transaction,
  TransactionResult,
} from "../../store/store.ts";
import { TaskIds } from "../../store/task_id.ts";
import { InboxWorker } from "../../routes/tasks/inbox_worker.ts";
import { createMemoryStore } from "../../store/testing/memory_store.ts";
import { Delivery } from "../delivery.ts";
import { Engine } from "../engine.ts";
import { openParts } from "../parts.ts";
import { Push } from "../push.ts";
import { Vault } from "../vault.ts";
import { crashingStore, NO_TROUBLE } from "./crashing_store.ts";
import type { InstanceLedger } from "./instance_ledger.ts";
import { countedTimers, type MachineClock } from "./machine_clock.ts";
import { MAX_IN_FLIGHT, type PushReceiver } from "./push_receiver.ts";
import type { FleetProfile, SimulationProfile } from "./simulation_profile.ts";
import type { SteppingClock } from "../../../../tests/support/stepping_clock.ts";

/** The machine of a process, as the process sees it. */
export interface Host {
  /** The clock of the machine. */
  readonly clock: MachineClock;
  /** Whether the machine cannot reach the store and the other machines. */
  readonly isCut: boolean;
  /** Kills a process. */
  crash(process: Process): void;
}

/** A process, from its start to its death. */
export interface Process {
  /** The machine that it runs on. */
  readonly machine: Host;
  /** The timers that the process has set. */
  readonly timers: Set<Timer>;
  /** The functions of the process that hear notices. */
  readonly hearers: Set<(notice: Notice) => unknown>;
  /** Rejects when the process dies. */
  readonly death: PromiseWithResolvers<never>;
  /** Whether the process has died. */
  isDead: boolean;
  /** Whether the process accepts requests. */
  isOpen: boolean;
  /** How many requests are not answered yet. */
  requests: number;
}

/** A process with what runs in it. */
export interface Life extends Process {
  /** The engine that the process runs. */
  readonly engine: Engine;
  /** The component that calls push workers. */
  readonly push: Push;
  /** Takes requests over, where the store has an inbox. */
  readonly inboxWorker: InboxWorker | undefined;
}

/** Creates ids with a prefix. */
type NewId = (prefix: string) => string;

/** Puts a fault into each process on purpose. */
export interface Plant {
  /**
   * Wraps the store as the engine on a machine sees it.
   *
   * @default no wrapper
   */
  readonly store?: (store: Store, machine: Host) => Store;
  /**
   * Wraps the source of a process's ids.
   *
   * @default no wrapper
   */
  readonly ids?: (newId: NewId) => NewId;
  /**
   * Does something with a new engine.
   *
   * @default nothing
   */
  readonly engine?: (engine: Engine, machine: Host) => void;
}

/** The parts of the simulation that a process uses. */
export interface ProcessWorld {
  /** The real time. */
  readonly clock: SteppingClock;
  /** Decides at random what happens. */
  readonly random: SeededRandom;
  /** The fault rates of the run. */
  readonly profile: SimulationProfile;
  /** The instances, and what happens to them. */
  readonly fleet: FleetProfile;
  /** Whether faults have stopped. */
  readonly isHealed: boolean;
  /** Checks what instances do to each other's attempts. */
  readonly instances: InstanceLedger;
  /** What the processes log. */
  readonly logger: Logger;
  /** The store, which outlives the processes. */
  readonly store: Store;
  /** Answers the calls to push workers. */
  readonly receiver: PushReceiver;
  /** The fault that was put into each process. */
  readonly plant: Plant;
  /** The id of a new instance. */
  nextBootId(): string;
  /** Checks a commit of a process. */
  onApplied(
    transactions: readonly Transaction[],
    results: readonly TransactionResult[],
    process: Process,
  ): void;
}

/** Opens what runs in a process, without starting it. */
export function openLife(machine: Host, world: ProcessWorld): Life {
  const death = Promise.withResolvers<never>();
  death.promise.catch(() => {});
  const process: Process = {
    machine,
    timers: new Set(),
    hearers: new Set(),
    death,
    isDead: false,
    isOpen: false,
    requests: 0,
  };
  const { plant, random } = world;
  const clock = countedTimers(machine.clock, process.timers);
  const troubled = openStore(process, world);
  const store = plant.store?.(troubled, machine) ?? troubled;
  const ids = new TaskIds(clock, (length) => random.bytes(length));
  const drawId: NewId = (prefix) =>
    prefix === "boot" ? world.nextBootId() : ids.newId(prefix);
  const newId = plant.ids?.(drawId) ?? drawId;
  const limits = { ...UNLIMITED_PLAN.limits, retentionMs: null };
  const parts = openParts({
    store,
    limitsOfPlan: () => limits,
    clock: store.clock,
    random: () => random.next(),
    newId(prefix) {
      const id = newId(prefix);
      if (prefix === "boot") world.instances.joins(id, process);
      return id;
    },
    logger: world.logger,
  });
  const engine = new Engine(parts);
  plant.engine?.(engine, machine);
  const { changes, claims, mirroring } = engine;
  const push = new Push({
    parts,
    changes,
    claims,
    maxInFlight: MAX_IN_FLIGHT,
    delivery: new Delivery({
      parts,
      changes,
      vault: new Vault({ repositories: parts.repositories, clock }),
      caller: { call: (request) => world.receiver.call(process, request) },
      mirroring,
      view: ({ id, tenantId }) => ({ id, tenantId }),
    }),
  });
  const inboxWorker = store.inbox && new InboxWorker({
    parts: {
      engine,
      targets: { allowHttp: false, allowList: [] },
      onTimeMs: 0,
    },
    inbox: store.inbox,
    // No time passes while a simulated process works.
    turns: new FairTurns({ monotonicMs: () => 0 }),
  });
  return Object.assign(process, { engine, push, inboxWorker });
}

/** Opens a handle of the store, with the faults of the run. */
function openStore(process: Process, world: ProcessWorld): Store {
  const { machine } = process;
  const clock = countedTimers(machine.clock, process.timers);
  const handle = createMemoryStore({ clock, besides: world.store });
  return crashingStore(handle, {
    clock: world.clock,
    machine: machine.clock,
    random: world.random,
    trouble: () => world.isHealed ? NO_TROUBLE : world.profile.trouble,
    way: world.fleet.way,
    noticeTrouble: () => world.fleet.notices,
    hearers: process.hearers,
    isCut: () => machine.isCut,
    isDead: () => process.isDead,
    death: process.death.promise,
    crash: () => machine.crash(process),
    onApplied: (transactions, results) =>
      world.onApplied(transactions, results, process),
    onBeat: (beat, answer) => world.instances.beats(beat, answer),
    onSweep: () => world.instances.sweeps(process),
    onTrouble: () => world.instances.noteTrouble(0),
  });
}
