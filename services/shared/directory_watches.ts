/**
 * The open watches of a set of directories.
 *
 * The runtime counts watches by path: one that is opened while another one
 * for the same path is open, or has not ended yet, joins it, and is as deaf as
 * that one when the directory was replaced meanwhile. So a stale watch is
 * closed, and its end waited for, before the next one is opened.
 *
 * @module
 */

import { basename, dirname } from "node:path";
import type { PlannedDirectory, WatchPlan } from "./watch_plan.ts";

/** One open watch; what the runtime returns fits. */
export interface DirectoryEvents extends AsyncIterable<Deno.FsEvent> {
  /** Ends the iteration. */
  close(): void;
}

/** What a set of watches needs. */
export interface DirectoryWatchesOptions {
  /**
   * Opens a watch of one directory, not of what is below its entries.
   * @default Deno.watchFs
   */
  readonly open?: (directory: string) => DirectoryEvents;
  /** Called for each event that concerns a planned entry. */
  readonly onEvent: () => void;
}

/** What came of applying a plan. */
export interface ApplyOutcome {
  /** How many watches were opened; what came before them was not seen. */
  readonly opened: number;
  /** Why a directory cannot be watched, the first of the reasons. */
  readonly failure:
    | { readonly directory: string; readonly error: unknown }
    | undefined;
}

interface OpenWatch {
  readonly identity: string;
  readonly events: DirectoryEvents;
  /** Resolves when the runtime has let go of the watch. */
  readonly ended: Promise<void>;
}

/** How a plan is applied. */
export interface ApplyOptions {
  /** Whether watches that broke are opened again. */
  readonly retryBroken: boolean;
}

/** Keeps the watches that a plan asks for. */
export class DirectoryWatches {
  readonly #options: DirectoryWatchesOptions;
  readonly #open = new Map<string, OpenWatch>();
  /** Watches that were let go, until the runtime has let go of them too. */
  readonly #ending = new Map<string, Promise<void>>();
  /** Watches that failed while they were open, and how. */
  readonly #broken = new Map<string, unknown>();
  #plan: WatchPlan = new Map();
  #closed = false;

  /** Prepares an empty set. */
  constructor(options: DirectoryWatchesOptions) {
    this.#options = options;
  }

  /**
   * Closes the watches that are not in `plan` or whose directory was replaced,
   * and opens those that are missing. Calls must not overlap.
   */
  async apply(plan: WatchPlan, options: ApplyOptions): Promise<ApplyOutcome> {
    this.#plan = plan;
    if (options.retryBroken) this.#broken.clear();
    for (const [directory, watch] of this.#open) {
      if (plan.get(directory)?.identity === watch.identity) continue;
      this.#release(directory, watch);
    }
    let opened = 0;
    let failure: ApplyOutcome["failure"];
    for (const [directory, { identity }] of plan) {
      if (this.#broken.has(directory)) {
        failure ??= { directory, error: this.#broken.get(directory) };
        continue;
      }
      if (this.#open.has(directory)) continue;
      await this.#ending.get(directory);
      if (this.#closed) break;
      try {
        this.#watch(directory, identity);
        opened += 1;
      } catch (error) {
        // A directory that is gone is a matter of the next plan.
        if (error instanceof Deno.errors.NotFound) continue;
        failure ??= { directory, error };
      }
    }
    return { opened, failure };
  }

  /** Closes all watches; no event comes after that. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const [directory, watch] of this.#open) {
      this.#release(directory, watch);
    }
    await Promise.all(this.#ending.values());
  }

  #watch(directory: string, identity: string): void {
    const { open = watchDirectory } = this.#options;
    const events = open(directory);
    const ended = this.#pump(directory, events);
    this.#open.set(directory, { identity, events, ended });
  }

  async #pump(directory: string, events: DirectoryEvents): Promise<void> {
    try {
      for await (const event of events) {
        if (this.#closed) return;
        if (this.#concerns(event)) this.#options.onEvent();
        // Let go at once, so that others who watch this path do so as well and
        // the next watch is a new one.
        if (saysReplaced(event, directory)) this.#releaseNow(directory);
      }
    } catch (error) {
      if (this.#closed) return;
      this.#broken.set(directory, error);
      this.#releaseNow(directory);
      this.#options.onEvent();
    }
  }

  #releaseNow(directory: string): void {
    const watch = this.#open.get(directory);
    if (watch !== undefined) this.#release(directory, watch);
  }

  #release(directory: string, watch: OpenWatch): void {
    this.#open.delete(directory);
    const ending = watch.ended.finally(() => {
      if (this.#ending.get(directory) === ending) {
        this.#ending.delete(directory);
      }
    });
    this.#ending.set(directory, ending);
    watch.events.close();
  }

  #concerns(event: Deno.FsEvent): boolean {
    // Closing a file after writing; the writing itself was told before.
    if (event.kind === "access") return false;
    if (event.flag === "rescan" || event.paths.length === 0) return true;
    return event.paths.some((path) =>
      this.#plan.has(path) ||
      includes(this.#plan.get(dirname(path)), basename(path))
    );
  }
}

function watchDirectory(directory: string): DirectoryEvents {
  return Deno.watchFs(directory, { recursive: false });
}

function includes(
  planned: PlannedDirectory | undefined,
  name: string,
): boolean {
  if (planned === undefined) return false;
  return planned.names === "all" || planned.names.has(name);
}

/** Kinds are unreliable: what moves is often reported as removed. */
function saysReplaced(event: Deno.FsEvent, directory: string): boolean {
  return (event.kind === "remove" || event.kind === "rename") &&
    event.paths.includes(directory);
}
