/**
 * All who read events at this instance, by tenant, and what tells them that there
 * are more.
 *
 * @module
 */

import { BoundedMap } from "../../../shared/bounded_map.ts";
import type { Clock } from "../../../shared/clock.ts";
import type { Logger } from "../../../shared/logger.ts";
import { Periodic } from "../../../shared/periodic.ts";
import { EVENTS_KEPT_MS } from "../../store/stored.ts";
import type {
  RecordKind,
  Store,
  TransactionResult,
} from "../../store/store.ts";
import type { AroundCommit } from "../../store/wrapped_store.ts";
import type { Notices } from "../notices.ts";
import { SharedFilters } from "./event_batch.ts";
import { EventDigest } from "./event_digest.ts";
import { EventFeed } from "./event_feed.ts";
import {
  EventReader,
  type EventReaderOptions,
  type ReaderHost,
} from "./event_reader.ts";

/** The most readers of a tenant at this instance. */
const MAX_OF_TENANT = 2_000;
/** The most readers of all tenants at this instance. */
const MAX_READERS = 5_000;
/** The time between two signs of life, in milliseconds. */
const BEAT_MS = 15_000;
/**
 * How long events are kept after someone has read them, and how often that is
 * prolonged, in milliseconds.
 */
const LISTEN_AGAIN_MS = 3_600_000;
const LISTEN_MS = EVENTS_KEPT_MS + 2 * LISTEN_AGAIN_MS;
/** For how long an instance tells another one of events that it asked for. */
const TELL_MS = 60_000;
/** The most tenants that are remembered. */
const MAX_TENANTS = 10_000;

/** Options of {@linkcode EventFeeds}. */
interface EventFeedsOptions {
  /** Has the events. */
  readonly store: Pick<Store, "events" | "commit">;
  /** The store's time. */
  readonly clock: Clock;
  /** Tells other instances of events. */
  readonly notices: Notices;
  /** Logs failed reads. */
  readonly logger: Logger;
}

/** How to open a reader. */
interface OpenOptions extends Pick<EventReaderOptions, "filter"> {
  /** The tenant. */
  readonly tenantId: string;
  /**
   * The least milliseconds between two digests, which tell how many events of
   * each type there were.
   *
   * @default each event is told
   */
  readonly everyMs?: number | undefined;
  /**
   * The cursor after which it begins.
   *
   * @default now
   */
  readonly after?: string | undefined;
}

/** The outcome of opening a reader. */
export type OpenedReader =
  | { readonly kind: "ok"; readonly reader: EventReader }
  /** As many as allowed read the events of the tenant, or of all tenants. */
  | { readonly kind: "full"; readonly of: "tenant" | "service" }
  /** The service stops. */
  | { readonly kind: "stopping" };

interface OpenFeed {
  readonly feed: EventFeed;
  readonly begun: Promise<void>;
  /** Those who wait until it has begun. */
  opening: number;
  /** Digests, by their filter and time. */
  readonly digests: Map<string, EventDigest>;
  readonly filters: SharedFilters;
  /** Receives the state changes of the readers. */
  readonly host: ReaderHost;
}

/** Is told of a tenant that has more events, or other webhooks. */
type EventFollower = (tenantId: string, what: "events" | "webhooks") => void;

/** What happened to readers, for metrics. */
export interface EventCounts {
  /** How many readers there are. */
  readers: number;
  /** How many events were read for readers, each once for all of them. */
  told: number;
  /** How many readers were cut off. */
  cut: number;
}

/** The readers of events at this instance. */
export class EventFeeds {
  /** What happened so far. */
  readonly counts: EventCounts = { readers: 0, told: 0, cut: 0 };
  readonly #options: EventFeedsOptions;
  readonly #feeds = new Map<string, OpenFeed>();
  /** Until when others want to be told of a tenant's events. */
  readonly #wanted = new BoundedMap<string, number>({
    maxEntries: MAX_TENANTS,
  });
  readonly #beats: Periodic;
  readonly #renewals: Periodic;
  readonly #accessListeners = new Set<(tenantId: string) => void>();
  readonly #followers = new Set<EventFollower>();
  #isStopped = false;

  /** Opens none yet. */
  constructor(options: EventFeedsOptions) {
    const { clock, notices, logger } = options;
    this.#options = options;
    const onError = (error: unknown) =>
      logger.warn("Cannot keep events for readers: the store failed", {
        error: String(error),
      });
    this.#beats = new Periodic({
      clock,
      intervalMs: BEAT_MS,
      run: () => this.#beat(),
      onError,
    });
    this.#renewals = new Periodic({
      clock,
      intervalMs: LISTEN_AGAIN_MS,
      run: () => this.#listen([...this.#feeds.keys()]),
      onError,
    });
    notices.on("events", ({ tenantId }) => this.#wake(tenantId));
    notices.on("listening", ({ tenantId }) => {
      this.#wanted.set(tenantId, clock.nowMs() + TELL_MS);
    });
    notices.on("record", (notice) => this.#checkAccess(notice));
    notices.on("gap", () => {
      for (const tenantId of this.#feeds.keys()) this.#doubt(tenantId);
    });
  }

  /**
   * Opens a reader, which is told of every commit that is answered after this.
   *
   * @throws {Error} when the store fails
   */
  async open(options: OpenOptions): Promise<OpenedReader> {
    const { tenantId, after, everyMs } = options;
    if (this.#isStopped) return { kind: "stopping" };
    const full = this.#findFull(tenantId);
    if (full !== undefined) return { kind: "full", of: full };
    const open = this.#feeds.get(tenantId) ?? this.#begin(tenantId);
    const { feed } = open;
    open.opening++;
    this.counts.readers++;
    try {
      await open.begun;
    } catch (error) {
      this.counts.readers--;
      throw error;
    } finally {
      open.opening--;
      this.#endUnread(tenantId, open);
    }
    const filter = open.filters.take(options.filter);
    const digest = everyMs === undefined
      ? undefined
      : this.#digest(open, { filter, everyMs });
    const reader = new EventReader({ filter, digest, host: open.host });
    feed.add(reader, after);
    if (this.#isStopped) reader.end();
    return { kind: "ok", reader };
  }

  /**
   * Calls `listen` with each tenant whose keys, users or state have changed, as
   * a reader may have lost its access.
   *
   * @returns a function that stops that
   */
  onAccess(listen: (tenantId: string) => void): () => void {
    const entry = (tenantId: string): void => listen(tenantId);
    this.#accessListeners.add(entry);
    return () => void this.#accessListeners.delete(entry);
  }

  /**
   * Calls `listen`, which must not throw, with each tenant that may have more
   * events or whose webhooks have changed. Of events of other instances it is
   * told for a minute after {@linkcode EventFeeds.keepTelling}.
   */
  follow(listen: EventFollower): void {
    this.#followers.add(listen);
  }

  /** Asks other instances to tell of a tenant's events. */
  keepTelling(tenantId: string): void {
    this.#options.notices.tell({ kind: "listening", tenantId });
  }

  /** Wakes the readers of a tenant whose transactions were committed. */
  commit: AroundCommit = async (transactions, apply) => {
    let results: readonly TransactionResult[] | undefined;
    try {
      results = await apply(transactions);
      return results;
    } finally {
      if (
        this.#feeds.size > 0 || this.#wanted.size > 0 ||
        this.#followers.size > 0
      ) {
        for (const { writes } of transactions) {
          const [first] = writes;
          if (first === undefined) continue;
          this.#told(first.tenantId);
          for (const write of writes) {
            if (write.kind === "record") this.#checkAccess(write);
          }
        }
      }
    }
  };

  /** Ends all readers, and opens no more. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#beats.stop();
    await this.#renewals.stop();
    await Promise.all(
      [...this.#feeds.values()].map(async ({ feed, begun }) => {
        feed.endAll();
        await feed.stop();
        await begun.catch(() => {});
      }),
    );
    this.#feeds.clear();
  }

  #digest(
    { digests }: OpenFeed,
    { filter, everyMs }: Pick<OpenOptions, "filter"> & {
      readonly everyMs: number;
    },
  ): EventDigest {
    const key = digestKey({ filter, everyMs });
    const { clock } = this.#options;
    const digest = digests.get(key) ??
      new EventDigest({ filter, everyMs, clock });
    digests.set(key, digest);
    return digest;
  }

  #findFull(tenantId: string): "tenant" | "service" | undefined {
    if (this.counts.readers >= MAX_READERS) return "service";
    const open = this.#feeds.get(tenantId);
    return (open?.feed.readers ?? 0) + (open?.opening ?? 0) >= MAX_OF_TENANT
      ? "tenant"
      : undefined;
  }

  #begin(tenantId: string): OpenFeed {
    const { store, clock, logger } = this.#options;
    this.#beats.start();
    this.#renewals.start();
    const feed = new EventFeed({
      tenantId,
      store,
      listen: () => this.#listen([tenantId]),
      clock,
      onError: (error) =>
        logger.warn("Cannot read events: the store failed", {
          tenant: tenantId,
          error: String(error),
        }),
      onTold: (events) => this.counts.told += events,
    });
    const begun = feed.begin();
    const digests = new Map<string, EventDigest>();
    const filters = new SharedFilters();
    const host: ReaderHost = {
      onEnd: (reader) => {
        const { digest, filter } = reader;
        filters.give(filter);
        if (digest?.isUnread) digests.delete(digestKey(digest));
        this.counts.readers--;
        feed.remove(reader);
        this.#endUnread(tenantId, open);
      },
      onCut: () => this.counts.cut++,
      onFree: () => feed.wake(),
    };
    const open: OpenFeed = {
      ...{ feed, begun, opening: 0 },
      ...{ digests, filters, host },
    };
    this.#feeds.set(tenantId, open);
    this.keepTelling(tenantId);
    return open;
  }

  /** Ends a feed without readers. */
  #endUnread(tenantId: string, { feed, opening }: OpenFeed): void {
    if (opening > 0 || feed.readers > 0) return;
    // A request that has just waited for it adds its reader in this turn.
    queueMicrotask(() => {
      const open = this.#feeds.get(tenantId);
      if (open?.feed !== feed || open.opening > 0 || feed.readers > 0) return;
      this.#feeds.delete(tenantId);
      void feed.stop();
    });
  }

  async #listen(tenantIds: readonly string[]): Promise<void> {
    const { store, clock } = this.#options;
    const untilMs = clock.nowMs() + LISTEN_MS;
    await store.commit(
      tenantIds.map((tenantId) => ({
        writes: [{ kind: "listen", tenantId, untilMs }],
      })),
    );
  }

  #beat(): void {
    for (const [tenantId, { feed }] of this.#feeds) {
      feed.beat();
      this.keepTelling(tenantId);
    }
  }

  #told(tenantId: string): void {
    this.#wake(tenantId);
    const untilMs = this.#wanted.peek(tenantId);
    if (untilMs === undefined) return;
    const { clock, notices } = this.#options;
    if (untilMs < clock.nowMs()) this.#wanted.delete(tenantId);
    else notices.tell({ kind: "events", tenantId });
  }

  #wake(tenantId: string): void {
    this.#feeds.get(tenantId)?.feed.wake();
    for (const listen of this.#followers) listen(tenantId, "events");
  }

  /** Tells what follows from a record that was written, as for access. */
  #checkAccess(
    { recordKind, tenantId, id }: {
      readonly recordKind: RecordKind;
      readonly tenantId: string;
      readonly id: string;
    },
  ): void {
    if (recordKind === "webhook") {
      for (const listen of this.#followers) listen(tenantId, "webhooks");
    }
    if (recordKind === "tenant") this.#doubt(id);
    if (recordKind === "key" || recordKind === "user") this.#doubt(tenantId);
  }

  #doubt(tenantId: string): void {
    for (const listen of [...this.#accessListeners]) listen(tenantId);
  }
}

function digestKey(
  { filter, everyMs }: Pick<EventDigest, "filter" | "everyMs">,
): string {
  return `${everyMs} ${filter.key}`;
}
