/**
 * The simulated owner of the tasks, who creates them and performs random
 * actions on them.
 *
 * @module
 */

import type { SeededRandom } from "../../../../tests/support/seeded_random.ts";
import type { WorkerDefinition } from "../../domain/records.ts";
import {
  BLANK_DEFINITION,
  isFinal,
  pickDefinition,
  type RepeatRule,
  type Task,
  type TaskDefinition,
} from "../../domain/task.ts";
import type { CreateRequest } from "../create_request.ts";
import { planRevival } from "../revival.ts";
import { KEYED_REQUESTS } from "./call_ledger.ts";
import { createTasks } from "./create_tasks.ts";
import type { TaskEvent } from "../../domain/task_event.ts";
import { joinSpans } from "../../domain/closed_times.ts";
import { followCalendar } from "../calendar_changes.ts";
import type { EventOutcome } from "../changes.ts";
import type { Engine } from "../engine.ts";
import { buildRemoval } from "../task_writes.ts";
import { SIMULATED_TENANT_ID, SIMULATED_WORKERS } from "./simulated_workers.ts";
import type { SimulatedWorld } from "./simulation_world.ts";

const OWNER = { type: "user", id: "usr_simulated" } as const;
const CALENDAR = "closed";
const HOUR_MS = 3_600_000;
/** The longest time until the engine reads the clock again, in milliseconds. */
const LOOK_MS = 1_000;

/** Creates tasks and performs random actions on them. */
export class TaskOwner {
  /** The acknowledged tasks, by id, with the acknowledged version. */
  readonly acknowledged = new Map<string, number>();
  readonly #world: SimulatedWorld;
  readonly #known: string[] = [];
  #setAtMs = -Infinity;

  /** Takes the simulation that the owner is part of. */
  constructor(world: SimulatedWorld) {
    this.#world = world;
  }

  /** Performs as many actions as the profile says. */
  async run(): Promise<void> {
    const { random, clock, profile, fleet } = this.#world;
    const isAlone = fleet.engines === 1;
    for (let deed = 0; deed < profile.deeds && !this.#world.isOver; deed++) {
      await clock.sleep(random.below(6_000));
      if (isAlone && random.chance(profile.stepShare)) this.#setClock();
      if (random.chance(0.2)) await this.#ask();
      if (random.chance(0.1)) await this.#replaceCalendar();
      if (this.#known.length === 0 || random.chance(0.4)) await this.#create();
      else await this.#meddle(random.pick(this.#known));
    }
  }

  /** Closes other times, as PUT of a calendar in the API does. */
  async #replaceCalendar(): Promise<void> {
    const { random, clock } = this.#world;
    const nowMs = clock.nowMs();
    const spans = random.list(6, () => {
      const startMs = nowMs + random.below(900_000) - 100_000;
      return [startMs, startMs + random.below(120_000)] as const;
    });
    const instants = joinSpans(spans);
    // The service may die between the commit and what follows.
    const isFollowed = random.chance(0.6);
    await this.#world.insist((engine) =>
      putCalendar(engine, { instants, isFollowed })
    );
  }

  /**
   * Sets the clock of a machine that is alone, but not twice between two
   * readings by the engine.
   */
  #setClock(): void {
    const { random, clock } = this.#world;
    const byMs = random.pick([-HOUR_MS, HOUR_MS, -3_000, 3_000]);
    if (clock.elapsedMs < this.#setAtMs + LOOK_MS) return;
    this.#setAtMs = clock.elapsedMs;
    clock.step(byMs);
  }

  #drawing(): DrawOptions {
    const { random, clock, profile } = this.#world;
    return {
      random,
      worker: random.pick(SIMULATED_WORKERS),
      nowMs: clock.nowMs(),
      known: this.#known,
      isPatient: profile.isReliable,
    };
  }

  async #create(): Promise<void> {
    const { random } = this.#world;
    const drawing = this.#drawing();
    const count = random.chance(0.1) ? random.below(20) : 1;
    const drawDate = (): number =>
      random.chance(0.4)
        ? drawing.nowMs
        : drawing.nowMs + random.below(400_000) - 100_000;
    // Many become due at once, which several instances then want to start.
    const common = random.chance(0.5) ? drawDate() : undefined;
    const requests = Array.from({ length: count }, (_, index) => ({
      tenantId: SIMULATED_TENANT_ID,
      ...drawFlowItem(index, drawing),
      worker: drawing.worker,
      dateMs: common ?? drawDate(),
      isPaused: random.chance(0.05),
      actor: OWNER,
    }));
    const outcome = await this.#world.insist((engine) =>
      createTasks(engine, requests)
    );
    if (outcome?.kind !== "ok") return;
    for (const result of outcome.results) {
      if (result.kind !== "created") continue;
      this.#known.push(result.task.id);
      this.#acknowledge(result.task);
    }
  }

  /**
   * Asks for the run of a key. Nothing else is done to these tasks, so that
   * their dates are those of the requests.
   */
  async #ask(): Promise<void> {
    const { random } = this.#world;
    const [worker] = SIMULATED_WORKERS;
    const key = random.pick(Object.keys(KEYED_REQUESTS));
    const request = KEYED_REQUESTS[key];
    if (worker === undefined || request === undefined) return;
    const outcome = await this.#world.insist((engine) =>
      createTasks(engine, [{
        ...request,
        tenantId: SIMULATED_TENANT_ID,
        actor: OWNER,
        worker,
        isPaused: false,
        definition: {
          ...BLANK_DEFINITION,
          workerId: worker.id,
          key,
          dataJson: `${random.below(1_000)}`,
          ...random.pick(RETRIES),
        },
      }])
    );
    const [result] = outcome?.kind === "ok" ? outcome.results : [];
    if (result === undefined || !("task" in result)) return;
    this.#acknowledge(result.task);
  }

  async #meddle(any: string): Promise<void> {
    const { random, ledger } = this.#world;
    const waiting = [...ledger.tasks.values()].filter(({ wait, key }) =>
      wait?.for !== undefined && key === undefined
    );
    const isAnswer = waiting.length > 0 && random.chance(0.3);
    const id = isAnswer ? random.pick(waiting).id : any;
    const make = isAnswer && random.chance(0.8)
      ? (task: Task) => this.#signal(task)
      : random.pick(this.#deeds());
    if (random.chance(0.05)) return await this.#remove(id);
    if (random.chance(0.1)) return await this.#retryWithAll(this.#cause(id));
    const outcome = await this.#world.insist(({ changes }) =>
      changes.apply({
        tenantId: SIMULATED_TENANT_ID,
        id,
        event: make,
        actor: OWNER,
      })
    );
    if (outcome?.kind === "changed") this.#acknowledge(outcome.task);
    else this.#check(id, outcome);
  }

  #check(id: string, outcome: EventOutcome | undefined): void {
    const { ledger } = this.#world;
    if (outcome?.kind !== "missing" || ledger.removed.has(id)) return;
    ledger.broken(`${id} was acknowledged and is missing`);
  }

  #acknowledge({ id, version }: Task): void {
    const { ledger } = this.#world;
    this.acknowledged.set(id, version);
    const there = ledger.tasks.get(id)?.version ?? 0;
    if (there >= version || ledger.removed.has(id)) return;
    ledger.broken(`${id} was acknowledged as ${version} and is ${there}`);
  }

  #deeds(): readonly ((task: Task) => TaskEvent | undefined)[] {
    const { random } = this.#world;
    const drawing = this.#drawing();
    const update = (
      field: string,
      patch: Partial<Task>,
    ) =>
    (task: Task): TaskEvent => ({
      kind: "update",
      definition: pickDefinition({ ...task, ...patch }),
      changes: [{ field, from: null, to: null }],
    });
    return [
      () => ({ kind: "cancel", reason: "it was made to" }),
      () => ({ kind: "pause" }),
      () => ({ kind: "resume" }),
      () => ({ kind: "resume" }),
      () => ({ kind: "retry" }),
      () => ({ kind: "run" }),
      (task) => ({
        kind: "update",
        definition: pickDefinition(task),
        dateMs: drawing.nowMs + random.below(300_000) - 100_000,
        changes: [],
      }),
      (task) => this.#signal(task),
      (task) => this.#signal(task),
      (task) => this.#signal(task),
      update("priority", { priority: random.below(19) - 9 }),
      update("repeat", { repeat: drawRepeat(drawing) }),
      // The group stays the same, since a new group would have to count running
      // tasks too.
      update("data", { dataJson: "1" }),
      // Only a task blocked by dependencies may get others.
      (task) =>
        task.status === "blocked"
          ? update("dependencies", {
            dependencies: drawDependencies(drawing),
          })(task)
          : undefined,
    ];
  }

  /** The event or the decision that a task waits for, or one that it may. */
  #signal(task: Task): TaskEvent {
    const { random } = this.#world;
    return task.wait?.for?.kind === "approval"
      ? { kind: "decide", isApproved: random.chance(0.5) }
      : {
        kind: "send_event",
        name: random.pick(["go", "go", "other"]),
        dataJson: `${random.below(2 ** 52)}`,
      };
  }

  /** A task by which another one has failed, if there is one. */
  #cause(otherwise: string): string {
    const { ledger, random } = this.#world;
    const causes = [...ledger.tasks.values()].flatMap(({ status, error }) =>
      status === "failed" ? error?.dependency ?? [] : []
    );
    return causes.length > 0 ? random.pick(causes) : otherwise;
  }

  /** Retries a task together with those that have failed by it. */
  async #retryWithAll(id: string): Promise<void> {
    const { ledger } = this.#world;
    const failedByIt = (): readonly Task[] =>
      [...ledger.tasks.values()].filter(({ status, error, key }) =>
        status === "failed" && error?.dependency === id && key === undefined
      );
    await this.#world.insist(async ({ parts, changes }) => {
      const task = await parts.store.task(SIMULATED_TENANT_ID, id);
      if (task === undefined || !isFinal(task.status)) return;
      const before = failedByIt();
      const planned = await planRevival({ parts, changes }, {
        task,
        actor: OWNER,
      });
      if (planned.kind === "refused") return;
      const { revival } = planned;
      const outcome = await changes.apply({
        tenantId: SIMULATED_TENANT_ID,
        id,
        event: (now) =>
          now.version === task.version ? { kind: "retry" } : undefined,
        actor: OWNER,
        extraWrites: revival.writes,
      });
      if (outcome.kind !== "changed") return;
      revival.announce();
      for (const { id: left, version } of before) {
        if (ledger.tasks.get(left)?.version !== version) continue;
        ledger.broken(`${left} failed by ${id}, which is tried again`);
      }
    });
  }

  /** Cancels a task and removes it, as DELETE in the API does. */
  async #remove(id: string): Promise<void> {
    this.#world.ledger.ownerRemovals.add(id);
    await this.#world.insist(async (engine) => {
      await engine.changes.apply({
        tenantId: SIMULATED_TENANT_ID,
        id,
        event: (task) => isFinal(task.status) ? undefined : { kind: "cancel" },
        actor: OWNER,
      });
      await remove(engine, id);
    });
  }
}

async function putCalendar(
  engine: Engine,
  { instants, isFollowed }: {
    readonly instants: readonly number[];
    readonly isFollowed: boolean;
  },
): Promise<void> {
  const { store } = engine.parts;
  const tenantId = SIMULATED_TENANT_ID;
  const kind = "calendar";
  const before = await store.record(kind, tenantId, CALENDAR);
  const version = (before?.version ?? 0) + 1;
  const base = { tenantId, id: CALENDAR, version };
  const value = { ...base, walls: [], instants, events: 0 };
  const next = { ...base, kind, text: JSON.stringify(value) } as const;
  const [result] = await store.commit([{
    writes: [{
      kind: "record",
      recordKind: kind,
      tenantId,
      id: CALENDAR,
      expectedVersion: version - 1,
      next,
    }],
  }]);
  if (result?.kind !== "ok" || !isFollowed) return;
  await followCalendar(engine, tenantId, CALENDAR);
}

async function remove(engine: Engine, id: string): Promise<void> {
  const { store } = engine.parts;
  const task = await store.task(SIMULATED_TENANT_ID, id);
  if (task === undefined || !isFinal(task.status)) return;
  const [result] = await store.commit([{ writes: [buildRemoval(task)] }]);
  if (result?.kind === "ok") engine.changes.announce(task, undefined);
}

/** What a random task is drawn from. */
interface DrawOptions {
  /** The random numbers. */
  readonly random: SeededRandom;
  /** The worker of the task. */
  readonly worker: WorkerDefinition;
  /** The present, in milliseconds since the epoch. */
  readonly nowMs: number;
  /** The ids of existing tasks. */
  readonly known: readonly string[];
  /** Whether attempts get so much time that no attempt times out. */
  readonly isPatient: boolean;
}

/** Draws a task of a batch, which may depend on those before it. */
function drawFlowItem(
  index: number,
  drawing: DrawOptions,
): Pick<CreateRequest, "definition" | "ref" | "refs"> {
  const { random } = drawing;
  const definition = drawDefinition(drawing);
  const refs = index > 0 && random.chance(0.3)
    ? [`r${random.below(index)}`]
    : [];
  const dependencies = [...definition.dependencies, ...refs];
  return {
    definition: { ...definition, dependencies },
    ref: `r${index}`,
    refs: refs.length === 0 ? undefined : new Set(refs),
  };
}

/** Draws a random definition of a task. */
function drawDefinition(options: DrawOptions): TaskDefinition {
  const { random, worker, nowMs, isPatient } = options;
  const timeouts: readonly Partial<Pick<TaskDefinition, "timeoutMs">>[] =
    isPatient
      ? [{}, { timeoutMs: 40_000 }]
      : [{}, {}, { timeoutMs: 5_000 }, { timeoutMs: 20_000 }];
  const key = random.chance(0.1) ? random.pick(["k1", "k2"]) : undefined;
  return {
    ...BLANK_DEFINITION,
    workerId: worker.id,
    job: random.pick(["default", "default", "a", "b"]),
    timezone: random.pick(["UTC", "Europe/Paris"]),
    repeat: random.chance(0.25) ? drawRepeat(options) : undefined,
    ...random.pick(RETRIES),
    ...random.pick(timeouts),
    ...random.pick(RETAINS),
    expiresAtMs: random.chance(0.1)
      ? nowMs + random.below(600_000) - 60_000
      : undefined,
    dependencies: drawDependencies(options),
    onDependencyFailure: random.pick(["fail", "run", "wait"]),
    priority: random.pick([0, 0, 0, -9, 9, 3]),
    group: random.pick(["", "", "g1", "g2", "g3"]),
    key,
  };
}

/**
 * Draws how a task repeats; it always ends, so that the run can come to rest.
 */
function drawRepeat({ random, nowMs }: DrawOptions): RepeatRule {
  const untilMs = random.chance(0.2)
    ? nowMs + random.below(600_000)
    : undefined;
  return {
    ...(random.chance(0.7)
      ? { interval: random.pick(["PT1S", "PT7S", "PT1M", "PT5M"]) }
      : { cron: random.pick(["*/2 * * * *", "*/15 * * * * *", "0 0 1 1 *"]) }),
    ...(random.chance(0.4) ? { calendars: [CALENDAR] } : {}),
    ...(random.chance(0.05)
      ? { exclude: [new Date(nowMs).toISOString().slice(0, 10)] }
      : {}),
    limit: random.below(5),
    ...(untilMs === undefined ? {} : { untilMs }),
    catchUp: random.pick(["one", "one", "all", "none"]),
    catchUpWindowMs: random.pick([60_000, 3_600_000]),
    onTimeMs: random.pick([10_000, 1_000, 60_000]),
    jitterMs: random.pick([0, 0, 5_000]),
    mode: random.chance(0.25) ? "spawn" : "same",
    onFailure: random.pick(["stop", "continue"]),
  };
}

/** Draws some of the existing tasks as dependencies. */
function drawDependencies(
  { random, known }: Pick<DrawOptions, "random" | "known">,
): readonly string[] {
  if (known.length === 0 || !random.chance(0.2)) return [];
  const recent = known.slice(-20);
  const count = 1 + random.below(3);
  return [
    ...new Set(Array.from({ length: count }, () => random.pick(recent))),
  ];
}

const RETAINS: readonly Partial<Pick<TaskDefinition, "retain">>[] = [
  {},
  {},
  { retain: { succeededMs: 0 } },
  { retain: { succeededMs: 90_000, failedMs: 0 } },
  { retain: { failedMs: 300_000 } },
];

const RETRIES: readonly Partial<Pick<TaskDefinition, "retry">>[] = [
  {},
  {},
  { retry: null },
  { retry: { limit: 2, interval: "PT5S" } },
  { retry: { limit: 4, interval: "PT1S", backoff: "exponential" } },
  { retry: { limit: 3, interval: "PT2S", backoff: "linear", for: "PT30S" } },
];
