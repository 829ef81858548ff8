/**
 * `tercet tasks events`: shows a tenant's events as they happen.
 *
 * @module
 */

import type { TasksClient, TenantEvent } from "../../../sdk/tasks.ts";
import { type CommandShape, readCommand } from "../../shared/command_line.ts";
import { repeatedOption, textOption } from "../../shared/options.ts";
import { asking, type CliIo, connect, CONNECTION } from "./connection.ts";
import { shownTime } from "./table.ts";

const FLAGS = {
  ...CONNECTION,
  type: repeatedOption({
    help: "Of this type; `task.*` stands for all that begin so.",
  }),
  task: textOption({ help: "Of the task with this id." }),
  worker: textOption({ help: "Of this worker and its tasks." }),
  job: textOption({ help: "Of tasks of this job." }),
  after: textOption({ help: "After the event with this id." }),
} as const;

const EVENTS: CommandShape = {
  usage: "tercet tasks events",
  about:
    "Shows events as they happen, until it is interrupted; after a break " +
    "it goes on where it was. Exit codes: 1 refused, 2 invalid arguments.",
};

/** Runs `events`; returns the exit code. */
export async function runEvents(
  args: readonly string[],
  io: CliIo,
): Promise<number> {
  const read = readCommand(FLAGS, { args, io, command: EVENTS });
  if (read.kind === "done") return read.exitCode;
  const { values } = read;
  const connected = await connect(values, { io, command: EVENTS });
  if (connected.kind === "done") return connected.exitCode;
  const { type, task, worker, job, after, json } = values;
  return await asking(io, async () => {
    const types = type.length === 0 ? undefined : type;
    const events = connected.tasks.events({ types, task, worker, job, after });
    for await (const event of events) {
      io.out(json ? JSON.stringify(event) : formatEvent(event));
    }
    return 0;
  });
}

/** Formats an event as a line. */
function formatEvent({ timestamp, type, data }: TenantEvent): string {
  const { task, worker, job, status, error, message, target } = data;
  const { code, message: reason } = Object(error);
  const said = code === undefined ? message : `${code}: ${reason}`;
  const words = [task ?? target, worker, job, status, said];
  const text = words.filter((word) => typeof word === "string" && word !== "")
    .join("  ").replaceAll(/\p{Cc}+/gu, " ");
  return `${shownTime(timestamp)}  ${type}  ${text}`.trimEnd();
}

/** How often a task is looked at where its events cannot be read. */
const LOOK_MS = 500;
/** How seldom it is looked at in the end besides its events. */
const LONGEST_LOOK_MS = 15_000;

/** Tells when something has happened to a task. */
export class TaskWatch implements Disposable {
  readonly #ending = new AbortController();
  #wake: (() => void) | undefined;
  #isWoken = false;
  #lookMs = LOOK_MS;
  #hasEvents = true;

  /** Begins to read the events of a task. */
  constructor(tasks: TasksClient, task: string) {
    const { signal } = this.#ending;
    const read = async (): Promise<void> => {
      for await (const _ of tasks.events({ task, signal })) this.#tell();
    };
    // Without the events it is looked at more often.
    read().catch(() => {
      this.#hasEvents = false;
      this.#lookMs = LOOK_MS;
      this.#tell();
    });
  }

  /** Waits until something has happened, or some time. */
  async next(): Promise<void> {
    if (!this.#isWoken) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, this.#lookMs);
        this.#wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    this.#isWoken = false;
    this.#wake = undefined;
    // The first looks find changes from before the events came.
    if (!this.#hasEvents) return;
    this.#lookMs = Math.min(LONGEST_LOOK_MS, 2 * this.#lookMs);
  }

  /** Ends reading. */
  [Symbol.dispose](): void {
    this.#ending.abort(new DOMException("no longer watched", "AbortError"));
  }

  #tell(): void {
    this.#isWoken = true;
    this.#wake?.();
  }
}
