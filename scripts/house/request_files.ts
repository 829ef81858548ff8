/**
 * Finds the files of a service that run for a request, from V8's counts of
 * function calls on the serving thread.
 *
 * @module
 */

import { Mem } from "../../mod.ts";
import { startBenchRelayer } from "../bench/relayer/bench_relayer.ts";
import { memoryText, question } from "../bench/relayer/memory_texts.ts";
import { BenchService } from "../bench/tasks/bench_service.ts";
import { createRequest, makeTenant } from "../bench/tasks/bench_tenant.ts";
import { complete, leaseRequest, leasesOf } from "../bench/tasks/drain_loop.ts";
import { freePort } from "../bench/tasks/free_port.ts";
import { HttpSocket, requestBytes } from "../bench/tasks/http_socket.ts";
import { tell } from "../terminal.ts";

/** The files that run for one kind of request. */
export interface RequestFiles {
  /** A description of the request. */
  readonly request: string;
  /** Paths within the project, in alphabetical order. */
  readonly files: readonly string[];
}

const ROOT = new URL("../../", import.meta.url).href;
/**
 * Number of requests made before the measured one, so that one-time work does
 * not count.
 */
const WARM_UP = 20;

/**
 * Starts the services, makes each request once, and returns which files ran.
 */
export async function filesOfRequests(): Promise<readonly RequestFiles[]> {
  return [...await filesOfTasks(), await filesOfRecall()];
}

async function filesOfTasks(): Promise<readonly RequestFiles[]> {
  tell("starting tasks");
  const folder = await Deno.makeTempDir({ prefix: "tercet-house-" });
  const inspectPort = freePort();
  const service = await BenchService.start(folder, { inspectPort });
  try {
    const { port } = service;
    const tenant = await makeTenant(port);
    using socket = await HttpSocket.connect(port);
    const job = { ...tenant, batch: 1 };
    const create = requestBytes(createRequest(tenant, 0));
    const leaseOne = async () =>
      leasesOf(await socket.exchange(leaseRequest(job)));
    for (let task = 0; task < WARM_UP; task++) {
      await socket.exchange(create);
      await complete(socket, { job, leases: await leaseOne(), failures: {} });
    }
    using coverage = await Coverage.connect(inspectPort);
    const created = await coverage.filesOf(() => socket.exchange(create));
    let leases: Awaited<ReturnType<typeof leaseOne>> = [];
    const leased = await coverage.filesOf(async () => {
      leases = await leaseOne();
    });
    const failures: Record<string, number> = {};
    const completed = await coverage.filesOf(() =>
      complete(socket, { job, leases, failures })
    );
    if (leases.length !== 1 || Object.keys(failures).length > 0) {
      throw new Error("Cannot follow a task: it was not leased and completed");
    }
    return [
      { request: "create a task", files: created },
      { request: "lease a task", files: leased },
      { request: "complete a task", files: completed },
    ];
  } finally {
    await service.stop();
    await Deno.remove(folder, { recursive: true });
  }
}

async function filesOfRecall(): Promise<RequestFiles> {
  tell("starting the relayer");
  const folder = await Deno.makeTempDir({ prefix: "tercet-house-" });
  const inspectPort = freePort();
  try {
    await using relayer = await startBenchRelayer(folder, { inspectPort });
    const { url: serverUrl, key, accountId } = relayer;
    const mem = Mem.create({ serverUrl, key, accountId });
    await mem.rememberBulkAndWait(
      Array.from({ length: 10 }, (_, item) => ({ text: memoryText(item) })),
    );
    const recall = () => mem.recall({ query: question(0), limit: 5 });
    for (let call = 0; call < WARM_UP; call++) await recall();
    using coverage = await Coverage.connect(inspectPort);
    return { request: "recall", files: await coverage.filesOf(recall) };
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

interface CoverageResult {
  readonly result: readonly {
    readonly url: string;
    readonly functions: readonly {
      readonly ranges: readonly { readonly count: number }[];
    }[];
  }[];
}

/**
 * A connection to a process's inspector, which reports the functions that ran.
 */
class Coverage {
  readonly #socket: WebSocket;
  readonly #waiting = new Map<number, PromiseWithResolvers<unknown>>();
  #asked = 0;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.onmessage = ({ data }) => this.#settle(String(data));
  }

  /** Connects to the inspector on a port of this machine. */
  static async connect(port: number): Promise<Coverage> {
    const listed = await fetch(`http://127.0.0.1:${port}/json`);
    const [target]: { readonly webSocketDebuggerUrl: string }[] = await listed
      .json();
    if (target === undefined) throw new Error("Cannot inspect: no target");
    const socket = new WebSocket(target.webSocketDebuggerUrl);
    await new Promise((resolve, reject) => {
      socket.onopen = resolve;
      socket.onerror = reject;
    });
    const coverage = new Coverage(socket);
    await coverage.#ask("Profiler.enable");
    await coverage.#ask("Profiler.startPreciseCoverage", {
      callCount: true,
      detailed: false,
    });
    return coverage;
  }

  /**
   * Returns the files of the project in which a function was called while
   * `action` ran.
   */
  async filesOf(action: () => Promise<unknown>): Promise<readonly string[]> {
    await this.#take();
    await action();
    const { result } = await this.#take();
    return result
      .filter(({ url, functions }) =>
        url.startsWith(ROOT) && !url.includes("/scripts/offline/") &&
        functions.some(({ ranges: [all] }) => (all?.count ?? 0) > 0)
      )
      .map(({ url }) => url.slice(ROOT.length))
      .sort();
  }

  [Symbol.dispose](): void {
    this.#socket.close();
  }

  async #take(): Promise<CoverageResult> {
    return await this.#ask("Profiler.takePreciseCoverage") as CoverageResult;
  }

  #ask(method: string, params: object = {}): Promise<unknown> {
    const id = ++this.#asked;
    const waiting = Promise.withResolvers<unknown>();
    this.#waiting.set(id, waiting);
    this.#socket.send(JSON.stringify({ id, method, params }));
    return waiting.promise;
  }

  #settle(text: string): void {
    const answer: {
      readonly id?: number;
      readonly result?: unknown;
      readonly error?: { readonly message: string };
    } = JSON.parse(text);
    if (answer.id === undefined) return;
    const waiting = this.#waiting.get(answer.id);
    this.#waiting.delete(answer.id);
    if (answer.error === undefined) waiting?.resolve(answer.result);
    else waiting?.reject(new Error(`Cannot inspect: ${answer.error.message}`));
  }
}
