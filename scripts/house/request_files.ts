/**
 * Finds the files of a service that run for a request, from V8's counts of
 * function calls on the serving thread.
 *
 * @module
 */

import { Mem } from "../../mod.ts";
import { HttpSocket } from "../bench/kit/http_socket.ts";
import {
  createAccount,
  startRelayer,
} from "../bench/relayer/relayer_process.ts";
import { talkQuestion, talkText } from "../bench/relayer/talk_texts.ts";
import {
  complete,
  createRequests,
  type Lease,
  leaseRequest,
  makeTenant,
  startTasks,
  takenLeases,
} from "../bench/tasks/service.ts";
import { freePorts } from "../smoke/smoke.ts";
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
  const [inspectPort = 0] = freePorts(1);
  const flags = [`--inspect=127.0.0.1:${inspectPort}`];
  const { process, port } = await startTasks(folder, { flags });
  try {
    const tenant = await makeTenant(port);
    using socket = await HttpSocket.connect(port);
    const [create] = createRequests(tenant);
    const lease = leaseRequest(tenant, { batch: 1 });
    const leaseOne = async () => takenLeases(await socket.exchange(lease));
    for (let task = 0; task < WARM_UP; task++) {
      await socket.exchange(create!);
      await complete(socket, { tenant, leases: await leaseOne() });
    }
    using coverage = await Coverage.connect(inspectPort);
    const created = await coverage.filesOf(() => socket.exchange(create!));
    let leases: readonly Lease[] = [];
    const leased = await coverage.filesOf(async () => {
      leases = await leaseOne();
    });
    const completed = await coverage.filesOf(() =>
      complete(socket, { tenant, leases })
    );
    if (leases.length !== 1) {
      throw new Error("Cannot follow a task: it was not leased");
    }
    return [
      { request: "create a task", files: created },
      { request: "lease a task", files: leased },
      { request: "complete a task", files: completed },
    ];
  } finally {
    await process.stop();
    await Deno.remove(folder, { recursive: true });
  }
}

async function filesOfRecall(): Promise<RequestFiles> {
  tell("starting the relayer");
  const folder = await Deno.makeTempDir({ prefix: "tercet-house-" });
  const [inspectPort = 0] = freePorts(1);
  const flags = [`--inspect=127.0.0.1:${inspectPort}`];
  await using rest = new AsyncDisposableStack();
  rest.defer(() => Deno.remove(folder, { recursive: true }));
  const { key, accountId } = await createAccount(folder);
  const { process, url } = await startRelayer(folder, { flags });
  rest.defer(() => process.stop());
  const mem = Mem.create({ serverUrl: url, key, accountId });
  await mem.rememberBulkAndWait(
    Array.from({ length: 10 }, (_, item) => ({ text: talkText(item) })),
  );
  const recall = () => mem.recall({ query: talkQuestion(0), limit: 5 });
  for (let call = 0; call < WARM_UP; call++) await recall();
  using coverage = await Coverage.connect(inspectPort);
  return { request: "recall", files: await coverage.filesOf(recall) };
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
