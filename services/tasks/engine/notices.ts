/**
 * What this instance tells the others, and hears from them. While it is alone,
 * nothing is built or sent.
 *
 * @module
 */

import type { Notice } from "../store/instances.ts";
import type { Store } from "../store/store.ts";
import type { Instances } from "../../shared/instances.ts";

/** A kind of notices. */
type NoticeKind = Notice["kind"];

/** Options of {@linkcode Notices}. */
interface NoticesOptions {
  /** Carries the notices. */
  readonly store: Pick<Store, "tell" | "onNotice">;
  /** Knows whether there are others. */
  readonly instances: Pick<Instances, "hasOthers">;
}

/** Tells and hears notices. */
export class Notices {
  readonly #options: NoticesOptions;
  readonly #listeners = new Map<NoticeKind, Set<(notice: Notice) => void>>();
  readonly #waiting = new Map<string, Notice>();
  #endListening: (() => void) | undefined;

  /** Hears nothing yet. */
  constructor(options: NoticesOptions) {
    this.#options = options;
  }

  /** Whether there are others to tell something. */
  get areNeeded(): boolean {
    return this.#options.instances.hasOthers;
  }

  /** Begins to hear what others tell. */
  start(): void {
    this.#endListening ??= this.#options.store.onNotice((notice) => {
      for (const listen of this.#listeners.get(notice.kind) ?? []) {
        listen(notice);
      }
    });
  }

  /** No longer hears anything. */
  stop(): void {
    this.#endListening?.();
    this.#endListening = undefined;
  }

  /**
   * Tells the others, together with what else is told in the same turn of the
   * event loop; equal notices of a turn become one, as do those of tasks with
   * the same worker, job and group.
   */
  tell(notice: Notice): void {
    if (!this.areNeeded) return;
    if (this.#waiting.size === 0) queueMicrotask(() => this.#flush());
    const key = formatKey(notice);
    const known = this.#waiting.get(key);
    if (known === undefined || rankOf(notice) < rankOf(known)) {
      this.#waiting.set(key, notice);
    }
  }

  /** Calls `listen`, which must not throw, with the notices of a kind. */
  on<Kind extends NoticeKind>(
    kind: Kind,
    listen: (notice: Extract<Notice, { readonly kind: Kind }>) => void,
  ): void {
    const listeners = this.#listeners.get(kind) ?? new Set();
    this.#listeners.set(kind, listeners);
    // Only notices of that kind are looked up by it.
    listeners.add(listen as (notice: Notice) => void);
  }

  #flush(): void {
    const notices = [...this.#waiting.values()];
    this.#waiting.clear();
    this.#options.store.tell(notices);
  }
}

/** What notices have in common of which one is enough. */
function formatKey(notice: Notice): string {
  if (notice.kind !== "due" || notice.task === undefined) {
    return JSON.stringify(notice);
  }
  const { kind, tenantId, workerId, task: { job, group } } = notice;
  return JSON.stringify([kind, tenantId, workerId, job, group]);
}

function rankOf(notice: Notice): number {
  return notice.kind === "due" ? notice.task?.rank ?? 0 : 0;
}
