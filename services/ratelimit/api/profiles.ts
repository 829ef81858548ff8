/**
 * Profiles of the running service for the debug port: where it spends CPU time,
 * and what its heap holds.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import type { Session } from "node:inspector/promises";
import type { Clock } from "../../shared/clock.ts";
import type { HttpRequest, HttpResponse } from "../../shared/http/exchange.ts";
import { quote } from "../../shared/quote.ts";
import { parseQuery } from "./debug_page.ts";
import { type CpuProfile, encodePprof } from "./pprof.ts";
import { problem } from "./problem.ts";

/** Outcome of a request for a CPU profile. */
type ProfileOutcome =
  | {
    readonly kind: "profile";
    readonly profile: CpuProfile;
    /** When the profile began, in milliseconds since the Unix epoch. */
    readonly startMs: number;
  }
  /** Another profile is being taken: V8 takes one at a time. */
  | { readonly kind: "busy" }
  /**
   * The service stops, or the client has gone, before the profile is complete.
   */
  | { readonly kind: "ended" }
  /** The process may not use V8's inspector. */
  | { readonly kind: "forbidden" };

/** Takes CPU profiles of this thread, one at a time. */
export class CpuProfiler {
  readonly #clock: Clock;
  readonly #stopping = new AbortController();
  #isBusy = false;

  /**
   * Makes a profiler; before the first profile it measures and slows nothing.
   */
  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Ends a running profile, and makes later ones end at once. */
  stop(): void {
    this.#stopping.abort();
  }

  /** Takes a profile of `durationMs` milliseconds; ends early on `signal`. */
  async profile(
    durationMs: number,
    signal: AbortSignal,
  ): Promise<ProfileOutcome> {
    if (this.#isBusy) return { kind: "busy" };
    this.#isBusy = true;
    try {
      const ended = AbortSignal.any([signal, this.#stopping.signal]);
      return await this.#profile(durationMs, ended);
    } finally {
      this.#isBusy = false;
    }
  }

  async #profile(
    durationMs: number,
    ended: AbortSignal,
  ): Promise<ProfileOutcome> {
    // The inspector is loaded here, as few processes ever need it.
    const { Session } = await import("node:inspector/promises");
    const session: Session = new Session();
    try {
      session.connect();
    } catch (error) {
      if (error instanceof Deno.errors.NotCapable) return { kind: "forbidden" };
      throw error;
    }
    try {
      await session.post("Profiler.enable");
      await session.post("Profiler.start");
      const startMs = this.#clock.nowMs();
      await this.#wait(durationMs, ended);
      const { profile } = await session.post("Profiler.stop");
      return ended.aborted
        ? { kind: "ended" }
        : { kind: "profile", profile, startMs };
    } finally {
      // Disconnecting turns the profiler off.
      session.disconnect();
    }
  }

  #wait(durationMs: number, ended: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (ended.aborted) return resolve();
      const timer = this.#clock.setTimer(() => {
        ended.removeEventListener("abort", stop);
        resolve();
      }, durationMs);
      const stop = (): void => {
        timer.cancel();
        resolve();
      };
      ended.addEventListener("abort", stop, { once: true });
    });
  }
}

const DEFAULT_SECONDS = 30;
const MAX_SECONDS = 300;

const FILE_HEADERS = {
  "cache-control": "no-store",
  "x-content-type-options": "nosniff",
} as const;

/**
 * Answers a request for a CPU profile: `?seconds=` says how long it takes,
 * `?format=` is `pprof` (compressed with gzip), or `cpuprofile`.
 */
export async function cpuProfileAnswer(
  request: HttpRequest,
  profiler: CpuProfiler,
): Promise<HttpResponse> {
  const query = parseQuery(request);
  const format = query.get("format") ?? "pprof";
  if (format !== "pprof" && format !== "cpuprofile") {
    return problem({
      status: 400,
      detail: `Cannot record profile: format is pprof or cpuprofile, not ${
        quote(format)
      }`,
    });
  }
  const secondsText = query.get("seconds") ?? String(DEFAULT_SECONDS);
  const seconds = Number(secondsText);
  if (!/^\d+$/.test(secondsText) || seconds < 1 || seconds > MAX_SECONDS) {
    return problem({
      status: 400,
      detail: `Cannot record profile: seconds is ${
        quote(secondsText)
      }, not a whole number from 1 to ${MAX_SECONDS}`,
    });
  }
  const gone = new AbortController();
  const stopListening = request.onGone(() => gone.abort());
  const outcome = await profiler.profile(seconds * 1_000, gone.signal);
  stopListening();
  switch (outcome.kind) {
    case "busy":
      return problem({
        status: 409,
        detail: "Cannot record profile: another one is being recorded; try " +
          "again when it has ended",
      });
    case "ended":
      return problem({
        status: 503,
        detail: "Cannot record profile: the service is stopping",
      });
    case "forbidden":
      return problem({
        status: 501,
        detail: "Cannot record profile: this process may not use V8's " +
          "inspector; start it with --allow-sys",
      });
    case "profile":
      return format === "cpuprofile"
        ? fileAnswer(JSON.stringify(outcome.profile), {
          name: "ratelimit.cpuprofile",
          type: "application/json",
        })
        : fileAnswer(
          await gzipped(encodePprof(outcome.profile, outcome.startMs)),
          {
            name: "ratelimit.pb.gz",
            type: "application/octet-stream",
          },
        );
  }
}

// Loads zlib on first use, as only profiles need it.
async function gzipped(bytes: Uint8Array): Promise<Uint8Array> {
  const [{ gzip }, { promisify }] = await Promise.all([
    import("node:zlib"),
    import("node:util"),
  ]);
  return await promisify(gzip)(bytes);
}

/**
 * Largest heap of which a snapshot is taken: the snapshot is several times as
 * large as the heap, and is held in memory whole.
 */
const MAX_HEAP_BYTES = 512 * 1_048_576;

/**
 * Answers with a heap snapshot in the form of Chrome's DevTools. V8 stops
 * everything else while it takes one.
 */
export async function heapSnapshotAnswer(): Promise<HttpResponse> {
  const { getHeapSnapshot, getHeapStatistics } = await import("node:v8");
  const heapBytes = getHeapStatistics().used_heap_size;
  if (heapBytes > MAX_HEAP_BYTES) {
    return problem({
      status: 503,
      detail: `Cannot take heap snapshot: the heap has ${heapBytes} bytes, ` +
        `and more than ${MAX_HEAP_BYTES} would delay decisions too long`,
    });
  }
  const chunks: Uint8Array[] = [];
  for await (const chunk of getHeapSnapshot()) chunks.push(chunk);
  return fileAnswer(Buffer.concat(chunks), {
    name: "ratelimit.heapsnapshot",
    type: "application/json",
  });
}

function fileAnswer(
  body: string | Uint8Array,
  file: { readonly name: string; readonly type: string },
): HttpResponse {
  return {
    status: 200,
    headers: {
      ...FILE_HEADERS,
      "content-type": file.type,
      "content-disposition": `attachment; filename="${file.name}"`,
    },
    body,
  };
}
