/**
 * Lets a task wait for an event or a person, without a worker in the meantime.
 *
 * @module
 */

import type { Resumed, WaitFor } from "./api_types.ts";

/** What a task waits for, and for how long. */
export type TaskWaitOptions =
  & (
    | {
      /** The name of the event: letters, digits and `_.:-`, at most 64. */
      readonly event: string;
    }
    | {
      /** The decision of a person. */
      readonly approval: {
        /**
         * The least role of who decides.
         *
         * @default {"member"}
         */
        readonly by?: "member" | "admin" | "owner" | undefined;
        /**
         * Whether the person who created the task may not decide.
         *
         * @default {false}
         */
        readonly byAnother?: boolean | undefined;
      };
    }
  )
  & {
    /**
     * Milliseconds to wait, from a second to 366 days.
     *
     * @default {a week}
     */
    readonly timeoutMs?: number | undefined;
    /**
     * Whether the end of that time calls the handler again, with `timed_out` in
     * `resumed`, or fails the task.
     *
     * @default {"resume"}
     */
    readonly onTimeout?: "resume" | "fail" | undefined;
    /** What people are asked or told; all who see the task see it. */
    readonly message?: string | undefined;
    /**
     * State for the next attempt of the handler, as JSON of up to 64 KiB.
     *
     * @default what the run's wait before has saved
     */
    readonly state?: unknown;
  };

/** The end of a task's wait. */
export type Resumption =
  & Pick<Resumed, "at">
  & (
    | {
      /** The event came. */
      readonly kind: "event";
      /** Whether the time was over. */
      readonly timed_out: false;
      /** The event's name. */
      readonly event: string;
      /** The event's data. */
      readonly data: unknown;
      /** Who sent it. */
      readonly actor: NonNullable<Resumed["actor"]>;
    }
    | {
      /** A person has decided. */
      readonly kind: "approval";
      /** Whether the time was over. */
      readonly timed_out: false;
      /** The decision. */
      readonly approved: boolean;
      /** What the person said to it. */
      readonly comment?: string | undefined;
      /** Who decided. */
      readonly actor: NonNullable<Resumed["actor"]>;
    }
    | {
      /** Nothing came in time. */
      readonly kind: "timeout";
      /** Whether the time was over. */
      readonly timed_out: true;
    }
    | {
      /** A caller has run the task by hand. */
      readonly kind: "run";
      /** Whether the time was over. */
      readonly timed_out: false;
      /** Who ran it. */
      readonly actor: NonNullable<Resumed["actor"]>;
    }
  );

/** What a handler returns instead of a result so that its task waits. */
export class TaskWait {
  /** The wait as the service takes it. */
  readonly waitFor: WaitFor;

  /** Takes the wait as the service takes it; see {@linkcode waitFor}. */
  constructor(waitFor: WaitFor) {
    this.waitFor = waitFor;
  }
}

const MAX_WAIT_MS = 366 * 86_400_000;
const MAX_STATE_BYTES = 65_536;
const EVENT = /^[A-Za-z0-9][A-Za-z0-9_.:-]{0,63}$/;

/**
 * Ends an attempt so that the task waits, durably and without a worker, until
 * an event comes, a person decides, or the time is over. The handler is then
 * called again, with `resumed` and `state` in its context. No try is spent.
 *
 * @throws {TypeError} When the service would not take the wait.
 *
 * @example Send an offer that an admin has approved
 * ```ts
 * import { type TaskHandler, waitFor } from "@tercet/sdk/tasks";
 *
 * const offer: TaskHandler<{ to: string }> = (task, { resumed, state }) => {
 *   if (resumed?.kind !== "approval") {
 *     const draft = `Dear ${task.data.to}`;
 *     return waitFor({
 *       approval: { by: "admin" },
 *       message: `Send the offer to ${task.data.to}?`,
 *       timeoutMs: 2 * 86_400_000,
 *       state: { draft },
 *     });
 *   }
 *   return { sent: resumed.approved, draft: state };
 * };
 * console.log(typeof offer); // function
 * ```
 */
export function waitFor(options: TaskWaitOptions): TaskWait {
  const { timeoutMs, onTimeout, message, state } = options;
  if ("event" in options && !EVENT.test(options.event)) {
    throw new TypeError(
      `Cannot wait for the event "${options.event}": its name has other ` +
        'characters than letters, digits, "_", ".", ":" and "-", or is too long',
    );
  }
  if (timeoutMs !== undefined && !(timeoutMs >= 1_000)) {
    throw new TypeError("Cannot wait: timeoutMs is less than 1000");
  }
  if (timeoutMs !== undefined && timeoutMs > MAX_WAIT_MS) {
    throw new TypeError(`Cannot wait: timeoutMs is more than ${MAX_WAIT_MS}`);
  }
  checkState(state);
  return new TaskWait({
    ...("event" in options ? { event: options.event } : {
      approval: {
        by: options.approval.by,
        by_another: options.approval.byAnother,
      },
    }),
    timeout: timeoutMs === undefined ? undefined : { milliseconds: timeoutMs },
    on_timeout: onTimeout,
    message,
    state,
  });
}

function checkState(state: unknown): void {
  if (state === undefined) return;
  // JSON.stringify() returns undefined for functions, against its type.
  const json: string | undefined = JSON.stringify(state);
  if (json === undefined) {
    throw new TypeError("Cannot wait: the state is not JSON");
  }
  const { length } = new TextEncoder().encode(json);
  if (length <= MAX_STATE_BYTES) return;
  throw new TypeError(
    `Cannot wait: the state has ${length} bytes as JSON, ` +
      `${MAX_STATE_BYTES} are the most; save it elsewhere`,
  );
}
