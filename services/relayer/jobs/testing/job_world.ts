/**
 * Everything that jobs need, for tests: the real store and vault in a folder,
 * blobs and catalogue in memory, a clock that stands still, and a hook before
 * and after every call that could fail.
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
import { toVectorState, type VectorState } from "../../recall/memory_index.ts";
import type { JobRow } from "../../store/rows.ts";
import { SqliteStore } from "../../store/sqlite/sqlite_store.ts";
import { StorageWatch } from "../../store/storage_watch.ts";
import type { JobName, RelayerStore } from "../../store/store.ts";
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

/** The caller in tests. */
export const CALLER: Caller = {
  owner: `0x${"a1".repeat(32)}`,
  publicKey: "c3".repeat(32),
  accountId: `0x${"d4".repeat(32)}`,
};

/**
 * A hook that runs before and after a call, such as `blobs.put`; it may throw
 * or hang.
 */
export type CallHook = (call: string, when: "before" | "after") => unknown;

/** The parts that jobs need; all calls run the hook. */
export interface WorldParts extends JobStepsOptions {
  readonly clock: FakeClock;
  /** Requests that wait for jobs. */
  readonly waiters: JobWaiters;
}

/** What a world shares with others, as several relayers do. */
interface SharedWorld {
  /** The time. */
  readonly clock: FakeClock;
  /** The store, which is open. */
  readonly store: RelayerStore;
  /**
   * The world that has the vault, the blobs and the catalogue.
   *
   * @default this one
   */
  readonly of?: JobWorld;
}

/** A store, a vault and all other parts that jobs need. */
export class JobWorld {
  /** The time. */
  readonly clock: FakeClock;
  /** What was logged. */
  readonly logger = new RecordingLogger();
  /** The catalogue of blobs. */
  readonly catalog: MemoryCatalog;
  /** The blob store. */
  readonly blobs: MemoryBlobs;
  /** Makes vectors. */
  readonly embedder = new HookedEmbedder();
  /** Ids of jobs that were reported as found or ended. */
  readonly settled: string[] = [];
  /** Ids of jobs whose memories were stored without a vector. */
  readonly vectorsDue: string[] = [];
  /** The hook that runs before and after each call. */
  hook: CallHook = () => {};
  /** The index, which a restart loses. */
  index = new VectorIndex(this.embedder.width);
  /** The cache of texts for the runner. */
  recent: RecentPlaintexts<BlobContent>;
  /** How often the intake reported that there are jobs to do. */
  accepted = 0;
  readonly #folder: string;
  readonly #shared: SharedWorld | undefined;
  readonly #random = new SeededRandom(5);
  readonly #ids = new JobIds({
    clock: { nowMs: () => this.clock.nowMs() },
    randomBytes: (length) => this.#random.bytes(length),
  });
  #store: RelayerStore;
  #vault: RelayerVault;

  /** Makes a world whose files are in a folder, or that shares another's. */
  constructor(folder: string, shared?: SharedWorld) {
    this.#folder = folder;
    this.#shared = shared;
    this.clock = shared?.clock ?? new FakeClock(1_800_000_000_000);
    this.catalog = shared?.of?.catalog ?? new MemoryCatalog();
    this.blobs = shared?.of?.blobs ?? new MemoryBlobs();
    this.recent = this.#makeRecent();
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

  /** Closes the store and the vault. */
  async stop(): Promise<void> {
    await this.#store.stop();
    await this.#vault.stop();
  }

  /**
   * Restarts as another process would: calls that hang never return, and what
   * was only in memory is lost.
   */
  async restart(): Promise<void> {
    await this.stop();
    this.hook = () => {};
    this.#store = this.#makeStore();
    this.#vault = this.#makeVault();
    this.index = new VectorIndex(this.embedder.width);
    this.recent = this.#makeRecent();
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
    const waiters = new JobWaiters({ store, clock, recent, logger });
    return {
      ...{ clock, logger, index, recent, embedder, store, waiters },
      vault: hooked("vault", { target: this.#vault, hook }),
      blobs: hooked("blobs", { target: this.blobs, hook }),
      catalog: hooked("catalog", { target: this.catalog, hook }),
      packageId: "0xee",
      onVectorDue: ({ id }) => void this.vectorsDue.push(id),
      onSettled: (job: JobName) => {
        this.settled.push(job.id);
        waiters.tell(job);
      },
    };
  }

  /** Makes an intake; `options` replace the default parts. */
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

  /** Makes a cache of the owners' usage. */
  usage(): StorageUsage {
    const { store } = this;
    return new StorageUsage(store, () => this.clock.nowMs());
  }

  /** Makes the steps; `options` replace the default parts. */
  steps(options: Partial<JobStepsOptions> = {}): JobSteps {
    return new JobSteps({ ...this.parts(), ...options });
  }

  /** Makes a runner; `options` replace the default parts. */
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

  /**
   * Accepts texts and returns the ids of their jobs; throws when they are
   * refused.
   */
  async accept(
    texts: readonly (string | NewText)[],
    options: AcceptOptions = { status: "running" },
  ): Promise<readonly string[]> {
    const outcome = await this.offer(texts, options);
    if (outcome.kind === "accepted") return outcome.jobIds;
    throw new Error(`Cannot accept texts: ${outcome.kind}`);
  }

  /** Offers texts to an intake with default parts, and returns its outcome. */
  offer(
    texts: readonly (string | NewText)[],
    options: AcceptOptions = { status: "running" },
  ): Promise<AcceptOutcome> {
    return this.intake().accept(CALLER, texts.map(newText), options);
  }

  /** Runs the steps of all due jobs, once. */
  async runDue(signal = new AbortController().signal): Promise<
    readonly StepOutcome[]
  > {
    return await this.steps().run(await this.leaseDue(), signal);
  }

  /** Takes due jobs for a moment, so that they can be taken again. */
  leaseDue(limit = 1_000): Promise<readonly JobRow[]> {
    return this.#store.leaseJobs({
      ...{ nowMs: this.clock.nowMs(), limit, instance: "test", leaseMs: 0 },
    });
  }

  /** Deletes a memory as the API's route does. */
  async remove(id: string): Promise<RemovalOutcome> {
    const { store, vault, blobs, catalog, index, recent, clock, logger } = this;
    return await removeMemory(CALLER.owner, id, {
      ...{ store, vault, blobs, catalog, index },
      blobLocks: new BlobLocks(),
      jobWatch: new JobWaiters({ store, clock, recent, logger }),
      usage: this.usage(),
    });
  }

  /** Returns a job, which must exist. */
  async job(id: string): Promise<JobRow> {
    const [job] = await this.#store.jobs(CALLER.owner, [id]);
    if (job === undefined) throw new Error("Cannot find job: there is none");
    return job;
  }

  /** Whether recall would find a memory. */
  isFound(id: string): boolean {
    return this.index.has(CALLER.owner, id);
  }

  /** Returns what became of a memory's vector. */
  async findVectorState(id: string): Promise<VectorState | undefined> {
    const { owner } = CALLER;
    const [memory] = await this.#store.memories(owner, [id]);
    if (memory === undefined) return undefined;
    const opened = await this.#vault.openIndex(owner, memory.sealedIndex);
    return opened.kind === "ok"
      ? toVectorState(opened.value, this.embedder)
      : undefined;
  }

  /** Returns the names of the places that still hold something of a memory. */
  async findTraces(id: string): Promise<readonly string[]> {
    const { owner } = CALLER;
    const [memory] = await this.#store.memories(owner, [id]);
    const [job] = await this.#store.jobs(owner, [id]);
    const traces: string[] = [];
    if (await this.#hasBlob(id)) traces.push("blob");
    if (this.catalog.entries.has(`${owner} ${id}`)) traces.push("entry");
    if (this.isFound(id)) traces.push("index");
    if (job?.payload !== undefined) traces.push("payload");
    if (memory !== undefined) traces.push("row");
    if (this.recent.get(id) !== undefined) traces.push("text");
    return traces;
  }

  /**
   * Whether a blob of the memory exists; a blob that no key opens counts as
   * well.
   */
  async #hasBlob(id: string): Promise<boolean> {
    for (const bytes of this.blobs.blobs.values()) {
      const opened = await this.#vault.open(CALLER.owner, bytes);
      if (opened.kind === "failed" || opened.value.id === id) return true;
    }
    return false;
  }

  #makeRecent(): RecentPlaintexts<BlobContent> {
    return new RecentPlaintexts(1_000_000, this.clock);
  }

  #makeStore(): RelayerStore {
    if (this.#shared !== undefined) return this.#shared.store;
    const { clock, logger } = this;
    return new SqliteStore({ dataFolder: this.#folder, clock, logger });
  }

  #makeVault(): RelayerVault {
    if (this.#shared?.of !== undefined) return this.#shared.of.vault;
    const { clock, logger } = this;
    return new LocalVault({ dataFolder: this.#folder, clock, logger });
  }
}

/** Makes a world, passes it to a function, and removes it afterwards. */
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

/** The built-in embedder, whose answers a test can replace. */
export class HookedEmbedder extends HashedEmbedder {
  /**
   * Makes the answer in place of vectors; undefined leaves the built-in answer.
   */
  answer: (
    texts: readonly string[],
    signal: AbortSignal | undefined,
  ) => EmbedOutcome | undefined | Promise<EmbedOutcome | undefined> = () =>
    undefined;
  /** How many texts each call had. */
  readonly calls: number[] = [];

  /** Makes narrow vectors, which are enough for tests. */
  constructor() {
    super(64);
  }

  /** Returns vectors, or the test's answer. */
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
