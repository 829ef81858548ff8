/**
 * All that jobs work with: the real store and the real vault in a folder, blobs and
 * catalogue in memory, a clock that stands still, and a hook before and after
 * every call that could fail.
 *
 * @module
 */

import { FakeClock } from "../../../../tests/support/fake_clock.ts";
import { RecordingLogger } from "../../../../tests/support/recording_logger.ts";
import { SeededRandom } from "../../../../tests/support/seeded_random.ts";
import { NEVER_PAUSING } from "../../../shared/slices.ts";
import { removeMemory } from "../../api/routes/memory_routes.ts";
import { MemoryBlobs, MemoryCatalog } from "../../api/testing/memory_blobs.ts";
import type { Caller } from "../../auth/authenticate.ts";
import { BlobLocks } from "../../concurrency/semaphore.ts";
import type { EmbedOutcome } from "../../embed/embedder.ts";
import { HashedEmbedder } from "../../embed/hashed_embedder.ts";
import { OwnerLoad } from "../../recall/owner_load.ts";
import { VectorIndex } from "../../recall/vector_index.ts";
import type { JobRow } from "../../store/rows.ts";
import { SqliteStore } from "../../store/sqlite/sqlite_store.ts";
import { StorageWatch } from "../../store/storage_watch.ts";
import type { RelayerStore } from "../../store/store.ts";
import { LocalVault } from "../../vault/local_vault.ts";
import type { BlobContent, RelayerVault } from "../../vault/vault.ts";
import { type AcceptOutcome, JobIntake } from "../job_intake.ts";
import { JobRunner } from "../job_runner.ts";
import {
  type AcceptOptions,
  JobIds,
  type NewText,
  RecentPlaintexts,
} from "../job_sealer.ts";
import { JobSteps } from "../job_steps.ts";
import { JobWaiters } from "../job_waiters.ts";
import { StorageUsage } from "../storage_usage.ts";

type RemovalOutcome = Awaited<ReturnType<typeof removeMemory>>;

type StepOutcome = Awaited<ReturnType<JobSteps["run"]>>[number];

type JobStepsOptions = ConstructorParameters<typeof JobSteps>[0];

type JobRunnerOptions = ConstructorParameters<typeof JobRunner>[0];

type JobIntakeOptions = ConstructorParameters<typeof JobIntake>[0];

/** Who asks in tests. */
export const CALLER: Caller = {
  owner: `0x${"a1".repeat(32)}`,
  publicKey: "c3".repeat(32),
  accountId: `0x${"d4".repeat(32)}`,
};

/** Called before and after a call, such as `blobs.put`; may throw or hang. */
export type CallHook = (call: string, when: "before" | "after") => unknown;

/** What jobs work with, all calls with hooks. */
export interface WorldParts extends JobStepsOptions {
  readonly clock: FakeClock;
  /** Those who wait. */
  readonly waiters: JobWaiters;
}

/** Everything jobs need. */
export class JobWorld {
  /** The time. */
  readonly clock = new FakeClock(1_800_000_000_000);
  /** What was logged. */
  readonly logger = new RecordingLogger();
  /** Which blobs there are. */
  readonly catalog = new MemoryCatalog();
  /** Blobs. */
  readonly blobs = new MemoryBlobs();
  /** Vectors. */
  readonly embedder = new HookedEmbedder();
  /** Ids of jobs that were told to be found or ended. */
  readonly settled: string[] = [];
  /** Has a say before and after each call. */
  hook: CallHook = () => {};
  /** What a restart loses. */
  index = new VectorIndex(this.embedder.width);
  /** Texts for the runner. */
  recent = new RecentPlaintexts<BlobContent>(1_000_000);
  /** How often the intake said that there is something to do. */
  accepted = 0;
  readonly #folder: string;
  readonly #random = new SeededRandom(5);
  readonly #ids = new JobIds({
    clock: { nowMs: () => this.clock.nowMs() },
    randomBytes: (length) => this.#random.bytes(length),
  });
  #store: RelayerStore;
  #vault: RelayerVault;

  /** A world in a folder. */
  constructor(folder: string) {
    this.#folder = folder;
    this.#store = this.#makeStore();
    this.#vault = this.#makeVault();
  }

  /** The store, without hooks. */
  get store(): RelayerStore {
    return this.#store;
  }

  /** The vault, without hooks. */
  get vault(): RelayerVault {
    return this.#vault;
  }

  /** Opens store and vault. */
  async start(): Promise<void> {
    await this.#store.start();
    await this.#vault.start();
  }

  /** Closes them. */
  async stop(): Promise<void> {
    await this.#store.stop();
    await this.#vault.stop();
  }

  /** The process ends and another one begins; what hangs never comes back. */
  async restart(): Promise<void> {
    await this.stop();
    this.hook = () => {};
    this.#store = this.#makeStore();
    this.#vault = this.#makeVault();
    this.index = new VectorIndex(this.embedder.width);
    this.recent = new RecentPlaintexts<BlobContent>(1_000_000);
    await this.start();
    const { store, vault, index, embedder: { width } } = this;
    const parts = { store, vault, index, wanted: { width } };
    const { signal } = new AbortController();
    const { owner } = CALLER;
    await new OwnerLoad(owner, parts).run({ pausing: NEVER_PAUSING, signal });
  }

  /** The parts, with hooks. */
  parts(): WorldParts {
    const { clock, logger, index, recent, embedder } = this;
    const hook: CallHook = (call, when) => this.hook(call, when);
    const store = hooked("store", { target: this.#store, hook });
    const waiters = new JobWaiters({ store, clock, recent });
    return {
      ...{ clock, logger, index, recent, embedder, store, waiters },
      vault: hooked("vault", { target: this.#vault, hook }),
      blobs: hooked("blobs", { target: this.blobs, hook }),
      catalog: hooked("catalog", { target: this.catalog, hook }),
      packageId: "0xee",
      onSettled: (id: string) => {
        this.settled.push(id);
        waiters.tell(id);
      },
    };
  }

  /** An intake; values of `options` take the place of the usual ones. */
  intake(options: Partial<JobIntakeOptions> = {}): JobIntake {
    const parts = this.parts();
    return new JobIntake({
      ...parts,
      usage: this.usage(),
      newId: () => this.#ids.next(),
      onAccepted: () => void this.accepted++,
      quotaBytes: 1_000_000,
      maxOpenJobs: 1_000,
      keyLifeMs: 24 * 3_600_000,
      ...options,
    });
  }

  /** What owners have. */
  usage(): StorageUsage {
    const { store } = this;
    return new StorageUsage(store, () => this.clock.nowMs());
  }

  /** Steps; values of `options` take the place of the usual ones. */
  steps(options: Partial<JobStepsOptions> = {}): JobSteps {
    return new JobSteps({ ...this.parts(), ...options });
  }

  /** A runner; values of `options` take the place of the usual ones. */
  runner(options: Partial<JobRunnerOptions> = {}): JobRunner {
    const parts = this.parts();
    return new JobRunner({
      ...parts,
      steps: new JobSteps(parts),
      storage: new StorageWatch(() => Promise.resolve(), this.logger),
      maxAttempts: 3,
      random: () => 0.5,
      ...options,
    });
  }

  /** Accepts texts, which must be taken; answers with the jobs' ids. */
  async accept(
    texts: readonly (string | NewText)[],
    options: AcceptOptions = { status: "running" },
  ): Promise<readonly string[]> {
    const outcome = await this.offer(texts, options);
    if (outcome.kind === "accepted") return outcome.jobIds;
    throw new Error(`Cannot accept texts: ${outcome.kind}`);
  }

  /** Offers texts to a usual intake. */
  offer(
    texts: readonly (string | NewText)[],
    options: AcceptOptions = { status: "running" },
  ): Promise<AcceptOutcome> {
    return this.intake().accept(CALLER, texts.map(newText), options);
  }

  /** Does all jobs that are due, once. */
  async runDue(signal = new AbortController().signal): Promise<
    readonly StepOutcome[]
  > {
    const due = await this.#store.dueJobs(this.clock.nowMs(), 1_000);
    return await this.steps().run(due, signal);
  }

  /** Deletes a memory as its route does. */
  async remove(id: string): Promise<RemovalOutcome> {
    const { store, vault, blobs, catalog, index, recent, clock } = this;
    return await removeMemory(CALLER.owner, id, {
      ...{ store, vault, blobs, catalog, index },
      blobLocks: new BlobLocks(),
      jobWatch: new JobWaiters({ store, clock, recent }),
      usage: this.usage(),
    });
  }

  /** A job, which must be there. */
  async job(id: string): Promise<JobRow> {
    const [job] = await this.#store.jobs(CALLER.owner, [id]);
    if (job === undefined) throw new Error("Cannot find job: there is none");
    return job;
  }

  /** Whether recall would find a memory. */
  isFound(id: string): boolean {
    return this.index.has(CALLER.owner, id);
  }

  /** What there is of a memory. */
  async tracesOf(id: string): Promise<readonly string[]> {
    const { owner } = CALLER;
    const [memory] = await this.#store.memories(owner, [id]);
    const [job] = await this.#store.jobs(owner, [id]);
    const traces: string[] = [];
    if (await this.#hasBlobOf(id)) traces.push("blob");
    if (this.catalog.entries.has(`${owner} ${id}`)) traces.push("entry");
    if (this.isFound(id)) traces.push("index");
    if (job?.payload !== undefined) traces.push("payload");
    if (memory !== undefined) traces.push("row");
    if (this.recent.get(id) !== undefined) traces.push("text");
    return traces;
  }

  /** Blobs whose key is there and names it, and blobs that nothing opens. */
  async #hasBlobOf(id: string): Promise<boolean> {
    for (const bytes of this.blobs.blobs.values()) {
      const opened = await this.#vault.open(CALLER.owner, bytes);
      if (opened.kind === "failed" || opened.value.id === id) return true;
    }
    return false;
  }

  #makeStore(): RelayerStore {
    const { clock, logger } = this;
    return new SqliteStore({ dataFolder: this.#folder, clock, logger });
  }

  #makeVault(): RelayerVault {
    const { clock, logger } = this;
    return new LocalVault({ dataFolder: this.#folder, clock, logger });
  }
}

/** Makes a world, has it used and removes it. */
export async function withWorld(
  use: (world: JobWorld) => Promise<void>,
): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "relayer_jobs_" });
  const world = new JobWorld(folder);
  try {
    await world.start();
    await use(world);
  } finally {
    await world.stop();
    await Deno.remove(folder, { recursive: true });
  }
}

/** The built-in embedder, which a test can stop. */
export class HookedEmbedder extends HashedEmbedder {
  /** What is answered in place of vectors. */
  answer: (
    texts: readonly string[],
    signal: AbortSignal | undefined,
  ) => EmbedOutcome | undefined | Promise<EmbedOutcome | undefined> = () =>
    undefined;
  /** How many texts each call had. */
  readonly calls: number[] = [];

  /** Narrow vectors are enough. */
  constructor() {
    super(64);
  }

  /** Vectors, or the answer of the test. */
  override async embed(
    texts: readonly string[],
    options: { readonly signal?: AbortSignal } = {},
  ): Promise<EmbedOutcome> {
    this.calls.push(texts.length);
    return await this.answer(texts, options.signal) ??
      await super.embed(texts, options);
  }
}

/** A promise that never settles. */
export function never(): Promise<never> {
  return new Promise(() => {});
}

function newText(text: string | NewText): NewText {
  return typeof text === "string" ? { text, namespace: "default" } : text;
}

function hooked<Target extends object>(
  name: string,
  { target, hook }: { readonly target: Target; readonly hook: CallHook },
): Target {
  return new Proxy(target, {
    get(_, member) {
      const value: unknown = Reflect.get(target, member, target);
      if (typeof value !== "function") return value;
      return async (...values: readonly unknown[]): Promise<unknown> => {
        const call = `${name}.${String(member)}`;
        await hook(call, "before");
        const answer: unknown = await Reflect.apply(value, target, values);
        await hook(call, "after");
        return answer;
      };
    },
  });
}
