/**
 * Reads the events of a tenant once for all who read them at this instance.
 *
 * @module
 */

import type { Clock } from "../../../shared/clock.ts";
import { pause } from "../../../shared/periodic.ts";
import type { EventPage, Store } from "../../store/store.ts";
import { EventBatch, frameBytes } from "./event_batch.ts";
import type { EventReader } from "./event_reader.ts";
import { EventViewer } from "./tenant_event.ts";

/** How many events are read at once. */
const PAGE = 500;
/** The least time between two reads, so that each of them has more to tell. */
const GATHER_MS = 20;
/** The time between two looks, for events of which no notice comes. */
const LOOK_MS = 1_000;
/** The first pause while events are held back, and the longest. */
const HELD_MS = 10;
const MAX_HELD_MS = 250;
/**
 * How often it is looked at the beginning whether commits from before are over.
 * A transaction that stays open and is not the service's holds nothing up.
 */
const MAX_BEGIN_LOOKS = 100;

/** Options of {@linkcode EventFeed}. */
interface EventFeedOptions {
  /** The tenant. */
  readonly tenantId: string;
  /** Has the events. */
  readonly store: Pick<Store, "events">;
  /** Has the events of the tenant kept. */
  readonly listen: () => Promise<void>;
  /** Sets timers. */
  readonly clock: Clock;
  /** Called with the error of a read; it is tried again. */
  readonly onError: (error: unknown) => void;
  /** Called with how many events were read. */
  readonly onTold: (events: number) => void;
}

/** Readers that are behind the others, all at the same place. */
interface Behind {
  readonly readers: Set<EventReader>;
  readonly viewer: EventViewer;
}

/** The readers of a tenant's events. */
export class EventFeed {
  readonly #options: EventFeedOptions;
  /** Those who have got all up to the cursor. */
  readonly #current = new Set<EventReader>();
  /** Those who get what was before, by the cursor that they have come to. */
  #behind = new Map<string, Behind>();
  #viewer = new EventViewer();
  readonly #ending = new AbortController();
  #cursor = "";
  /** What ends the sleep. */
  readonly #ends: { wake?: () => void; hurry?: () => void } = {};
  #isWoken = false;
  #run: Promise<void> | undefined;

  /** Reads nothing yet. */
  constructor(options: EventFeedOptions) {
    this.#options = options;
  }

  /** How many readers there are. */
  get readers(): number {
    let count = this.#current.size;
    for (const { readers } of this.#behind.values()) count += readers.size;
    return count;
  }

  /**
   * Begins: from now on each commit that is answered is told.
   *
   * @throws {Error} when the store fails
   */
  async begin(): Promise<void> {
    const { clock } = this.#options;
    const { signal } = this.#ending;
    await this.#options.listen();
    let page = await this.#read({});
    for (let looks = 1; page.isHeld && looks < MAX_BEGIN_LOOKS; looks++) {
      await pause(HELD_MS, { clock, signal });
      page = await this.#read({});
    }
    this.#cursor = page.end;
    this.#run ??= this.#follow();
  }

  /** Adds a reader, which begins after a cursor, or now. */
  add(reader: EventReader, after: string | undefined): void {
    if (reader.everyMs === undefined) this.#ends.hurry?.();
    if (after === undefined || after === this.#cursor) {
      reader.begin(this.#cursor);
      this.#current.add(reader);
      return;
    }
    if (reader.everyMs !== undefined) {
      // It is not told how many there were, but that there may be some.
      reader.begin(this.#cursor);
      reader.reset();
      this.#current.add(reader);
      return;
    }
    this.#putBehind(after, [reader], new EventViewer());
    this.wake();
  }

  /** Removes a reader. */
  remove(reader: EventReader): void {
    this.#current.delete(reader);
    for (const [cursor, { readers }] of this.#behind) {
      if (readers.delete(reader) && readers.size === 0) {
        this.#behind.delete(cursor);
      }
    }
  }

  /** Reads soon, as there may be more events. */
  wake(): void {
    this.#isWoken = true;
    this.#ends.wake?.();
  }

  /** Sends all a sign of life, with the place that they have come to. */
  beat(): void {
    const bytes = frameBytes({ comment: "", id: this.#cursor });
    for (const reader of this.#current) reader.put(bytes);
    const plain = frameBytes({ comment: "" });
    for (const { readers } of this.#behind.values()) {
      for (const reader of readers) reader.put(plain);
    }
  }

  /** Ends all readers. */
  endAll(): void {
    for (const reader of [...this.#current]) reader.end();
    for (const { readers } of [...this.#behind.values()]) {
      for (const reader of [...readers]) reader.end();
    }
  }

  /** Stops, and waits for the read under way. */
  async stop(): Promise<void> {
    this.#ending.abort();
    this.#ends.hurry?.();
    this.#ends.wake?.();
    await this.#run;
  }

  async #follow(): Promise<void> {
    const { clock, onError } = this.#options;
    const { signal } = this.#ending;
    let heldMs = 0;
    while (!signal.aborted) {
      this.#isWoken = false;
      let hasMore = false;
      let hasRead = false;
      try {
        const { isHeld, isFull, isEmpty } = await this.#readOn();
        hasRead = !isEmpty;
        hasMore = isFull || await this.#readBehind();
        heldMs = isHeld ? Math.min(MAX_HELD_MS, 2 * heldMs || HELD_MS) : 0;
      } catch (error) {
        if (!signal.aborted) onError(error);
        await pause(LOOK_MS, { clock, signal });
      }
      if (!hasMore) {
        await pause(GATHER_MS, { clock, signal });
        const digestMs = this.#digestMs;
        if (hasRead && digestMs !== undefined) {
          await this.#sleep(digestMs - GATHER_MS, "hurry");
        }
        if (!this.#isWoken) await this.#sleep(heldMs || LOOK_MS, "wake");
      }
    }
  }

  /** Sleeps some time, or until it is woken, or until it has to hurry. */
  async #sleep(forMs: number, until: "wake" | "hurry"): Promise<void> {
    if (this.#ending.signal.aborted) return;
    await new Promise<void>((resolve) => {
      const timer = this.#options.clock.setTimer(resolve, forMs);
      this.#ends[until] = () => {
        timer.cancel();
        resolve();
      };
    });
    delete this.#ends[until];
  }

  /** Tells those who are up to date what has come. */
  async #readOn(): Promise<
    { isHeld: boolean; isFull: boolean; isEmpty: boolean }
  > {
    let page = await this.#read({ after: this.#cursor });
    if (page.end === "") {
      // The store has lost them, or they were not kept for longer.
      await this.#options.listen();
      page = await this.#read({ after: this.#cursor });
    }
    if (page.isReset) {
      for (const reader of this.#current) reader.reset();
    }
    const isFull = page.events.length === PAGE;
    const end = isFull ? await this.#endToSkipTo() : undefined;
    const readers = this.#current;
    this.#tell(page, { readers, viewer: this.#viewer, skippedTo: end });
    this.#cursor = end ?? page.end;
    // The next event does not follow the one that was viewed last.
    if (end !== undefined) this.#viewer = new EventViewer();
    return {
      isHeld: page.isHeld,
      isFull: isFull && end === undefined,
      isEmpty: page.events.length === 0,
    };
  }

  /**
   * The least time between two digests; undefined where a reader gets each
   * event.
   */
  get #digestMs(): number | undefined {
    if (this.#behind.size > 0) return undefined;
    let least = LOOK_MS;
    for (const { everyMs } of this.#current) {
      if (everyMs === undefined) return undefined;
      least = Math.min(least, everyMs);
    }
    return least;
  }

  /**
   * Where the events end, if readers do without those in between: many open
   * pages then cost the same however much happens.
   */
  async #endToSkipTo(): Promise<string | undefined> {
    if (this.#digestMs === undefined) return undefined;
    const { end, isHeld } = await this.#read({});
    // A reader of each event may have come meanwhile.
    const isWanted = this.#digestMs === undefined;
    return isHeld || end === "" || isWanted ? undefined : end;
  }

  /**
   * Tells the others a page each, but for those who have not read the last one;
   * returns whether more can be told at once.
   */
  async #readBehind(): Promise<boolean> {
    const through = this.#cursor;
    let hasMore = false;
    for (const [after, { readers: all, viewer }] of [...this.#behind]) {
      if (all.values().every(({ isBusy }) => isBusy)) continue;
      const page = await this.#read({ after, through });
      const [busy, readers] = [new Set<EventReader>(), new Set<EventReader>()];
      for (const reader of all) (reader.isBusy ? busy : readers).add(reader);
      const behind = { readers, viewer: viewer.copy() };
      this.#behind.delete(after);
      this.#putBehind(after, [...busy], viewer);
      if (page.isReset) {
        for (const reader of readers) reader.reset();
      }
      this.#tell(page, behind);
      const left = [...readers].filter((reader) => !reader.isEnded);
      if (page.events.length === PAGE) {
        this.#putBehind(page.end, left, behind.viewer);
        hasMore = true;
      } else for (const reader of left) this.#current.add(reader);
    }
    return hasMore;
  }

  #putBehind(
    cursor: string,
    readers: readonly EventReader[],
    viewer: EventViewer,
  ): void {
    const there = this.#behind.get(cursor) ?? { readers: new Set(), viewer };
    for (const reader of readers) there.readers.add(reader);
    if (there.readers.size > 0) this.#behind.set(cursor, there);
  }

  #tell(
    { events: stored, end }: EventPage,
    { readers, viewer, skippedTo }: Behind & {
      /** Where readers go on that do without the events in between. */
      readonly skippedTo?: string | undefined;
    },
  ): void {
    if (stored.length === 0) return;
    const events = stored.flatMap((one) => viewer.view(one) ?? []);
    const batch = new EventBatch(events, {
      end: skippedTo ?? end,
      hasMore: skippedTo !== undefined,
    });
    for (const reader of [...readers]) reader.take(batch);
    this.#options.onTold(events.length);
  }

  #read(
    query: { readonly after?: string; readonly through?: string },
  ): Promise<EventPage> {
    const { store, tenantId } = this.#options;
    return store.events({ tenantId, limit: PAGE, ...query });
  }
}
