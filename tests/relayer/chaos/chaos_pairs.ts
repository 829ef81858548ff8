/**
 * Clients of the crash test that use the SDK and go from relayer to relayer:
 * what they remember on one, another one has to recall as soon as the job is
 * done; what they delete or forget on one, no other may recall after the answer.
 *
 * @module
 */

import { Mem, MemError, RememberJobTimeout } from "../../../mod.ts";
import { pause } from "../../support/chaos/chaos_service.ts";
import type { RelayerProcess } from "../../support/relayer_process.ts";
import type { SeededRandom } from "../../support/seeded_random.ts";
import { recallAll } from "../wire_client.ts";
import type { ChaosRelayers } from "./chaos_relayers.ts";
import type { ChaosTexts } from "./chaos_texts.ts";
import type {
  KeyedRequest,
  KnownMemories,
  KnownMemory,
} from "./known_memories.ts";

/** Options of {@linkcode ChaosPairs}. */
interface ChaosPairsOptions {
  /** The relayers, and the account. */
  readonly relayers: ChaosRelayers;
  /** What is known of memories. */
  readonly known: KnownMemories;
  /** Generates the texts. */
  readonly texts: ChaosTexts;
  /** The source of random choices. */
  readonly random: SeededRandom;
}

/** An answered call, and the relayer that answered. */
interface Answer<T> {
  readonly value: T;
  readonly by: string;
}

const DELETED_SHARE = 0.25;
const FORGOTTEN = 3;
/** How long one relayer is asked whether a job is done. */
const WAIT_MS = 2_000;
const RETRY_MS = 20;
const FORGET_PAUSE_MS = 200;
/** A call that hangs is tried elsewhere: a relayer may be stalled. */
const CALL_MS = 15_000;

/** Clients that go from relayer to relayer. */
export class ChaosPairs {
  /** How many memories were remembered on one and recalled on another. */
  recalled = 0;
  /** How many of these were deleted and looked for on another. */
  deleted = 0;
  /** How many namespaces were forgotten and looked for on another. */
  forgotten = 0;
  readonly #options: ChaosPairsOptions;
  readonly #clients = new Map<string, Mem>();

  /** Takes the relayers. */
  constructor(options: ChaosPairsOptions) {
    this.#options = options;
  }

  /** Repeatedly remembers on one relayer and recalls on another. */
  async work(isOpen: () => boolean): Promise<void> {
    while (isOpen()) await this.#pair(isOpen);
  }

  /** Repeatedly fills a namespace and has it forgotten. */
  async forgetNamespaces(isOpen: () => boolean): Promise<void> {
    while (isOpen()) {
      await this.#forget(isOpen);
      await pause(this.#options.random.below(FORGET_PAUSE_MS));
    }
  }

  /** Ends the clients. */
  close(): void {
    for (const mem of this.#clients.values()) mem.destroy();
    this.#clients.clear();
  }

  async #pair(isOpen: () => boolean): Promise<void> {
    const { known, texts, random } = this.#options;
    const made = await this.#remember(texts.request(1), isOpen);
    const [memory] = made?.memories ?? [];
    if (made === undefined || memory === undefined) return;
    try {
      const looked = await this.#look(memory, made.by, isOpen);
      if (looked === undefined) return;
      this.recalled++;
      if (JSON.stringify(looked.value) !== JSON.stringify([memory.id])) {
        known.fault(
          `${memory.id} of ${made.by} was done, and ${looked.by} recalled ` +
            JSON.stringify(looked.value),
        );
      }
      if (!random.chance(DELETED_SHARE)) return;
      known.openDeletes.add(memory.id);
      const gone = await this.#delete(memory, isOpen);
      if (gone === undefined) return;
      known.openDeletes.delete(memory.id);
      memory.fate = "deleted";
      this.deleted++;
      await this.#lookInVain(memory, gone.by, isOpen);
    } finally {
      if (memory.fate === "held") {
        // A deletion without an answer is sent again after the load.
        memory.fate = known.openDeletes.has(memory.id) ? "deleting" : "kept";
      }
    }
  }

  async #forget(isOpen: () => boolean): Promise<void> {
    const { known, texts } = this.#options;
    const namespace = texts.namespace();
    const made = await this.#remember(
      texts.request(FORGOTTEN, { namespace }),
      isOpen,
    );
    if (made === undefined) return;
    const { memories } = made;
    for (const memory of memories) memory.fate = "forgetting";
    known.openForgets.add(namespace);
    const answer = await this.#call(isOpen, (mem) => mem.forget(namespace));
    if (answer === undefined) return;
    known.forget(namespace);
    this.forgotten++;
    for (const memory of memories) {
      await this.#lookInVain(memory, answer.by, isOpen);
    }
  }

  /** Remembers texts, and waits until their jobs are done. */
  async #remember(
    request: KeyedRequest,
    isOpen: () => boolean,
  ): Promise<
    | { readonly memories: readonly KnownMemory[]; readonly by: string }
    | undefined
  > {
    const { known } = this.#options;
    known.open.add(request);
    const accepted = await this.#call(isOpen, async (mem) => {
      const { key: idempotencyKey, texts } = request;
      const [only, ...others] = texts;
      if (only !== undefined && others.length === 0) {
        const { text, ...options } = only;
        const made = await mem.remember(text, { ...options, idempotencyKey });
        return [made.job_id];
      }
      return (await mem.rememberBulk([...texts], { idempotencyKey })).job_ids;
    });
    if (accepted === undefined) return undefined;
    known.accept(request, accepted.value);
    const memories = accepted.value.map((id) => known.memories.get(id)!);
    for (const memory of memories) memory.fate = "held";
    let by = accepted.by;
    for (const memory of memories) {
      const done = await this.#call(
        isOpen,
        (mem) =>
          mem.waitForRememberJob(memory.id, {
            timeoutMs: WAIT_MS,
          }),
        by,
      );
      if (done === undefined) {
        for (const one of memories) {
          if (one.fate === "held") one.fate = "kept";
        }
        return undefined;
      }
      by = done.by;
    }
    return { memories, by };
  }

  /** Recalls a memory at another relayer; returns the ids of its text. */
  async #look(
    memory: KnownMemory,
    by: string,
    isOpen: () => boolean,
  ): Promise<Answer<readonly string[]> | undefined> {
    const { text, namespace } = memory;
    return await this.#call(isOpen, async (mem) => {
      const { results } = await recallAll(() =>
        mem.recall({ query: text, namespace, limit: 5 })
      );
      return results.filter((one) => one.text === text)
        .map(({ id }) => id ?? "");
    }, this.#anotherThan(by));
  }

  async #lookInVain(
    memory: KnownMemory,
    by: string,
    isOpen: () => boolean,
  ): Promise<void> {
    const looked = await this.#look(memory, by, isOpen);
    if (looked === undefined || looked.value.length === 0) return;
    this.#options.known.fault(
      `${memory.fate} ${memory.id}, answered by ${by}, is recalled by ` +
        looked.by,
    );
  }

  async #delete(
    { id }: KnownMemory,
    isOpen: () => boolean,
  ): Promise<Answer<void> | undefined> {
    let tries = 0;
    return await this.#call(isOpen, async (mem) => {
      tries++;
      try {
        await mem.deleteMemory(id);
      } catch (error) {
        // An earlier try was done, and its answer was lost.
        const isGone = error instanceof MemError && error.status === 404;
        if (!isGone || tries === 1) throw error;
      }
    });
  }

  /**
   * Calls one relayer after the other until one answers; undefined when the load
   * ends before that. Refusals are faults.
   *
   * @param first Where it begins; without it, anywhere.
   */
  async #call<T>(
    isOpen: () => boolean,
    send: (mem: Mem) => Promise<T>,
    first?: string,
  ): Promise<Answer<T> | undefined> {
    const { relayers: { running }, known } = this.#options;
    let url = running.find((one) => one.url === first)?.url ??
      this.#choose().url;
    for (;;) {
      try {
        return { value: await send(this.#client(url)), by: url };
      } catch (error) {
        if (!isUnanswered(error)) {
          if (!(error instanceof MemError)) throw error;
          known.fault(`${url} refused: ${error}`);
          return undefined;
        }
      }
      if (!isOpen()) return undefined;
      await pause(RETRY_MS);
      url = this.#choose().url;
    }
  }

  #choose(): RelayerProcess {
    const { relayers: { service }, random } = this.#options;
    return service.choose(random);
  }

  /** A relayer other than this one, where there is another. */
  #anotherThan(url: string): string | undefined {
    const { relayers: { running }, random } = this.#options;
    const others = running.filter((one) => one.url !== url);
    return others.length === 0 ? undefined : random.pick(others).url;
  }

  #client(url: string): Mem {
    const { relayers: { account } } = this.#options;
    const there = this.#clients.get(url);
    if (there !== undefined) return there;
    const mem = Mem.create({
      key: account.key,
      accountId: account.accountId,
      serverUrl: url,
      requestTimeoutMs: CALL_MS,
    });
    this.#clients.set(url, mem);
    return mem;
  }
}

/** Whether the relayer may or may not have done what it was asked. */
function isUnanswered(error: unknown): boolean {
  return error instanceof RememberJobTimeout ||
    error instanceof MemError && [0, 503, 504].includes(error.status ?? -1);
}
