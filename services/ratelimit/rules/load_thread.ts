/**
 * Loads rules while decisions go on. Plain files are read a few descriptors at
 * a time. All other documents are read in another thread, as the YAML parser
 * can't be interrupted and takes most of a second for ten thousand rules; what
 * the thread has read comes back a few descriptors at a time, and is compiled
 * between decisions.
 *
 * @module
 */

import type { Clock } from "../../shared/clock.ts";
import { describeError } from "../../shared/settled.ts";
import type { Pausing } from "../../shared/slices.ts";
import {
  compileInSlices,
  type CompileOptions,
  compileSnapshot,
} from "./compile.ts";
import type { ConfigFault, DescriptorConfig, DomainConfig } from "./config.ts";
import {
  type ConfigDocument,
  type Loaded,
  loadPlainRules,
  readRules,
} from "./load.ts";

/** A request to the thread: first to load, then for one part after another. */
type LoadRequest =
  | {
    readonly kind: "load";
    readonly documents: readonly ConfigDocument[];
    readonly compile: CompileOptions;
  }
  | { readonly kind: "next" };

/** An answer of the thread. */
type LoadAnswer =
  | {
    readonly kind: "read";
    readonly faults: readonly ConfigFault[];
    readonly warnings: readonly ConfigFault[];
    readonly domains: readonly Pick<DomainConfig, "name" | "domain">[];
  }
  | { readonly kind: "part"; readonly descriptors: readonly FlatDescriptor[] }
  | { readonly kind: "failed"; readonly reason: string };

/** A descriptor without those nested in it, which follow it. */
interface FlatDescriptor {
  /** Index of its domain. */
  readonly domain: number;
  /** Number of descriptors above it. */
  readonly depth: number;
  /** Its other fields. */
  readonly descriptor: Omit<DescriptorConfig, "descriptors">;
}

type MutableDescriptor = Omit<DescriptorConfig, "descriptors"> & {
  readonly descriptors: MutableDescriptor[];
};

/** The global scope of the thread: its messages in and out. */
export interface LoadThreadScope {
  /** Takes requests. */
  onmessage: ((event: MessageEvent<LoadRequest>) => void) | null;
  /** Sends an answer. */
  postMessage(answer: LoadAnswer): void;
}

/** How rules are loaded in a thread. */
interface LoadInThreadOptions {
  /** How configurations become rules. */
  readonly compile: CompileOptions;
  /**
   * Starts the thread.
   *
   * @default {startLoadThread}
   */
  readonly startThread?: () => Worker;
  /** Lets decisions run in between. */
  readonly pausing: Pausing;
  /** Gives the time, for the time limit. */
  readonly clock: Clock;
  /** Aborts the loading. */
  readonly signal: AbortSignal;
  /**
   * Most milliseconds that the loading may take.
   *
   * @default {60000}
   */
  readonly timeoutMs?: number;
}

/** Descriptors in a message: so many are read without noticeable delay. */
const PART_SIZE = 100;

/**
 * Starts the thread, by a program of its own: the service's program takes
 * longer to load.
 */
function startLoadThread(): Worker {
  return new Worker(new URL("./load_thread_program.ts", import.meta.url), {
    type: "module",
  });
}

/** Answers the requests of {@linkcode loadInThread}. */
export function serveLoads(scope: LoadThreadScope): void {
  let parts: Iterator<readonly FlatDescriptor[]> = splitParts([]);
  scope.onmessage = ({ data }) => {
    try {
      if (data.kind === "next") {
        const descriptors = parts.next().value ?? [];
        return scope.postMessage({ kind: "part", descriptors });
      }
      const { domains, faults, warnings } = readRules(data.documents);
      const compiled = compileSnapshot(domains, data.compile);
      parts = splitParts(domains);
      scope.postMessage({
        kind: "read",
        faults: [...faults, ...compiled.faults],
        warnings,
        domains: domains.map(({ name, domain }) => ({ name, domain })),
      });
    } catch (error) {
      scope.postMessage({ kind: "failed", reason: describeError(error) });
    }
  };
}

/**
 * Does what `loadRules` does, while decisions go on. Starting a thread stops
 * decisions for some 30 ms, so a thread is used only when a file is not plain.
 *
 * @throws {Error} When the thread fails or takes too long, or `signal` ends it.
 */
export async function loadBesideDecisions(
  documents: readonly ConfigDocument[],
  options: LoadInThreadOptions,
): Promise<Loaded> {
  return await loadPlainRules(documents, options) ??
    await loadInThread(documents, options);
}

/**
 * Does what `loadRules` does, in a thread that ends afterwards.
 *
 * @throws {Error} When the thread fails or takes too long, or `signal` ends it.
 */
export async function loadInThread(
  documents: readonly ConfigDocument[],
  options: LoadInThreadOptions,
): Promise<Loaded> {
  const thread = new LoadThread(options);
  try {
    const { compile, pausing } = options;
    const read = await thread.ask({ kind: "load", documents, compile });
    if (read.kind !== "read") throw unexpected(read);
    const { faults, warnings } = read;
    if (faults.length > 0) return { snapshot: undefined, faults, warnings };
    const domains = read.domains.map(({ name, domain }) => ({
      name,
      domain,
      descriptors: [] as MutableDescriptor[],
      // The thread has compiled these domains already, so no fault needs a
      // line.
      findLine: () => undefined,
    }));
    const levels = domains.map(({ descriptors }) => [descriptors]);
    while (true) {
      const part = await thread.ask({ kind: "next" });
      if (part.kind !== "part") throw unexpected(part);
      if (part.descriptors.length === 0) break;
      for (const { domain, depth, descriptor } of part.descriptors) {
        const whole = { ...descriptor, descriptors: [] };
        levels[domain]![depth]!.push(whole);
        levels[domain]![depth + 1] = whole.descriptors;
      }
      await pausing.pause();
    }
    const compiled = await compileInSlices(domains, { ...compile, pausing });
    return { ...compiled, warnings };
  } finally {
    thread.end();
  }
}

/** The thread, which gets one request at a time. */
class LoadThread {
  readonly #worker: Worker;
  readonly #ended = Promise.withResolvers<never>();
  readonly #end: () => void;
  #answer = Promise.withResolvers<LoadAnswer>();

  constructor(
    {
      startThread = startLoadThread,
      clock,
      signal,
      timeoutMs = 60_000,
    }: LoadInThreadOptions,
  ) {
    this.#worker = startThread();
    const fail = (why: string) =>
      this.#ended.reject(new Error(`the rules could not be loaded: ${why}`));
    const onAbort = () => fail("the service stops");
    const timer = clock.setTimer(
      () => fail(`it takes longer than ${timeoutMs} ms`),
      timeoutMs,
    );
    signal.addEventListener("abort", onAbort, { once: true });
    this.#ended.promise.catch(() => {});
    this.#worker.onmessage = ({ data }) => this.#answer.resolve(data);
    this.#worker.onerror = (event) => {
      event.preventDefault();
      fail(event.message);
    };
    this.#end = () => {
      timer.cancel();
      signal.removeEventListener("abort", onAbort);
      this.#worker.terminate();
    };
    if (signal.aborted) onAbort();
  }

  async ask(request: LoadRequest): Promise<LoadAnswer> {
    this.#answer = Promise.withResolvers<LoadAnswer>();
    this.#worker.postMessage(request);
    return await Promise.race([this.#answer.promise, this.#ended.promise]);
  }

  end(): void {
    this.#end();
  }
}

function unexpected(answer: LoadAnswer): Error {
  const why = answer.kind === "failed" ? answer.reason : answer.kind;
  return new Error(`the rules could not be loaded: ${why}`);
}

/** Yields all descriptors, each before those nested in it, some at a time. */
function* splitParts(
  domains: readonly DomainConfig[],
): Generator<readonly FlatDescriptor[]> {
  let part: FlatDescriptor[] = [];
  for (const [domain, { descriptors }] of domains.entries()) {
    for (const flat of flatten(descriptors, { domain, depth: 0 })) {
      part.push(flat);
      if (part.length < PART_SIZE) continue;
      yield part;
      part = [];
    }
  }
  if (part.length > 0) yield part;
}

function* flatten(
  descriptors: readonly DescriptorConfig[],
  at: { readonly domain: number; readonly depth: number },
): Generator<FlatDescriptor> {
  for (const { descriptors: below, ...descriptor } of descriptors) {
    yield { ...at, descriptor };
    yield* flatten(below, { ...at, depth: at.depth + 1 });
  }
}
