/**
 * Reads a tenant's events as they happen, and goes on by itself after a break.
 *
 * @module
 */

import { throwIfEnded } from "../memory/life.ts";
import {
  type CallOptions,
  isPassing,
  type ServiceCalls,
} from "./service_calls.ts";
import { TasksError } from "./tasks_error.ts";

/** Options of {@linkcode TasksClient.events}. */
export interface EventsOptions extends CallOptions {
  /**
   * Only events of these types; `task.*` stands for all that begin so.
   *
   * @default all that the key may see
   */
  readonly types?: readonly string[] | undefined;
  /**
   * Only events of the task with this id.
   *
   * @default of all tasks
   */
  readonly task?: string | undefined;
  /**
   * Only events of this worker and its tasks: an id or a name.
   *
   * @default of all workers
   */
  readonly worker?: string | undefined;
  /**
   * Only events of tasks of this job.
   *
   * @default of all jobs
   */
  readonly job?: string | undefined;
  /**
   * The `id` of the last event that was handled.
   *
   * @default the events from now on
   */
  readonly after?: string | undefined;
}

/** Something that happened in a tenant, as the service tells it. */
export interface TenantEvent {
  /**
   * The type of the event, such as `task.completed`. `reset`: events before this one are
   * missing, since the last one that was read is older than what is kept.
   */
  readonly type: string;
  /** When it happened, in RFC 3339. */
  readonly timestamp: string;
  /** Names the event; reading goes on after it. */
  readonly id: string;
  /** Ids, status, dates and errors; never payloads or results. */
  readonly data: Readonly<Record<string, unknown>>;
}

/** The service sends something each 15 seconds. */
const SILENT_MS = 45_000;
const FIRST_PAUSE_MS = 200;
const LONGEST_PAUSE_MS = 5_000;

/**
 * Reads events until the signal aborts.
 *
 * @throws {TasksError} When the service refuses.
 * @throws {unknown} The signal's reason, when it aborts.
 */
export async function* readEvents(
  calls: ServiceCalls,
  { types, task, worker, job, after, signal }: EventsOptions,
): AsyncGenerator<TenantEvent, void> {
  let lastId = after;
  let failures = 0;
  while (true) {
    const ending = new AbortController();
    const end = (): void => ending.abort();
    signal?.addEventListener("abort", end, { once: true });
    try {
      const body = await calls.open({
        action: "read events",
        path: ["events"],
        query: { type: types, task, worker, job },
        headers: lastId === undefined ? {} : { "last-event-id": lastId },
        ending,
        signal,
      });
      for await (const block of readBlocks(body, { calls, ending })) {
        failures = 0;
        lastId = block.id ?? lastId;
        const { event, data } = block;
        if (event === "cut") break;
        if (event === "reset") yield resetEvent(calls, lastId ?? "");
        else if (data !== undefined) yield JSON.parse(data) as TenantEvent;
      }
    } catch (error) {
      if (signal?.aborted !== true && !isBroken(error)) throw error;
    } finally {
      signal?.removeEventListener("abort", end);
      ending.abort();
    }
    if (signal !== undefined) throwIfEnded(signal);
    const pauseMs = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** failures);
    failures++;
    await calls.pause(pauseMs * (0.5 + Math.random() / 2), signal);
  }
}

function resetEvent({ clock }: ServiceCalls, id: string): TenantEvent {
  const timestamp = new Date(clock.nowMs()).toISOString();
  return { type: "reset", timestamp, id, data: {} };
}

/** Whether reading can go on: the connection broke, or the service is away. */
function isBroken(error: unknown): boolean {
  return !(error instanceof TasksError) || isPassing(error);
}

/** The fields of a server-sent event that are used here. */
interface Block {
  readonly id: string | undefined;
  readonly event: string | undefined;
  readonly data: string | undefined;
}

/** Reads server-sent events; ends where nothing comes for some time. */
async function* readBlocks(
  body: ReadableStream<Uint8Array>,
  { calls, ending }: {
    readonly calls: ServiceCalls;
    readonly ending: AbortController;
  },
): AsyncGenerator<Block, void> {
  const reader = body.getReader();
  // Not every `fetch` ends the body together with its request.
  const cancel = (): void => void reader.cancel().catch(() => {});
  ending.signal.addEventListener("abort", cancel, { once: true });
  const decoder = new TextDecoder();
  let text = "";
  while (true) {
    const timer = calls.clock.setTimer(() => ending.abort(), SILENT_MS);
    const { value, done } = await reader.read()
      .finally(() => timer.cancel());
    if (done) return;
    text += decoder.decode(value, { stream: true });
    const blocks = text.split("\n\n");
    text = blocks.pop() ?? "";
    for (const block of blocks) yield readBlock(block);
  }
}

function readBlock(block: string): Block {
  const fields = new Map(
    block.split("\n").map((line) => {
      const colon = line.indexOf(": ");
      return [line.slice(0, colon), line.slice(colon + 2)];
    }),
  );
  return {
    id: fields.get("id"),
    event: fields.get("event"),
    data: fields.get("data"),
  };
}
