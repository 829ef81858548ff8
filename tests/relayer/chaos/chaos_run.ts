/**
 * The crash test of the relayer: repeatedly kills it under load, and checks
 * each time whether everything that it had acknowledged still holds.
 *
 * @module
 */

import { SeededRandom } from "../../support/seeded_random.ts";
import { blobFiles } from "../blob_files.ts";
import { readableTraces } from "../readable_traces.ts";
import { RelayerHome } from "../relayer_home.ts";
import { restoreAll } from "../restore_all.ts";
import type { WireClient } from "../wire_client.ts";
import {
  type ChaosWorld,
  deleteSome,
  pause,
  readIds,
  rememberBulks,
  rememberSingles,
  replaceSome,
  sendDelete,
  sendKeyed,
} from "./chaos_load.ts";
import { ChaosTexts } from "./chaos_texts.ts";
import {
  type Fate,
  type KeyedRequest,
  KnownMemories,
  type KnownMemory,
} from "./known_memories.ts";
import { verifyJobs, verifyListing, verifyRecall } from "./verify_memories.ts";

/** Options of a crash test. */
export interface ChaosOptions {
  /** Number of kills. */
  readonly kills: number;
  /** The seed of all random choices. */
  readonly seed: number;
  /**
   * The longest that load lasts before a kill, in milliseconds.
   *
   * @default {1_050}
   */
  readonly maxLoadMs?: number;
  /**
   * Receives lines about the progress.
   *
   * @default progress is not reported
   */
  readonly tell?: (line: string) => void;
}

/** The result of a crash test. */
export interface ChaosOutcome {
  /** Number of memories that were accepted. */
  readonly memories: number;
  /** Number of these that were deleted. */
  readonly deleted: number;
  /** Number of these that were superseded. */
  readonly superseded: number;
  /** Number of requests that got no response and were sent again. */
  readonly resent: number;
  /** Violations of the relayer's promises; empty when the test passed. */
  readonly faults: readonly string[];
}

const SINGLES = 4;
const MIN_LOAD_MS = 150;
const MAX_LOAD_MS = 1_050;
/**
 * Load before a kill makes at least this many memories, enough for a second kill
 * during the restart.
 */
const MIN_LOAD = 50;
/** The share of kills that happen just after a memory was stored. */
const UPLOADED_SHARE = 0.5;
/**
 * The share of restarts after which the relayer is killed again while it
 * resumes its work.
 */
const SECOND_KILL_SHARE = 0.3;
const SECOND_KILL_RANGE_MS = 60;
const OLD_MEMORIES = 40;
const REPLAYS = 20;
const RESEND_MS = 10_000;
/** The longest that a busy machine may take for the load, in milliseconds. */
const LONGEST_MS = 20_000;
const MAX_FAULTS = 50;

/** Runs the crash test in a new data folder. */
export async function runChaos(options: ChaosOptions): Promise<ChaosOutcome> {
  await using home = await RelayerHome.open();
  const run = new ChaosRun(home, options);
  while (run.isGoingOn) await run.round();
  await run.end();
  return run.outcome;
}

class ChaosRun {
  readonly #home: RelayerHome;
  readonly #options: ChaosOptions;
  readonly #random: SeededRandom;
  readonly #known = new KnownMemories();
  readonly #texts: ChaosTexts;
  readonly #client: WireClient;
  #resent = 0;

  constructor(home: RelayerHome, options: ChaosOptions) {
    this.#home = home;
    this.#options = options;
    this.#random = new SeededRandom(options.seed);
    this.#texts = new ChaosTexts(this.#random, this.#known);
    this.#client = home.wire();
  }

  get isGoingOn(): boolean {
    const { round, faults } = this.#known;
    return round < this.#options.kills && faults.length < MAX_FAULTS;
  }

  get outcome(): ChaosOutcome {
    const { memories, faults } = this.#known;
    const count = (fate: Fate) =>
      [...memories.values()].filter((memory) => memory.fate === fate).length;
    return {
      memories: memories.size,
      deleted: count("deleted"),
      superseded: count("superseded"),
      resent: this.#resent,
      faults,
    };
  }

  /**
   * Sends load, kills the relayer in the middle of it, restarts it and checks
   * the memories.
   */
  async round(): Promise<void> {
    const { maxLoadMs = MAX_LOAD_MS } = this.#options;
    const rangeMs = maxLoadMs - MIN_LOAD_MS;
    const known = this.#known;
    let isOpen = true;
    const world: ChaosWorld = {
      client: this.#client,
      known,
      texts: this.#texts,
      random: this.#random,
      isOpen: () => isOpen,
    };
    const clients = Promise.all([
      ...Array.from({ length: SINGLES }, () => rememberSingles(world)),
      rememberBulks(world),
      deleteSome(world),
      replaceSome(world),
      replaceSome(world),
    ]);
    await this.#loadFor(MIN_LOAD_MS + this.#random.below(rangeMs));
    if (this.#random.chance(UPLOADED_SHARE)) await this.#waitForUpload();
    isOpen = await this.#kill();
    // All requests under way fail, and their outcome is unknown.
    await clients;
    await this.#home.start();
    if (this.isGoingOn && this.#random.chance(SECOND_KILL_SHARE)) {
      await pause(this.#random.below(SECOND_KILL_RANGE_MS));
      await this.#kill();
      await this.#home.start();
    }
    await this.#resend();
    const all = [...known.memories.values()];
    await verifyJobs(this.#context, all.filter((one) => !one.isSettled));
    await verifyListing(this.#context);
    await this.#replay(known.answered.slice(-REPLAYS));
    await verifyRecall(this.#context, this.#pickMemories(all));
    const { memories, deleted, superseded } = this.outcome;
    this.#options.tell?.(
      `kill ${known.round}: ${memories} memories, ${deleted} deleted, ` +
        `${superseded} superseded, ${known.faults.length} faults`,
    );
  }

  /**
   * Checks all memories and the files on disk, then removes the database,
   * restores everything from the blobs, and checks again.
   */
  async end(): Promise<void> {
    const { tell } = this.#options;
    const known = this.#known;
    const all = [...known.memories.values()];
    tell?.(`looking at all ${all.length} memories`);
    await verifyJobs(this.#context, all);
    const blobIds = await verifyListing(this.#context);
    await verifyRecall(this.#context, all);
    tell?.("sending everything again");
    await this.#replay(known.answered);
    await this.#stop();
    tell?.("searching the files");
    await this.#verifyFiles(blobIds);
    for (const suffix of ["", "-wal", "-shm"]) {
      await removeFile(`${this.#home.dataDir}/relayer.db${suffix}`);
    }
    tell?.("restoring everything");
    await this.#home.start();
    const mem = this.#home.mem();
    for (const namespace of new Set(all.map((memory) => memory.namespace))) {
      const { failed } = await restoreAll(mem, namespace, 100);
      if (failed > 0) {
        known.fault(`${failed} of ${namespace} cannot be restored`);
      }
    }
    await verifyListing(this.#context);
    await verifyRecall(this.#context, this.#pickMemories(all));
    await this.#stop();
    await this.#verifyFiles(blobIds);
  }

  get #context(): Parameters<typeof verifyListing>[0] {
    const { owner } = this.#home.account();
    return { client: this.#client, owner, known: this.#known };
  }

  /** Waits while the load goes on; longer on a machine that is busy. */
  async #loadFor(ms: number): Promise<void> {
    const before = this.#known.memories.size;
    const endMs = performance.now() + LONGEST_MS;
    await pause(ms);
    while (
      this.#known.memories.size < before + MIN_LOAD && performance.now() < endMs
    ) await pause(20);
  }

  /**
   * Waits until the latest memory can be recalled but its job is not done yet,
   * or for at most a second.
   */
  async #waitForUpload(): Promise<void> {
    const latest = [...this.#known.memories.keys()].at(-1);
    if (latest === undefined) return;
    // The load goes on meanwhile; its memories are checked after each kill.
    await this.#client.call("GET", `/api/remember/${latest}?wait=1`);
  }

  async #kill(): Promise<false> {
    await this.#home.service.kill();
    this.#known.round++;
    return false;
  }

  async #stop(): Promise<void> {
    const code = await this.#home.stop();
    if (code !== 0) this.#known.fault(`the relayer ended with ${code}`);
  }

  /** Sends all requests again that got no response. */
  async #resend(): Promise<void> {
    const known = this.#known;
    const world = { client: this.#client, known };
    const endMs = performance.now() + RESEND_MS;
    this.#resent += known.open.size + known.openDeletes.size;
    while (known.open.size + known.openDeletes.size > 0) {
      for (const request of known.open) await sendKeyed(world, request);
      for (const id of known.openDeletes) {
        const memory = known.memories.get(id);
        if (memory !== undefined) await sendDelete(world, memory);
      }
      if (performance.now() > endMs) {
        throw this.#home.service.failure("it does not answer after a crash");
      }
    }
    for (const memory of known.memories.values()) {
      // The memory was chosen to be superseded, and the relayer ended before
      // the request was sent.
      if (memory.fate === "replacing") memory.fate = "kept";
    }
  }

  /**
   * Sends requests again that were answered, and checks that the response is
   * the same.
   */
  async #replay(
    answered: readonly {
      readonly request: KeyedRequest;
      readonly ids: readonly string[];
    }[],
  ): Promise<void> {
    for (const { request: { key, texts }, ids } of answered) {
      const [path, body] = texts.length === 1
        ? ["/api/remember", texts[0]] as const
        : ["/api/remember/bulk", { items: texts }] as const;
      const again = readIds(
        await this.#client.expect(202, ["POST", path, {
          ...body,
          idempotency_key: key,
        }]),
      );
      if (again.join() !== ids.join()) {
        this.#known.fault(`${key} stood for ${ids} and stands for ${again}`);
      }
    }
  }

  /**
   * Checks that exactly the blobs of existing memories are left, and that no
   * secret can be read in any file.
   */
  async #verifyFiles(blobIds: readonly string[]): Promise<void> {
    const { dataDir } = this.#home;
    const known = new Set(blobIds);
    const files = await blobFiles(dataDir);
    for (const [id, path] of files) {
      if (!known.has(id)) this.#known.fault(`a blob is left: ${path}`);
    }
    for (const id of known) {
      if (!files.has(id)) this.#known.fault(`blob ${id} is lost`);
    }
    const traces = await readableTraces(dataDir, this.#known.secrets);
    for (const { path, secret, form } of traces) {
      this.#known.fault(`"${secret}" can be read in ${path} as ${form}`);
    }
  }

  /**
   * Returns the memories of the last rounds and a random selection of older
   * ones.
   */
  #pickMemories(all: readonly KnownMemory[]): readonly KnownMemory[] {
    const { round } = this.#known;
    const late = all.filter((memory) => memory.round >= round - 1);
    const old = Array.from(
      { length: OLD_MEMORIES },
      () => this.#random.pick(all),
    );
    return [...late.slice(-2 * OLD_MEMORIES), ...old];
  }
}

async function removeFile(path: string): Promise<void> {
  try {
    await Deno.remove(path);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}
