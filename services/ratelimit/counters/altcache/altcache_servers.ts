/**
 * The memcached servers of a store, and the choice of the server that holds a
 * key (rendezvous hashing).
 *
 * @module
 */

import type { Timer } from "../../../shared/clock.ts";
import { waitAtMost } from "../../../shared/settled.ts";
import { computeSilence } from "../server_outage.ts";
import type { StoreOutages } from "../store_outages.ts";
import { MemcachedNode, type MemcachedNodeOptions } from "./memcached/node.ts";
import {
  formatMemcachedAddress,
  type MemcachedAddress,
  parseMemcachedAddresses,
} from "./memcached/address.ts";
import { type SrvResolver, SrvWatch } from "./memcached/srv_watch.ts";

/** Something with a name among which keys are distributed. */
interface Candidate {
  /** The name, on which alone the choice depends. */
  readonly name: string;
}

/**
 * Chooses a candidate for each key by rendezvous hashing: when a candidate
 * goes, only its own keys move.
 */
export class Rendezvous<T extends Candidate> {
  readonly #candidates: readonly T[];
  readonly #hashes: readonly number[];

  /** Takes the candidates; their names must differ. */
  constructor(candidates: readonly T[]) {
    // The order only matters for equal scores, and must not depend on the
    // list's.
    this.#candidates = [...candidates].sort((a, b) => a.name < b.name ? -1 : 1);
    this.#hashes = this.#candidates.map(({ name }) => hashText(name));
  }

  /** All candidates, by name. */
  get candidates(): readonly T[] {
    return this.#candidates;
  }

  /** Returns the candidate for a key; `undefined` without candidates. */
  choose(key: string): T | undefined {
    const hashes = this.#hashes;
    if (hashes.length < 2) return this.#candidates[0];
    const keyHash = hashText(key);
    let best = 0;
    let bestScore = -1;
    for (let i = 0; i < hashes.length; i++) {
      const score = mix(keyHash ^ hashes[i]!);
      if (score > bestScore) {
        best = i;
        bestScore = score;
      }
    }
    return this.#candidates[best];
  }
}

/** Hashes text to 32 bits by FNV-1a, then mixes the bits. */
function hashText(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) {
    hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  }
  return mix(hash);
}

/** The last step of MurmurHash3 (A. Appleby): every bit affects every other. */
function mix(hash: number): number {
  let mixed = hash;
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}

/** Where the list of servers is taken from. */
export type AltcacheSource =
  | {
    readonly kind: "list";
    /** Addresses of the servers. */
    readonly addresses: readonly MemcachedAddress[];
  }
  | {
    readonly kind: "srv";
    /** Name of the SRV record. */
    readonly name: string;
    /** Milliseconds between two lookups; 0 looks up once. */
    readonly refreshMs: number;
  };

/** The settings from which a source is read; an empty text is a missing one. */
interface AltcacheSourceSettings {
  /**
   * Servers as `host:port,host:port`.
   *
   * @default none
   */
  readonly hostPort?: string;
  /**
   * Name of an SRV record.
   *
   * @default none
   */
  readonly srv?: string;
  /**
   * Milliseconds between two lookups of the record; 0 looks up once.
   *
   * @default 0
   */
  readonly srvRefreshMs?: number;
}

/** The source that the settings describe, or what is wrong with them. */
type AltcacheSourceResult =
  | { readonly kind: "parsed"; readonly source: AltcacheSource }
  | { readonly kind: "invalid"; readonly reason: string };

/** Name of the list in `outages`. */
const PART = "server list";

/** How {@linkcode AltcacheServers} are made. */
export interface AltcacheServersOptions
  extends Omit<MemcachedNodeOptions, "address" | "outages"> {
  /** Told while there are no servers. */
  readonly outages: StoreOutages;
  /** Source of the server list; a lookup is bounded by `timeoutMs`, too. */
  readonly source: AltcacheSource;
  /**
   * Looks SRV records up.
   *
   * @default the system's resolver
   */
  readonly resolveSrv?: SrvResolver | undefined;
}

/**
 * Reads the source of the server list: a host list or an SRV record, not both.
 */
export function parseAltcacheSource(
  settings: AltcacheSourceSettings,
): AltcacheSourceResult {
  const { hostPort = "", srv = "", srvRefreshMs = 0 } = settings;
  if (hostPort !== "" && srv !== "") {
    return invalid("a host list and an SRV record are given; give one of them");
  }
  if (srv !== "") {
    const source = { kind: "srv", name: srv, refreshMs: srvRefreshMs } as const;
    return { kind: "parsed", source };
  }
  if (hostPort === "") {
    return invalid("neither a host list nor an SRV record is given");
  }
  const parsed = parseMemcachedAddresses(hostPort);
  if (parsed.kind === "invalid") return parsed;
  const { addresses } = parsed;
  return { kind: "parsed", source: { kind: "list", addresses } };
}

/**
 * Keeps connections to all servers of the list, and follows changes of the
 * list. A server that left the list is disconnected after the time limit of its
 * last commands.
 */
export class AltcacheServers {
  readonly #options: AltcacheServersOptions;
  readonly #watch: SrvWatch | undefined;
  readonly #leaving = new Map<MemcachedNode, Timer>();
  #nodes = new Rendezvous<MemcachedNode>([]);
  #isStarted = false;
  #firstLook: PromiseWithResolvers<void> | undefined;
  #reason = "not started";

  /** Makes servers that are not connected yet. */
  constructor(options: AltcacheServersOptions) {
    this.#options = options;
    const { source, resolveSrv } = options;
    if (source.kind === "list") return;
    this.#watch = new SrvWatch({
      ...options,
      name: source.name,
      refreshMs: source.refreshMs,
      resolve: resolveSrv,
      onAddresses: (addresses) => this.#replace(addresses),
      onFailure: (reason) => {
        this.#reason = reason;
        if (this.nodes.length === 0) options.outages.begin(PART, reason);
        this.#endFirstLook();
      },
    });
  }

  /** True while at least one server can be used. */
  get isUp(): boolean {
    return this.#nodes.candidates.some((node) => node.isUp);
  }

  /** Why there are no servers. */
  get reason(): string {
    return this.#reason;
  }

  /** The servers, by name. */
  get nodes(): readonly MemcachedNode[] {
    return this.#nodes.candidates;
  }

  /** Returns the server that keeps a counter; undefined without servers. */
  choose(key: string): MemcachedNode | undefined {
    return this.#nodes.choose(key);
  }

  /** Begins to connect; a list from an SRV record is looked up first. */
  start(): void {
    if (this.#isStarted) return;
    this.#isStarted = true;
    if (this.#options.source.kind === "list") {
      return this.#replace(this.#options.source.addresses);
    }
    this.#reason = "the server list has not been looked up yet";
    this.#firstLook = Promise.withResolvers();
    this.#watch?.start();
  }

  /**
   * Waits for the end of the first lookup of the list, if it is in progress.
   */
  async firstLook(): Promise<void> {
    if (this.#firstLook === undefined) return;
    const { clock } = this.#options;
    const { limitMs: timeoutMs } = computeSilence(this.#options);
    await waitAtMost(this.#firstLook.promise, { clock, timeoutMs });
    // However long the lookup takes, later calls do not wait for it.
    this.#endFirstLook();
  }

  /** Closes all connections and stops lookups. */
  stop(): void {
    if (!this.#isStarted) return;
    this.#isStarted = false;
    this.#reason = "stopped";
    this.#watch?.stop();
    this.#endFirstLook();
    for (const [node, timer] of this.#leaving) {
      timer.cancel();
      node.stop();
    }
    this.#leaving.clear();
    for (const node of this.#nodes.candidates) node.stop();
    this.#nodes = new Rendezvous<MemcachedNode>([]);
  }

  #replace(addresses: readonly MemcachedAddress[]): void {
    const kept = new Map(this.nodes.map((node) => [node.name, node]));
    const fresh: MemcachedNode[] = [];
    const nodes = addresses.map((address) => {
      const name = formatMemcachedAddress(address);
      const known = kept.get(name);
      kept.delete(name);
      if (known !== undefined) return known;
      const node = new MemcachedNode({ ...this.#options, address });
      fresh.push(node);
      return node;
    });
    this.#nodes = new Rendezvous(nodes);
    this.#options.outages.end(PART);
    for (const node of fresh) node.start();
    for (const node of kept.values()) this.#letGo(node);
    this.#endFirstLook();
  }

  #letGo(node: MemcachedNode): void {
    const { clock, timeoutMs, outages } = this.#options;
    const timer = clock.setTimer(() => {
      this.#leaving.delete(node);
      node.stop();
      outages.end(node.name);
    }, timeoutMs);
    this.#leaving.set(node, timer);
  }

  #endFirstLook(): void {
    this.#firstLook?.resolve();
    this.#firstLook = undefined;
  }
}

function invalid(what: string): AltcacheSourceResult {
  return { kind: "invalid", reason: `Cannot find memcached servers: ${what}` };
}
