/**
 * What a client is tried against: the real relayer or the mock. Each case has a trial of
 * its own.
 *
 * @module
 */

import { assert, assertInstanceOf } from "@std/assert";
import {
  type DeletedMemory,
  Mem,
  type MemConfig,
  MemError,
  type MemoriesResult,
  type MemoryEntry,
} from "../../../mod.ts";

/** Who the relayer takes for whom. */
export interface TrialAccount {
  /** The account. */
  readonly accountId: string;
  /** Its owner. */
  readonly owner: string;
  /** The public key of the clients. */
  readonly publicKey: string;
}

/** Options of {@linkcode Trial}. */
interface TrialOptions {
  /** What clients are made with. */
  readonly config: MemConfig;
  /** Who they are. */
  readonly account: TrialAccount;
  /** The namespace that no other case has. */
  readonly namespace: string;
  /** Lets what is written from now on be newer. */
  readonly tick: () => void;
  /** Makes a client that the relayer takes nothing from for now. */
  readonly limited: () => Promise<Mem>;
  /** Is told of each method that is called. */
  readonly onCall: (method: string) => void;
}

/** A client of a relayer that is older than it is. */
interface OlderTrial {
  /** The client. */
  readonly mem: Mem;
  /** What it has sent, as text. */
  readonly bodies: readonly string[];
}

/** One case's clients. They are ended with it. */
export class Trial {
  /** Who the clients are. */
  readonly account: TrialAccount;
  /** The namespace that no other case has; that of the clients. */
  readonly namespace: string;
  readonly #options: TrialOptions;
  readonly #clients: Mem[] = [];

  /** A trial without clients. */
  constructor(options: TrialOptions) {
    this.account = options.account;
    this.namespace = options.namespace;
    this.#options = options;
  }

  /** A client. */
  mem(config: Partial<MemConfig> = {}): Mem {
    const { namespace } = this;
    return this.#keep(
      Mem.create({ ...this.#options.config, namespace, ...config }),
    );
  }

  /** A client that the relayer takes nothing from for now. */
  async limited(): Promise<Mem> {
    return this.#keep(await this.#options.limited());
  }

  /**
   * A client that takes the relayer for an older one without some features, and the
   * bodies of the requests that it sends.
   */
  older(features: readonly string[]): OlderTrial {
    const { config } = this.#options;
    const bodies: string[] = [];
    const send = config.fetch ?? fetch;
    const mem = this.mem({
      fetch: async (url, init) => {
        if (init.body instanceof Uint8Array) {
          bodies.push(new TextDecoder().decode(init.body));
        }
        const answer = await send(url, init);
        if (!url.endsWith("/version")) return answer;
        const version = Object(await answer.json());
        for (const feature of features) delete version.featureFlags[feature];
        return Response.json(version);
      },
    });
    return { mem, bodies };
  }

  /** Lets what is written from now on be newer. */
  tick(): void {
    this.#options.tick();
  }

  /** Ends the clients. */
  [Symbol.dispose](): void {
    for (const mem of this.#clients) mem.destroy();
  }

  /** Private members are not reached through a proxy, so methods get the client. */
  #keep(mem: Mem): Mem {
    this.#clients.push(mem);
    return new Proxy(mem, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name);
        if (typeof value !== "function") return value;
        this.#options.onCall(String(name));
        return value.bind(target);
      },
    });
  }
}

/** What a client must do, whatever answers it. */
export interface ConformanceCase {
  /** What it does. */
  readonly name: string;
  /** Tries it. */
  readonly run: (trial: Trial) => Promise<void>;
}

/** Cases by what they do; each gets a client of its trial. */
export function casesOf(
  runs: Readonly<
    Record<string, (mem: Mem, trial: Trial) => void | Promise<void>>
  >,
): readonly ConformanceCase[] {
  return Object.entries(runs).map(([name, run]) => ({
    name,
    run: async (trial) => await run(trial.mem(), trial),
  }));
}

/** All that changed in a namespace after a cursor, or ever, page by page. */
export async function listedSince(
  mem: Mem,
  { namespace, cursor, limit = 500 }: ListingOptions,
): Promise<Pick<MemoriesResult, "memories" | "deleted" | "next_cursor">> {
  const memories: MemoryEntry[] = [];
  const deleted: DeletedMemory[] = [];
  for (let at = cursor;;) {
    const page = await mem.listMemories({ cursor: at, limit, namespace });
    memories.push(...page.memories);
    deleted.push(...page.deleted);
    at = page.next_cursor ?? undefined;
    if (!page.has_more) return { ...page, memories, deleted };
  }
}

/** Options of {@linkcode listedSince}. */
interface ListingOptions {
  readonly namespace: string;
  readonly cursor?: string | undefined;
  readonly limit?: number;
}

/** The error of the relayer that a call ends with. */
export async function refusalOf(call: Promise<unknown>): Promise<MemError> {
  const end = await call.then((value) => ({ value }), (error) => ({ error }));
  assert("error" in end, `it was not refused: ${JSON.stringify(end)}`);
  assertInstanceOf(end.error, MemError);
  return end.error;
}

/** The statuses that calls are refused with. */
export async function statusesOf(
  calls: readonly Promise<unknown>[],
): Promise<readonly (number | undefined)[]> {
  const refusals = await Promise.all(calls.map(refusalOf));
  return refusals.map(({ status }) => status);
}
