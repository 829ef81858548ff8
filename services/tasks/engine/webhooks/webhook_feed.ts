/**
 * Makes a delivery of each event that a webhook is to be told.
 *
 * Each webhook has its own place among the tenant's events. The deliveries are
 * tasks of the service's own worker, and are committed together with the place
 * behind their events: each event makes one, whatever dies. A webhook that is
 * down holds up no other: its deliveries are bounded, and further events stay in
 * the log. Those that are gone from there before it answers again are told as
 * missed.
 *
 * A delivery waits for the end of the one before it that is about the same task,
 * or the same worker; so a receiver gets these in order.
 *
 * @module
 */

import { pause } from "../../../shared/periodic.ts";
import { selectTypes } from "../../domain/event_types.ts";
import { SYSTEM_ACTOR, type Webhook } from "../../domain/records.ts";
import { LIVE_STATUSES, type Task } from "../../domain/task.ts";
import type { TaskPosition } from "../../store/queries.ts";
import { EVENTS_KEPT_MS } from "../../store/stored.ts";
import type { EventPage, Write } from "../../store/store.ts";
import type { TaskChanges } from "../changes.ts";
import { type EventFilter, passes, toFilter } from "../events/event_batch.ts";
import {
  eventJson,
  EventViewer,
  type TenantEvent,
} from "../events/tenant_event.ts";
import { Maintainer } from "../maintainer.ts";
import type { EngineParts } from "../parts.ts";
import { auditWrite } from "../record_writes.ts";
import { internalTask } from "../task_writes.ts";
import {
  internalTenant,
  isWebhookWorker,
  tenantOfInternal,
} from "../workers.ts";
import {
  countOpen,
  placeWrite,
  readPlace,
  type WebhookName,
  type WebhookPlace,
} from "./webhook_state.ts";

/** The most deliveries of a webhook that are under way. */
export const MAX_OPEN_DELIVERIES = 1_000;

/**
 * The time between two looks at all tenants that someone listens to, for events
 * and ends of deliveries of which no notice came.
 */
const LOOK_MS = 15_000;
/** The least time between two reads, so that each of them has more to tell. */
const GATHER_MS = 25;
/** How many events, or tenants, are read at once. */
const PAGE = 200;
/** How many tasks are read at once. */
const TASKS = 500;
/** After how long a place is stored before which nothing had to be told. */
const STORE_MS = 60_000;
/** For how long events are kept while there is a webhook; see `renew`. */
const LISTEN_MS = EVENTS_KEPT_MS + 7 * 86_400_000;
const LISTEN_AGAIN_MS = 3_600_000;

/** What follows from a look. */
type Outcome =
  /** There is nothing more to tell for now. */
  | "even"
  /** There is more at once. */
  | "more"
  /** There is more when deliveries have ended. */
  | "full";

interface WebhookFeedOptions {
  readonly parts: EngineParts;
  /** Announces the deliveries. */
  readonly changes: Pick<TaskChanges, "onChange" | "announce">;
  /**
   * The most deliveries of a webhook that are under way.
   *
   * @default {1000}
   */
  readonly maxOpen?: number | undefined;
}

/** Events that were read for a webhook and had nothing to tell. */
interface Passed {
  /** The stored cursor after which they were read. */
  readonly of: string;
  /** Where they end. */
  readonly end: string;
  /** When the first of them was read. */
  readonly sinceMs: number;
}

/** Makes deliveries. One instance does it; a commit of a second one conflicts. */
export class WebhookFeed extends Maintainer {
  readonly #options: WebhookFeedOptions;
  /** The tenants that have webhooks, and when their events were last kept on. */
  readonly #tenants = new Map<string, number>();
  /** Those that have more to tell. */
  readonly #woken = new Set<string>();
  /** Those with webhooks that wait for room. */
  readonly #full = new Set<string>();
  readonly #passed = new Map<string, Passed>();
  #lookedAtMs = -Infinity;

  /** Creates the feed without starting it. */
  constructor(options: WebhookFeedOptions) {
    const { parts, changes } = options;
    super({
      parts,
      intervalMs: LOOK_MS,
      failure: "Cannot tell webhooks of events: the store failed",
      duty: "webhooks",
    });
    this.#options = options;
    parts.events.follow((tenantId, what) => {
      if (!this.isMine) return;
      if (what === "webhooks" || this.#tenants.has(tenantId)) {
        this.#wake(tenantId);
      }
    });
    changes.onChange(({ next, previous }) => {
      const { tenantId = "", workerId = "" } = next ?? previous ?? {};
      const owner = tenantOfInternal(tenantId) ?? "";
      if (isWebhookWorker(workerId) && this.#full.has(owner)) this.#wake(owner);
    }, ["settled"]);
  }

  /** Forgets what may have changed while another instance did it. */
  protected override onGained(): void {
    this.#tenants.clear();
    this.#full.clear();
    this.#passed.clear();
    this.#lookedAtMs = -Infinity;
  }

  /** Looks at the tenants that may have something to tell. */
  override async runOnce(): Promise<void> {
    const { clock, logger } = this.#options.parts;
    const nowMs = clock.nowMs();
    if (nowMs - this.#lookedAtMs >= LOOK_MS || nowMs < this.#lookedAtMs) {
      this.#lookedAtMs = nowMs;
      await this.#findTenants();
    }
    while (this.#woken.size > 0 && !this.stopping.aborted) {
      await pause(GATHER_MS, { clock, signal: this.stopping });
      const tenants = [...this.#woken];
      this.#woken.clear();
      for (const tenantId of tenants) {
        if (this.stopping.aborted) return;
        try {
          const outcome = await this.#look(tenantId);
          if (outcome === "more") this.#woken.add(tenantId);
          if (outcome === "full") this.#full.add(tenantId);
          else this.#full.delete(tenantId);
        } catch (error) {
          logger.error("Cannot tell webhooks of events: the store failed", {
            tenant: tenantId,
            error: String(error),
          });
        }
      }
    }
  }

  #wake(tenantId: string): void {
    this.#woken.add(tenantId);
    this.wake();
  }

  async #findTenants(): Promise<void> {
    const { store } = this.#options.parts;
    let page: readonly string[];
    let afterId = "";
    do {
      page = await store.listeners(PAGE, afterId);
      for (const id of page) this.#woken.add(id);
      afterId = page.at(-1) ?? "";
    } while (page.length === PAGE && !this.stopping.aborted);
    for (const id of this.#tenants.keys()) this.#woken.add(id);
  }

  async #look(tenantId: string): Promise<Outcome> {
    const { repositories, events } = this.#options.parts;
    const webhooks = await repositories.webhooks.all(tenantId);
    const enabled = webhooks.filter(({ isEnabled }) => isEnabled);
    if (enabled.length === 0) {
      this.#tenants.delete(tenantId);
      return "even";
    }
    await this.#renew(tenantId);
    events.keepTelling(tenantId);
    const outcomes = new Set<Outcome>();
    for (const webhook of enabled) {
      if (this.stopping.aborted) break;
      outcomes.add(await this.#advance(webhook));
    }
    return outcomes.has("more")
      ? "more"
      : outcomes.has("full")
      ? "full"
      : "even";
  }

  /** Has the events of a tenant kept on. */
  async #renew(tenantId: string): Promise<void> {
    const nowMs = this.#options.parts.clock.nowMs();
    const renewedMs = this.#tenants.get(tenantId) ?? -Infinity;
    if (Math.abs(nowMs - renewedMs) < LISTEN_AGAIN_MS) return;
    await keepEvents(this.#options.parts, tenantId);
    this.#tenants.set(tenantId, nowMs);
  }

  /** Makes the next deliveries of a webhook. */
  async #advance(webhook: Webhook): Promise<Outcome> {
    const { parts: { store, clock }, maxOpen = MAX_OPEN_DELIVERIES } =
      this.#options;
    const { tenantId, id } = webhook;
    const open = await countOpen(store, webhook);
    const room = maxOpen - open;
    const { value: place, version } = await readPlace(store, webhook);
    // The webhook is being removed.
    if (place === undefined) return "even";
    if (room <= 0) return "full";
    const passed = this.#passed.get(id);
    const known = passed?.of === place.cursor ? passed : undefined;
    const page = await this.#read(tenantId, known?.end ?? place.cursor);
    const { events, end } = this.#select(webhook, page, room);
    const nowMs = clock.nowMs();
    const hasMore = page.isHeld || end !== page.end ||
      page.events.length === PAGE;
    const sinceMs = known?.sinceMs ?? nowMs;
    const isDue = events.length > 0 || page.isReset ||
      end !== place.cursor && nowMs - sinceMs >= STORE_MS;
    if (!isDue) {
      this.#passed.set(id, { of: place.cursor, end, sinceMs });
      return hasMore ? "more" : "even";
    }
    this.#passed.delete(id);
    const next: WebhookPlace = {
      cursor: end,
      missedAtMs: page.isReset ? nowMs : place.missedAtMs,
    };
    const writes = [placeWrite(webhook, next, version)];
    if (page.isReset) writes.push(missedWrite(webhook, nowMs));
    const tasks = await this.#deliveries(webhook, events, open);
    for (const { write } of tasks) writes.push(write);
    const [result] = await store.commit([{ writes }]);
    // Otherwise another instance has made them, or the webhook is gone.
    if (result?.kind === "ok") {
      for (const { task } of tasks) {
        this.#options.changes.announce(undefined, task);
      }
    }
    return hasMore ? "more" : "even";
  }

  async #read(tenantId: string, after: string): Promise<EventPage> {
    const { store } = this.#options.parts;
    const read = () => store.events({ tenantId, after, limit: PAGE });
    const page = await read();
    if (page.end !== "") return page;
    // The store has lost them, or they were not kept for longer.
    await keepEvents(this.#options.parts, tenantId);
    return await read();
  }

  /** The events of a page that a webhook is told, as far as there is room. */
  #select(
    webhook: Webhook,
    page: EventPage,
    room: number,
  ): { readonly events: readonly TenantEvent[]; readonly end: string } {
    const filter = filterOf(webhook);
    const viewer = new EventViewer();
    const events: TenantEvent[] = [];
    let lastSeen = page.end;
    for (const stored of page.events) {
      const event = viewer.view(stored);
      if (event === undefined) continue;
      if (isTold(webhook, filter, event)) {
        if (events.length === room) return { events, end: lastSeen };
        events.push(event);
      }
      lastSeen = event.cursor;
    }
    // A full page may end between a failure and what follows from it, which
    // are one event; the next page begins with both.
    const isFull = page.events.length === PAGE;
    return { events, end: isFull ? lastSeen : page.end };
  }

  async #deliveries(
    { tenantId, id: workerId }: Webhook,
    events: readonly TenantEvent[],
    open: number,
  ): Promise<readonly { readonly task: Task; readonly write: Write }[]> {
    const { parts } = this.#options;
    const owner = internalTenant(tenantId);
    const last = events.length > 0 && open > 0
      ? await this.#lastOpen(owner, workerId)
      : new Map<string, string>();
    return events.map((event) => {
      const group = subjectOf(event);
      const before = last.get(group);
      const made = internalTask({
        workerId,
        job: event.type,
        group,
        dataJson: eventJson(event),
        dependencies: before === undefined ? [] : [before],
        onDependencyFailure: "run",
      }, { tenantId: owner, parts });
      last.set(group, made.task.id);
      return made;
    });
  }

  /** The last delivery under way about each task. */
  async #lastOpen(
    tenantId: string,
    workerId: string,
  ): Promise<Map<string, string>> {
    const last = new Map<string, string>();
    let after: TaskPosition | undefined;
    do {
      const page = await this.#options.parts.store.listTasks({
        tenantId,
        workerIds: [workerId],
        statuses: LIVE_STATUSES,
        by: "created_at",
        sort: "created_at",
        order: "asc",
        limit: TASKS,
        after,
      });
      for (const { group, id } of page.tasks) last.set(group, id);
      after = page.next;
    } while (after !== undefined);
    return last;
  }
}

/**
 * Has the events of a tenant kept for its webhooks.
 *
 * @throws {Error} when the store fails
 */
export async function keepEvents(
  { store, clock }: Pick<EngineParts, "store" | "clock">,
  tenantId: string,
): Promise<void> {
  const untilMs = clock.nowMs() + LISTEN_MS;
  await store.commit([{ writes: [{ kind: "listen", tenantId, untilMs }] }]);
}

/**
 * The place behind all events up to now; each commit that is answered later is
 * told to a webhook with this place.
 *
 * @throws {Error} when the store fails
 */
export async function placeOfNow(
  parts: Pick<EngineParts, "store" | "clock">,
  tenantId: string,
): Promise<WebhookPlace> {
  await keepEvents(parts, tenantId);
  const { end } = await parts.store.events({ tenantId, limit: 1 });
  return { cursor: end };
}

/** What the deliveries are about that have to be in order. */
function subjectOf({ task, workerId, data }: TenantEvent): string {
  const { task: id } = data;
  return task?.id ?? (typeof id === "string" ? id : workerId ?? "");
}

function filterOf({ types, workerId, job }: Webhook): EventFilter {
  // A type of a later version is not known here.
  const known = types.flatMap((type) => [...selectTypes([type]) ?? []]);
  return toFilter({ types: new Set(known), workerId, job });
}

function isTold(
  { group }: Webhook,
  filter: EventFilter,
  event: TenantEvent,
): boolean {
  return passes(filter, event) &&
    (group === undefined || event.task?.group === group);
}

function missedWrite({ tenantId, id }: WebhookName, atMs: number): Write {
  return auditWrite(tenantId, {
    atMs,
    action: "webhook.missed",
    actor: SYSTEM_ACTOR,
    target: id,
  });
}
