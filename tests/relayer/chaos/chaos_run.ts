/**
 * Kills the relayer in the middle of load, again and again, and looks each time
 * whether what it had answered still holds.
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
  idsOf,
  pause,
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

/** How the relayer is treated. */
export interface ChaosOptions {
  /** How often it is killed. */
  readonly kills: number;
  /** What chance begins with. */
  readonly seed: number;
  /**
   * Hears how it goes.
   *
   * @default nobody
   */
  readonly tell?: (line: string) => void;
}

/** What came of it. */
export interface ChaosOutcome {
  /** Memories that were accepted. */
  readonly memories: number;
  /** Of these, how many were deleted. */
  readonly deleted: number;
  /** Of these, how many were superseded. */
  readonly superseded: number;
  /** Requests that had no answer, and were sent again. */
  readonly resent: number;
  /** What was against the promises; empty when all is well. */
  readonly faults: readonly string[];
}

const SINGLES = 4;
const MIN_LOAD_MS = 150;
const LOAD_RANGE_MS = 900;
/** How often it is killed when a memory was stored a moment ago. */
const UPLOADED_SHARE = 0.5;
/** How often it is killed once more while it takes up its work again. */
const SECOND_KILL_SHARE = 0.3;
const SECOND_KILL_RANGE_MS = 60;
const OLD_MEMORIES = 40;
const REPLAYS = 20;
const RESEND_MS = 10_000;
const MAX_FAULTS = 50;

/** Runs it. */
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

  /** Load, a crash in the middle of it, and a look at what is left. */
  async round(): Promise<void> {
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
    await pause(MIN_LOAD_MS + this.#random.below(LOAD_RANGE_MS));
    if (this.#random.chance(UPLOADED_SHARE)) await this.#waitForUpload();
    isOpen = await this.#kill();
    // Whatever was under way fails, and nobody knows what became of it.
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
    await verifyRecall(this.#context, this.#someOf(all));
    const { memories, deleted, superseded } = this.outcome;
    this.#options.tell?.(
      `kill ${known.round}: ${memories} memories, ${deleted} deleted, ` +
        `${superseded} superseded, ${known.faults.length} faults`,
    );
  }

  /** Looks at everything, on disk as well, and once more with a new index. */
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
    await verifyRecall(this.#context, this.#someOf(all));
    await this.#stop();
    await this.#verifyFiles(blobIds);
  }

  get #context(): Parameters<typeof verifyListing>[0] {
    const { owner } = this.#home.account();
    return { client: this.#client, owner, known: this.#known };
  }

  /** Until the latest memory is found by recall, and its job not yet done. */
  async #waitForUpload(): Promise<void> {
    const latest = [...this.#known.memories.keys()].at(-1);
    if (latest === undefined) return;
    // The load goes on meanwhile, and what it makes is looked at after each kill.
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

  /** Sends again whatever had no answer. */
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
      // It was chosen, and the relayer died before the request was made.
      if (memory.fate === "replacing") memory.fate = "kept";
    }
  }

  /** Sends again what was answered: the answer is the same. */
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
      const again = idsOf(
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

  /** Blobs of deleted memories are gone, and nothing can be read. */
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

  /** What was accepted lately, and some of what came before. */
  #someOf(all: readonly KnownMemory[]): readonly KnownMemory[] {
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
