/**
 * The clients that a conformance case runs with, against the real relayer or
 * the mock. Each case has a trial of its own.
 *
 * @module
 */

import { assert, assertInstanceOf } from "@std/assert";
import {
  type AccessTokenOptions,
  createAccessToken,
} from "../../../sdk/account.ts";
import {
  type DeletedMemory,
  Mem,
  type MemConfig,
  MemError,
  type MemoriesResult,
  type MemoryEntry,
} from "../../../mod.ts";

/** The account that the clients of a trial sign in with. */
export interface TrialAccount {
  /** The id of the account. */
  readonly accountId: string;
  /** The address of the account's owner. */
  readonly owner: string;
  /** The public key of the delegate that signs the clients' requests. */
  readonly publicKey: string;
}

/** Options of {@linkcode Trial}. */
interface TrialOptions {
  /** The configuration of the clients. */
  readonly config: MemConfig;
  /** The account of the clients. */
  readonly account: TrialAccount;
  /** A namespace that no other case uses. */
  readonly namespace: string;
  /** Moves the time on, so that what is written next is newer. */
  readonly tick: () => void;
  /**
   * Creates a client whose requests the relayer refuses for now by its rate
   * limit.
   */
  readonly limited: () => Promise<Mem>;
  /** Is called with the name of each method that a case calls. */
  readonly onCall: (method: string) => void;
}

/** A client that believes its relayer to be an older version. */
interface OlderTrial {
  /** The client. */
  readonly mem: Mem;
  /** The bodies of the requests that the client has sent, as text. */
  readonly bodies: readonly string[];
}

/** The clients of one case, which end with it. */
export class Trial {
  /** The account of the clients. */
  readonly account: TrialAccount;
  /**
   * A namespace that no other case uses; the default namespace of the clients.
   */
  readonly namespace: string;
  readonly #options: TrialOptions;
  readonly #clients: Mem[] = [];

  /** Creates a trial that has no clients yet. */
  constructor(options: TrialOptions) {
    this.account = options.account;
    this.namespace = options.namespace;
    this.#options = options;
  }

  /** Creates a client; `config` is added to its configuration. */
  mem(config: Partial<MemConfig> = {}): Mem {
    const { namespace } = this;
    return this.#keep(
      Mem.create({ ...this.#options.config, namespace, ...config }),
    );
  }

  /**
   * Creates a client with an access token, which the account's key signs unless
   * told otherwise.
   */
  async byToken(
    permits:
      & Pick<AccessTokenOptions, "access" | "namespaces">
      & Partial<Pick<AccessTokenOptions, "key">>,
  ): Promise<Mem> {
    const { key, accountId, ...config } = this.#options.config;
    const { token: accessToken } = await createAccessToken({
      ...{ key, accountId, clock: config.clock },
      ...permits,
    });
    const { namespace } = this;
    return this.#keep(Mem.create({ ...config, namespace, accessToken }));
  }

  /**
   * Creates a client whose requests the relayer refuses for now by its rate
   * limit.
   */
  async limited(): Promise<Mem> {
    return this.#keep(await this.#options.limited());
  }

  /**
   * Creates a client for which the relayer seems to be an older one without
   * some features; also returns the bodies of the requests that it sends.
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

  /** Moves the time on, so that what is written next is newer. */
  tick(): void {
    this.#options.tick();
  }

  /** Ends the clients. */
  [Symbol.dispose](): void {
    for (const mem of this.#clients) mem.destroy();
  }

  /**
   * Wraps a client so that calls are reported. Methods are bound to the client
   * itself, since private members cannot be accessed through a proxy.
   */
  #keep(mem: Mem): Mem {
    this.#clients.push(mem);
    return new Proxy(mem, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name);
        this.#options.onCall(String(name));
        return typeof value === "function" ? value.bind(target) : value;
      },
    });
  }
}

/** Something that a client must do, whether the relayer or the mock answers. */
export interface ConformanceCase {
  /** What the client does, as the end of a test title. */
  readonly name: string;
  /** Runs the case. */
  readonly run: (trial: Trial) => Promise<void>;
}

/**
 * Creates cases from functions by what the client does; each function gets a
 * client of its trial.
 */
export function createCases(
  runs: Readonly<
    Record<string, (mem: Mem, trial: Trial) => void | Promise<void>>
  >,
): readonly ConformanceCase[] {
  return Object.entries(runs).map(([name, run]) => ({
    name,
    run: async (trial) => await run(trial.mem(), trial),
  }));
}

/**
 * Returns all changes in a namespace after a cursor, or all since the
 * beginning, page by page.
 */
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

/**
 * Returns the error with which the relayer refuses a call; fails when the call
 * succeeds.
 */
export async function expectRefusal(call: Promise<unknown>): Promise<MemError> {
  const end = await call.then((value) => ({ value }), (error) => ({ error }));
  assert("error" in end, `it was not refused: ${JSON.stringify(end)}`);
  assertInstanceOf(end.error, MemError);
  return end.error;
}

/** Returns the status codes with which calls are refused. */
export async function expectStatuses(
  calls: readonly Promise<unknown>[],
): Promise<readonly (number | undefined)[]> {
  const refusals = await Promise.all(calls.map(expectRefusal));
  return refusals.map(({ status }) => status);
}
