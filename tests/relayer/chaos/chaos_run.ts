/**
 * The crash test of the relayer: repeatedly harms relayers under load, and
 * checks each time whether everything that they had acknowledged still holds.
 *
 * @module
 */

import { Mem } from "../../../mod.ts";
import { LEFT_BLOB_MS } from "../../../services/relayer/jobs/left_blobs.ts";
import { loadFor, pause } from "../../support/chaos/chaos_service.ts";
import { SeededRandom } from "../../support/seeded_random.ts";
import { restoreAll } from "../restore_all.ts";
import { WireClient } from "../wire_client.ts";
import {
  type ChaosWorld,
  deleteSome,
  readIds,
  rememberBulks,
  rememberSingles,
  replaceSome,
  sendDelete,
  sendForget,
  sendKeyed,
} from "./chaos_load.ts";
import { ChaosPairs } from "./chaos_pairs.ts";
import type { ChaosRelayers } from "./chaos_relayers.ts";
import { ChaosTexts } from "./chaos_texts.ts";
import {
  type Fate,
  type KeyedRequest,
  KnownMemories,
  type KnownMemory,
} from "./known_memories.ts";
import {
  forAll,
  listBlobs,
  verifyJobs,
  verifyListing,
  verifyRecall,
} from "./verify_memories.ts";

/** Options of a crash test. */
export interface ChaosOptions {
  /** The relayers. */
  readonly relayers: ChaosRelayers;
  /** Number of times that they are harmed. */
  readonly kills: number;
  /** The seed of all random choices. */
  readonly seed: number;
  /**
   * How many memories are remembered on one relayer and recalled on another, at
   * least; the load lasts so long.
   *
   * @default {0}
   */
  readonly pairs?: number;
  /**
   * The longest that load lasts before and after each harm otherwise, in
   * milliseconds.
   *
   * @default {1_050}
   */
  readonly maxLoadMs?: number;
  /**
   * Whether all requests are sent again at the end, and everything is restored
   * from the blobs.
   *
   * @default {true}
   */
  readonly restores?: boolean;
  /**
   * Receives lines about the progress.
   *
   * @default progress is not reported
   */
  readonly tell?: (line: string) => void;
}

/** The result of a crash test. */
export interface ChaosOutcome {
  /** How often each harm was done. */
  readonly harms: Readonly<Record<string, number>>;
  /** Number of memories that were accepted. */
  readonly memories: number;
  /** Number of these that were deleted. */
  readonly deleted: number;
  /** Number of these that were superseded. */
  readonly superseded: number;
  /** Number of these that were forgotten with their namespace. */
  readonly forgotten: number;
  /** Number of memories that were remembered here and recalled elsewhere. */
  readonly pairs: number;
  /** Number of these that were deleted here and looked for elsewhere. */
  readonly deletedPairs: number;
  /** Number of requests that got no response and were sent again. */
  readonly resent: number;
  /**
   * Number of blobs of deleted memories that were left for the sweep: a relayer
   * has put them after the deletion, and died before it noticed.
   */
  readonly leftBlobs: number;
  /** Violations of the relayer's promises; empty when the test passed. */
  readonly faults: readonly string[];
}

const SINGLES = 4;
const PAIRS = 4;
const MIN_LOAD_MS = 150;
const MAX_LOAD_MS = 1_050;
/**
 * Load before a kill makes at least this many memories, enough for a second kill
 * during the restart.
 */
const MIN_LOAD = 50;
/** The share of kills that happen just after a memory was stored. */
const UPLOADED_SHARE = 0.5;
const OLD_MEMORIES = 40;
const REPLAYS = 20;
const RESEND_MS = 10_000;
/** The longest until a job of a dead relayer is done elsewhere. */
const TAKEN_OVER_MS = 60_000;
const PAIRS_LOOK_MS = 50;
/** The longest until a blob is removed that a deletion has left: two sweeps. */
const SWEEP_MS = LEFT_BLOB_MS + 130_000;
const SWEEP_LOOK_MS = 5_000;
const MAX_FAULTS = 50;
const FIRST_SECRETS = 100;
const MOST_SECRETS = 400;

/** Runs the crash test, and ends the relayers. */
export async function runChaos(options: ChaosOptions): Promise<ChaosOutcome> {
  await using _relayers = options.relayers;
  const run = new ChaosRun(options);
  try {
    while (run.isGoingOn) await run.round();
    await run.end();
    return run.outcome;
  } finally {
    run.close();
  }
}

class ChaosRun {
  readonly #options: ChaosOptions;
  readonly #random: SeededRandom;
  readonly #known = new KnownMemories();
  readonly #texts: ChaosTexts;
  readonly #client: WireClient;
  readonly #pairs: ChaosPairs;
  readonly #harms: Record<string, number> = {};
  #resent = 0;
  #leftBlobs = 0;
  /** The blobs of memories that showed whether writes pass. */
  #probes: readonly string[] = [];

  constructor(options: ChaosOptions) {
    const { relayers, seed } = options;
    this.#options = options;
    this.#random = new SeededRandom(seed);
    this.#texts = new ChaosTexts(this.#random, this.#known);
    this.#client = new WireClient(
      () => relayers.service.choose(this.#random).url,
      relayers.account,
    );
    this.#pairs = new ChaosPairs({
      ...{ relayers, known: this.#known, texts: this.#texts },
      random: this.#random,
    });
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
      harms: this.#harms,
      memories: memories.size,
      deleted: count("deleted"),
      superseded: count("superseded"),
      forgotten: count("forgotten"),
      pairs: this.#pairs.recalled,
      deletedPairs: this.#pairs.deleted,
      resent: this.#resent,
      leftBlobs: this.#leftBlobs,
      faults,
    };
  }

  /**
   * Sends load, harms the relayers in the middle of it, makes them whole again
   * and checks the memories.
   */
  async round(): Promise<void> {
    const { relayers: { service }, maxLoadMs = MAX_LOAD_MS } = this.#options;
    const rangeMs = Math.max(1, maxLoadMs - MIN_LOAD_MS);
    const known = this.#known;
    let isOpen = true;
    const clients = Promise.all(this.#clients(() => isOpen));
    await this.#loadFor(MIN_LOAD_MS + this.#random.below(rangeMs));
    if (this.#random.chance(UPLOADED_SHARE)) await this.#waitForUpload();
    const harm = await service.strike(this.#random);
    if (service.outlivesStrikes) {
      await this.#loadFor(MIN_LOAD_MS + this.#random.below(rangeMs));
      await this.#waitForPairs();
    }
    isOpen = false;
    // Requests to a relayer that was killed fail, and their outcome is unknown.
    await clients;
    known.round++;
    this.#harms[harm] = (this.#harms[harm] ?? 0) + 1;
    await service.heal(this.#random);
    await this.#resend();
    const all = [...known.memories.values()];
    await verifyJobs(this.#context, all.filter((one) => !one.isSettled));
    await verifyListing(this.#context);
    await this.#replay(known.answered.slice(-REPLAYS));
    await verifyRecall(this.#context, this.#pickMemories(all));
    const { memories, deleted, superseded, pairs } = this.outcome;
    this.#options.tell?.(
      `${known.round}, ${harm}: ${memories} memories, ${deleted} deleted, ` +
        `${superseded} superseded, ${pairs} pairs, ${known.faults.length} faults`,
    );
  }

  /** Ends the clients. */
  close(): void {
    this.#pairs.close();
  }

  #clients(isOpen: () => boolean): readonly Promise<void>[] {
    const world: ChaosWorld = {
      client: this.#client,
      known: this.#known,
      texts: this.#texts,
      random: this.#random,
      isOpen,
    };
    return [
      ...Array.from({ length: SINGLES }, () => rememberSingles(world)),
      rememberBulks(world),
      deleteSome(world),
      replaceSome(world),
      replaceSome(world),
      ...Array.from({ length: PAIRS }, () => this.#pairs.work(isOpen)),
      this.#pairs.forgetNamespaces(isOpen),
    ];
  }

  /**
   * Checks all memories and what was written, then loses the rows, restores
   * everything from the blobs, and checks again.
   */
  async end(): Promise<void> {
    const { relayers, restores = true, tell } = this.#options;
    const known = this.#known;
    const all = [...known.memories.values()];
    const context = { ...this.#context, tell };
    tell?.(`looking at all ${all.length} memories`);
    await verifyJobs(context, all);
    tell?.("listing all");
    const blobIds = await verifyListing(context);
    tell?.("recalling all");
    await verifyRecall(context, all);
    if (restores) {
      tell?.("sending everything again");
      await this.#replay(known.answered, tell);
    }
    await this.#listProbes();
    await this.#waitForSweep(blobIds);
    await this.#halt();
    tell?.("searching what was written");
    await this.#verifyWritten(blobIds);
    if (!restores) return;
    await relayers.storage.loseRows();
    tell?.("restoring everything");
    await relayers.service.heal(this.#random);
    await this.#restore();
    const restored = await verifyListing(this.#context);
    await verifyRecall(this.#context, this.#pickMemories(all));
    await this.#halt();
    await this.#verifyWritten(restored);
  }

  get #context(): Parameters<typeof verifyListing>[0] {
    const { relayers: { account, service } } = this.#options;
    return {
      ...{ client: this.#client, owner: account.owner, known: this.#known },
      ...(service.outlivesStrikes ? { settleMs: TAKEN_OVER_MS } : {}),
    };
  }

  #loadFor(ms: number): Promise<void> {
    const made = () => this.#known.memories.size;
    return loadFor({ ms, made, least: MIN_LOAD });
  }

  /** Waits until the share of the pairs that this round has is there. */
  async #waitForPairs(): Promise<void> {
    const { pairs = 0, kills } = this.#options;
    const { round, faults } = this.#known;
    const wanted = Math.ceil(pairs * (round + 1) / kills);
    const isEnough = () =>
      this.#pairs.recalled >= wanted || faults.length >= MAX_FAULTS;
    while (!isEnough()) await pause(PAIRS_LOOK_MS);
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

  async #halt(): Promise<void> {
    for (const fault of await this.#options.relayers.halt()) {
      this.#known.fault(fault);
    }
  }

  /** Restores all namespaces, those that were forgotten as well. */
  async #restore(): Promise<void> {
    const { relayers: { account, service } } = this.#options;
    const { memories } = this.#known;
    const mem = Mem.create({
      ...{ key: account.key, accountId: account.accountId },
      serverUrl: service.choose(this.#random).url,
    });
    const namespaces = new Set(
      [...memories.values()].map(({ namespace }) => namespace),
    );
    await forAll([...namespaces], {
      ...{ what: "restored namespaces", tell: this.#options.tell },
      work: async (namespace) => {
        const { failed } = await restoreAll(mem, namespace, 100);
        if (failed === 0) return;
        this.#known.fault(`${failed} of ${namespace} cannot be restored`);
      },
    });
    mem.destroy();
    for (const memory of memories.values()) {
      if (memory.fate === "forgotten") memory.fate = "kept";
    }
  }

  /** Sends all requests again that got no response. */
  async #resend(): Promise<void> {
    const known = this.#known;
    const world = { client: this.#client, known };
    const endMs = performance.now() + RESEND_MS;
    const left = () =>
      known.open.size + known.openDeletes.size + known.openForgets.size;
    this.#resent += left();
    while (left() > 0) {
      for (const request of known.open) await sendKeyed(world, request);
      for (const id of known.openDeletes) {
        const memory = known.memories.get(id);
        if (memory !== undefined) await sendDelete(world, memory);
      }
      for (const namespace of known.openForgets) {
        await sendForget(world, namespace);
      }
      if (performance.now() > endMs) {
        throw this.#options.relayers.service.choose(this.#random)
          .failure("it does not answer after a crash");
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
    tell?: (line: string) => void,
  ): Promise<void> {
    await forAll(answered, {
      ...{ what: "sent again", tell },
      work: async ({ request: { key, texts }, ids }) => {
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
      },
    });
  }

  /** The blobs that must be there, of those that are listed and forgotten. */
  #expectedBlobs(listed: readonly string[]): ReadonlySet<string> {
    const expected = new Set([...listed, ...this.#probes]);
    for (const { fate, blobId } of this.#known.memories.values()) {
      if (fate === "forgotten" && blobId !== undefined) expected.add(blobId);
    }
    return expected;
  }

  async #listProbes(): Promise<void> {
    const { relayers: { prober, service } } = this.#options;
    if (prober === undefined) return;
    const url = () => service.choose(this.#random).url;
    this.#probes = await listBlobs({
      client: new WireClient(url, prober),
      owner: prober.owner,
    });
  }

  /** Waits until relayers have removed the blobs that deletions have left. */
  async #waitForSweep(listed: readonly string[]): Promise<void> {
    const { relayers: { storage }, tell } = this.#options;
    const expected = this.#expectedBlobs(listed);
    const endMs = performance.now() + SWEEP_MS;
    for (let isFirst = true;; isFirst = false) {
      const left = new Set(await storage.blobIds()).difference(expected);
      if (isFirst) this.#leftBlobs = left.size;
      if (left.size === 0 || performance.now() > endMs) return;
      if (isFirst) tell?.(`waiting for the sweep of ${left.size} blobs`);
      await pause(SWEEP_LOOK_MS);
    }
  }

  /**
   * Checks that exactly the blobs of existing memories are left, and that no
   * secret can be read in anything that was written.
   */
  async #verifyWritten(listed: readonly string[]): Promise<void> {
    const { storage } = this.#options.relayers;
    const expected = this.#expectedBlobs(listed);
    const there = new Set(await storage.blobIds());
    for (const id of there.difference(expected)) {
      this.#known.fault(`blob ${id} is left`);
    }
    for (const id of expected.difference(there)) {
      this.#known.fault(`blob ${id} is lost`);
    }
    const traces = await storage.traces(sample(this.#known.secrets));
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

/**
 * The first of some secrets, among them the words that all texts are made of,
 * and some from everywhere else: a search for all would take very long.
 */
function sample(secrets: readonly string[]): readonly string[] {
  const all = [...new Set(secrets)];
  const step = Math.ceil(all.length / MOST_SECRETS);
  return all.filter((_, at) => at < FIRST_SECRETS || at % step === 0);
}
