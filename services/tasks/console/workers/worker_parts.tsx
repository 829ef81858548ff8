/**
 * Workers as the API shows them, and the parts of pages that show them.
 *
 * @module
 */

import type { VNode } from "preact";
import { Badge, Time, type Tone } from "../../../shared/console/parts.tsx";

/** A worker, with the fields that pages show. */
export interface ShownWorker {
  /** Begins with `wrk_`. */
  readonly id: string;
  /** What tasks name it by. */
  readonly name: string;
  /** Whether it is called or asks for tasks. */
  readonly kind: "push" | "pull";
  /** Where it is called; null for one that asks. */
  readonly url: string | null;
  /** How it is called. */
  readonly method: string;
  /** Headers of its calls. */
  readonly headers: Readonly<Record<string, string>>;
  /** Its jobs, each with what it has of its own; null for any. */
  readonly jobs:
    | Readonly<Record<string, Readonly<Record<string, unknown>>>>
    | null;
  /** Most tasks under way at once; 0 for as many as the plan allows. */
  readonly concurrency: number;
  /** Limits besides; null for no others. */
  readonly limits: Readonly<Record<string, unknown>> | null;
  /** How long an attempt may take, in milliseconds. */
  readonly timeout: number;
  /** How long a lease lasts, in ISO 8601. */
  readonly lease: string;
  /** Its retries; absent for those of the service, null for none. */
  readonly retry?: unknown;
  /** Lost attempts in a row after which the next one is a failure. */
  readonly max_lost: number;
  /** Whether it is given nothing. */
  readonly paused: boolean;
  /** Whether its calls are signed with a key pair too. */
  readonly asymmetric: boolean;
  /** The public half of the pair. */
  readonly public_key: string | null;
  /** The secret of its calls; in the answer that made it alone. */
  readonly signing_secret?: string | null;
  /** Since when it is paused. */
  readonly paused_at: string | null;
  /** Who has paused it. */
  readonly paused_by: string | null;
  /** How it is now. */
  readonly status: "idle" | "active" | "stale" | "paused";
  /** When it last asked for tasks. */
  readonly last_seen_at: string | null;
  /** Its processes. */
  readonly instances: readonly {
    /** What the process calls itself. */
    readonly name: string;
    /** When it last asked for tasks. */
    readonly last_seen_at: string;
  }[];
  /** How many tasks it has in each status. */
  readonly counts: Readonly<
    Record<"waiting" | "running" | "retry" | "failed", number>
  >;
  /** When it was created. */
  readonly created_at: string;
  /** When its definition changed last. */
  readonly updated_at: string;
  /** Grows with each change. */
  readonly version: number;
}

const TONES: Readonly<Record<ShownWorker["status"], Tone>> = {
  idle: "dim",
  active: "good",
  stale: "bad",
  paused: "dim",
};

/** The status of a worker. */
export function WorkerBadge(
  { status }: Pick<ShownWorker, "status">,
): VNode {
  return (
    <Badge tone={TONES[status]} isHollow={status !== "active"}>{status}</Badge>
  );
}

/** Says in a sentence how a worker is. */
export function WorkerSentence(
  { worker, nowMs }: { readonly worker: ShownWorker; readonly nowMs: number },
): VNode {
  const { status, kind, counts, last_seen_at: seenAt, url } = worker;
  if (status === "paused") {
    return (
      <span>
        It is given nothing since <Time at={worker.paused_at} />, by{" "}
        <code>{worker.paused_by}</code>; {counts.waiting} tasks wait.
      </span>
    );
  }
  if (kind === "push") {
    return (
      <span>
        The service calls it at <code>{url}</code>; {counts.running}{" "}
        calls are under way.
      </span>
    );
  }
  return seenAt === null
    ? (
      <span>
        It has asked for nothing since the service was started; {counts.waiting}
        {" "}
        tasks wait.
      </span>
    )
    : (
      <span>
        It asked for tasks <Time at={seenAt} nowMs={nowMs} />; {counts.waiting}
        {" "}
        wait.
      </span>
    );
}
