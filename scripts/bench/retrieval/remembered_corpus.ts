/**
 * Gives a corpus to a relayer process and asks the questions over HTTP, as an
 * application does.
 *
 * @module
 */

import { Mem, type Ranking } from "../../../mod.ts";
import {
  type BenchRelayer,
  startBenchRelayer,
} from "../relayer/bench_relayer.ts";
import type { CorpusMemory, CorpusNamespace } from "./corpus.ts";
import type { MeasuredRetrieval } from "./measure_retrieval.ts";
import { CUTS, type Found } from "./retrieval_score.ts";

/** Number of texts in one request. */
const BULK = 20;
/** Longest wait until the memories of a request are stored, in milliseconds. */
const STORED_LIMIT_MS = 120_000;
const MOST = Math.max(...CUTS);

/**
 * A relayer process on a data folder of its own, and the memories that it was
 * given.
 */
export class RememberedCorpus implements AsyncDisposable {
  readonly #namespaces: readonly CorpusNamespace[];
  readonly #dataDir: string;
  readonly #relayer: BenchRelayer;
  readonly #mem: Mem;
  /**
   * The id of each memory in the corpus, by the id that the relayer gave it.
   */
  readonly #idOf = new Map<string, string>();
  #memoriesPerSecond = 0;

  private constructor(
    namespaces: readonly CorpusNamespace[],
    { dataDir, relayer }: {
      readonly dataDir: string;
      readonly relayer: BenchRelayer;
    },
  ) {
    this.#namespaces = namespaces;
    this.#dataDir = dataDir;
    this.#relayer = relayer;
    const { url: serverUrl, key, accountId } = relayer;
    this.#mem = Mem.create({ serverUrl, key, accountId });
  }

  /**
   * Starts the process and remembers all memories in their order, each
   * namespace separately.
   *
   * @param options.env Settings of the process beside the usual ones.
   * @throws {Error} When a memory is not stored.
   */
  static async open(
    namespaces: readonly CorpusNamespace[],
    { env = {} }: { readonly env?: Readonly<Record<string, string>> } = {},
  ): Promise<RememberedCorpus> {
    const dataDir = await Deno.makeTempDir({ prefix: "retrieval_bench_" });
    await using rest = new AsyncDisposableStack();
    rest.defer(() => Deno.remove(dataDir, { recursive: true }));
    const relayer = await startBenchRelayer(dataDir, { env });
    const corpus = new RememberedCorpus(namespaces, { dataDir, relayer });
    // From here on the corpus object stops the relayer and removes the folder.
    rest.move();
    try {
      await corpus.#fill();
      return corpus;
    } catch (error) {
      await corpus[Symbol.asyncDispose]();
      throw error;
    }
  }

  /**
   * Asks all questions, one after the other.
   *
   * @throws {Error} When a result contains a memory that the relayer was not
   * given.
   */
  async ask(ranking: Ranking): Promise<MeasuredRetrieval> {
    const found: Found[] = [];
    const latencies: number[] = [];
    for (const [at, { name, questions }] of this.#namespaces.entries()) {
      const namespace = namespaceOf(at);
      for (const { text: query, category, gold } of questions) {
        const askedMs = performance.now();
        const { results } = await this.#mem.recall({
          ...{ query, namespace, ranking, limit: MOST },
        });
        latencies.push(performance.now() - askedMs);
        const ranked = results.map(({ id = "" }) => {
          const known = this.#idOf.get(id);
          if (known !== undefined) return known;
          throw new Error(
            `Cannot measure: recall gave a memory "${id}" that was never given`,
          );
        });
        found.push({ namespace: name, category, gold, ranked });
      }
    }
    return {
      found,
      latenciesMs: Float64Array.from(latencies).sort(),
      memoriesPerSecond: this.#memoriesPerSecond,
    };
  }

  /** Stops the process and removes its data folder. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#mem.destroy();
    await this.#relayer[Symbol.asyncDispose]();
    await Deno.remove(this.#dataDir, { recursive: true });
  }

  async #fill(): Promise<void> {
    const beginMs = performance.now();
    for (const [at, { memories }] of this.#namespaces.entries()) {
      for (let from = 0; from < memories.length; from += BULK) {
        await this.#remember(
          namespaceOf(at),
          memories.slice(from, from + BULK),
        );
      }
    }
    const tookMs = Math.max(1, performance.now() - beginMs);
    this.#memoriesPerSecond = this.#idOf.size / tookMs * 1_000;
  }

  async #remember(
    namespace: string,
    memories: readonly CorpusMemory[],
  ): Promise<void> {
    const { results } = await this.#mem.rememberBulkAndWait(
      memories.map(({ text }) => ({ text, namespace })),
      { timeoutMs: STORED_LIMIT_MS },
    );
    for (const [at, { id, status, error }] of results.entries()) {
      const memory = memories[at];
      if (memory === undefined || status !== "done") {
        throw new Error(
          `Cannot measure: a memory is not stored but "${status}"` +
            (error === undefined ? "" : `: ${error}`),
        );
      }
      this.#idOf.set(id, memory.id);
    }
  }
}

/**
 * The namespace at the relayer: corpus names may contain characters that
 * namespaces cannot.
 */
function namespaceOf(at: number): string {
  return `corpus-${at + 1}`;
}
