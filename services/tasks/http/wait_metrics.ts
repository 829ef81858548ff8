/**
 * How long requests waited inside the service, for its operator, in the
 * text format of Prometheus (version 0.0.4).
 *
 * @module
 */

import { BoundedMap } from "../../shared/bounded_map.ts";
import type { FairKey } from "../../shared/fair_queue.ts";

/** What is waited for: a turn on the serving thread, or a commit on the disk. */
type WaitedFor = "turn" | "commit";

/** Tenants that are told by themselves; the others are told together. */
const MAX_TENANTS = 100;

/** Bounds of the histogram in seconds. */
const BOUNDS = [
  ...[0.0001, 0.00025, 0.0005, 0.001, 0.0015, 0.002, 0.003, 0.005, 0.0075],
  ...[0.01, 0.015, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.25, 0.5, 1, 2.5, 5],
  ...[10, 30],
];

const NAME = "tasks_wait_seconds";
/** No tenant has this id. */
const OTHERS = "others";

interface Waits {
  /** Waits by the place of the least bound that they are within. */
  readonly within: number[];
  count: number;
  seconds: number;
}

type TenantWaits = Readonly<Record<WaitedFor, Waits>>;

/**
 * Counts waits by tenant: of the tenants that waited last by themselves, and of
 * all others together.
 */
export class WaitMetrics {
  readonly #others: TenantWaits = noWaits();
  readonly #tenants = new BoundedMap<string, TenantWaits>({
    maxEntries: MAX_TENANTS,
    onLeave: (waits) => {
      for (const kind of KINDS) add(this.#others[kind], waits[kind]);
    },
  });

  /** Counts that a request of a tenant waited for its turns. */
  noteTurn(key: FairKey, waitedMs: number): void {
    this.#note("turn", typeof key === "string" ? key : key.group, waitedMs);
  }

  /** Counts that something of a tenant, or of none, waited until it was on disk. */
  noteCommit(tenantId: string, waitedMs: number): void {
    this.#note("commit", tenantId === "" ? "service" : tenantId, waitedMs);
  }

  /** Everything that was counted. */
  text(): string {
    const lines = [
      `# HELP ${NAME} How long requests waited for their turns, and commits ` +
      "until they were on disk, by tenant.",
      `# TYPE ${NAME} histogram`,
    ];
    for (const [tenant, waits] of this.#tenants) {
      for (const kind of KINDS) lines.push(...linesOf(tenant, kind, waits));
    }
    for (const kind of KINDS) {
      lines.push(...linesOf(OTHERS, kind, this.#others));
    }
    return `${lines.join("\n")}\n`;
  }

  #note(kind: WaitedFor, tenant: string, waitedMs: number): void {
    let waits = this.#tenants.get(tenant);
    if (waits === undefined) {
      waits = noWaits();
      this.#tenants.set(tenant, waits);
    }
    const seconds = waitedMs / 1_000;
    const place = BOUNDS.findIndex((bound) => seconds <= bound);
    const of = waits[kind];
    if (place !== -1) of.within[place]! += 1;
    of.count++;
    of.seconds += seconds;
  }
}

const KINDS = ["turn", "commit"] as const;

function noWaits(): TenantWaits {
  const none = (): Waits => ({
    within: BOUNDS.map(() => 0),
    count: 0,
    seconds: 0,
  });
  return { turn: none(), commit: none() };
}

function add(to: Waits, from: Waits): void {
  for (const [place, count] of from.within.entries()) {
    to.within[place]! += count;
  }
  to.count += from.count;
  to.seconds += from.seconds;
}

function linesOf(
  tenant: string,
  kind: WaitedFor,
  waits: TenantWaits,
): readonly string[] {
  const { within, count, seconds } = waits[kind];
  if (count === 0) return [];
  const labels = `tenant="${tenant}",for="${kind}"`;
  let upTo = 0;
  return [
    ...BOUNDS.map((bound, place) => {
      upTo += within[place]!;
      return `${NAME}_bucket{${labels},le="${bound}"} ${upTo}`;
    }),
    `${NAME}_bucket{${labels},le="+Inf"} ${count}`,
    `${NAME}_sum{${labels}} ${seconds}`,
    `${NAME}_count{${labels}} ${count}`,
  ];
}
