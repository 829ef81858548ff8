/**
 * Workers as the API shows them, and the parts of pages that show them.
 *
 * @module
 */

import type { VNode } from "preact";
import { Badge, Time, type Tone } from "../../shared/console/parts.tsx";

/** A worker, with the fields that pages show. */
export interface ShownWorker {
  readonly id: string;
  readonly name: string;
  readonly kind: "push" | "pull";
  readonly url: string | null;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly jobs:
    | Readonly<Record<string, Readonly<Record<string, unknown>>>>
    | null;
  readonly concurrency: number;
  readonly limits: Readonly<Record<string, unknown>> | null;
  readonly timeout: number;
  readonly lease: string;
  readonly retry?: unknown;
  readonly max_lost: number;
  readonly paused: boolean;
  readonly asymmetric: boolean;
  readonly public_key: string | null;
  readonly signing_secret?: string | null;
  readonly paused_at: string | null;
  readonly paused_by: string | null;
  readonly status: "idle" | "active" | "stale" | "paused";
  readonly last_seen_at: string | null;
  readonly instances: readonly {
    readonly name: string;
    readonly last_seen_at: string;
  }[];
  readonly counts: Readonly<
    Record<"waiting" | "running" | "retry" | "failed", number>
  >;
  readonly created_at: string;
  readonly updated_at: string;
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
