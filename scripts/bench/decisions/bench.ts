/**
 * One run of the benchmark of decisions: starts the servers, sends the loads in
 * turns, and collects the results.
 *
 * @module
 */

import { tell } from "../../terminal.ts";
import { type BenchServer, startRedis } from "../bench_servers.ts";
import type { Bar } from "../tasks/bar.ts";
import { median } from "../tasks/load_job.ts";
import { CALL_PATH, callMessage } from "./call_frames.ts";
import type { FrameJob } from "./frame_load.ts";
import {
  frameLoad,
  h2Load,
  makeCertificate,
  MeasuredProcess,
  wrkRequests,
} from "./measured_process.ts";

const RULES = `domain: bench
descriptors:
  - key: remote_address
    rate_limit: {unit: hour, requests_per_unit: 1000000000}
  - key: path
    descriptors:
      - key: method
        rate_limit: {unit: minute, requests_per_unit: 1000000000}
  - key: plan
    value: free
    rate_limit: {unit: hour, requests_per_unit: 100}
`;
const MESSAGE = callMessage({ descriptors: 2 }, 0);
/**
 * The default load of the bench's own client; the port and the duration are
 * added for each run.
 */
export const FRAMES: Omit<FrameJob, "port" | "ms"> = {
  isEcho: false,
  connections: 8,
  streams: 32,
  values: 1,
  descriptors: 2,
  isHeaderNew: false,
};

/** The result of one round of a load. */
export interface Cost {
  /** Processor time that the server used for one call, in microseconds. */
  readonly cpuUs: number;
  /** Calls that were answered in a second. */
  readonly perSecond: number;
  /**
   * Median latency of a call, in milliseconds; absent when the client does not
   * tell latencies.
   */
  readonly p50Ms?: number;
  /** 99th percentile of the latency of a call, in milliseconds. */
  readonly p99Ms?: number;
  /** 99.9th percentile of the latency of a call, in milliseconds. */
  readonly p999Ms?: number;
}

/** The loads that are measured in turns, by name. */
type Loads<Name extends string> = Readonly<Record<Name, () => Promise<Cost>>>;

/** Holds the servers that run and the figures measured so far. */
export class Bench {
  /** All figures measured so far, with the bars that they have to meet. */
  readonly bars: Bar[] = [];
  /** Duration of each load, in seconds. */
  readonly seconds: number;
  /** How many times each load is measured. */
  readonly rounds: number;
  readonly #folder: string;
  #services = 0;
  readonly #running: { stop(): Promise<void> }[] = [];

  /** Creates a bench that keeps its files in a folder. */
  constructor(
    folder: string,
    { rounds, seconds }: { readonly rounds: number; readonly seconds: number },
  ) {
    this.#folder = folder;
    this.rounds = rounds;
    this.seconds = seconds;
  }

  /** Starts the ratelimit service with the bench's rules, or with others. */
  async service(
    env: Readonly<Record<string, string>> = {},
    { rules = RULES, isPinned }: {
      /** The YAML of the service's only rules file. */
      readonly rules?: string | undefined;
      /**
       * Whether the service is pinned to one core.
       *
       * @default true
       */
      readonly isPinned?: boolean | undefined;
    } = {},
  ): Promise<MeasuredProcess> {
    const settings = { ...await this.#settings(rules), ...env };
    return this.#keep(await MeasuredProcess.service(settings, { isPinned }));
  }

  /**
   * Starts another implementation of the rate limit protocol with the bench's
   * rules.
   */
  async reference(
    command: string,
    env: Readonly<Record<string, string>>,
  ): Promise<MeasuredProcess> {
    const settings = await this.#settings(RULES);
    return this.#keep(
      await MeasuredProcess.reference(command, { ...settings, ...env }),
    );
  }

  /** Makes a TLS certificate and its key in the bench's folder. */
  certificate(): ReturnType<typeof makeCertificate> {
    return makeCertificate(this.#folder);
  }

  async #settings(rules: string): Promise<Readonly<Record<string, string>>> {
    const root = `${this.#folder}/${this.#services++}`;
    await Deno.mkdir(`${root}/config`, { recursive: true });
    await Deno.writeTextFile(`${root}/config/bench.yaml`, rules);
    return { RUNTIME_ROOT: root, RUNTIME_SUBDIRECTORY: "" };
  }

  /** Starts one of the peers that the service is compared with, by name. */
  async peer(name: string): Promise<MeasuredProcess> {
    return this.#keep(await MeasuredProcess.peer(name));
  }

  /** Starts Redis; `undefined` when redis-server is not installed. */
  async redis(): Promise<BenchServer | undefined> {
    const server = await startRedis(this.#folder);
    return server === undefined ? undefined : this.#keep(server);
  }

  #keep<Server extends { stop(): Promise<void> }>(server: Server): Server {
    this.#running.push(server);
    return server;
  }

  /** Stops all servers. */
  async stopAll(): Promise<void> {
    while (this.#running.length > 0) await this.#running.pop()?.stop();
  }

  /** Runs loads in turns and gives their medians; the first round warms up. */
  async inTurns<Name extends string>(
    loads: Loads<Name>,
  ): Promise<Readonly<Record<Name, Cost>>> {
    const names = Object.keys(loads) as Name[];
    const rounds = new Map<Name, Cost[]>(names.map((name) => [name, []]));
    for (let round = 0; round <= this.rounds; round++) {
      for (const name of names) {
        const cost = await loads[name]();
        if (round > 0) rounds.get(name)?.push(cost);
      }
      tell(`  round ${round} of ${this.rounds}`);
    }
    const medians = names.map((name) => {
      const known = rounds.get(name) ?? [];
      const middle = (member: keyof Cost): number =>
        median(known.flatMap((cost) => cost[member] ?? []));
      return [name, {
        cpuUs: middle("cpuUs"),
        perSecond: middle("perSecond"),
        p50Ms: middle("p50Ms"),
        p99Ms: middle("p99Ms"),
        p999Ms: middle("p999Ms"),
      }];
    });
    return Object.fromEntries(medians);
  }

  /** Runs a load and returns what it cost the server. */
  async cost(
    server: MeasuredProcess,
    load: () => Promise<
      Omit<Cost, "cpuUs" | "perSecond"> & {
        readonly calls: number;
        readonly ms?: number;
      }
    >,
  ): Promise<Cost> {
    const before = await server.usage();
    const { calls, ms = this.seconds * 1_000, ...times } = await load();
    const { cpuUs } = await server.usage();
    return {
      ...times,
      cpuUs: (cpuUs - before.cpuUs) / calls,
      perSecond: calls / ms * 1_000,
    };
  }

  /** Measures the cost of gRPC calls that h2load sends. */
  calls(
    server: MeasuredProcess,
    connections: number,
    streams: number,
    { isTls = false }: { readonly isTls?: boolean } = {},
  ): Promise<Cost> {
    const { port } = server;
    return this.cost(server, () =>
      h2Load({
        ...{ port, connections, streams, isTls, seconds: this.seconds },
        path: CALL_PATH,
        message: MESSAGE,
      }));
  }

  /** Measures the cost of gRPC calls that the bench's own client sends. */
  frames(
    server: MeasuredProcess,
    job: Partial<FrameJob>,
  ): Promise<Cost> {
    const { port } = server;
    const ms = this.seconds * 1_000;
    return this.cost(server, () => frameLoad({ ...FRAMES, port, ms, ...job }));
  }

  /** Measures the cost of HTTP requests that wrk sends. */
  requests(server: MeasuredProcess, body?: string): Promise<Cost> {
    return this.cost(server, () =>
      wrkRequests({
        ...{ port: server.httpPort, body, seconds: this.seconds },
        path: body === undefined ? "/" : "/json",
        connections: 64,
      }));
  }

  /** Adds a cost to the report, without a bar to meet. */
  told(name: string, cost: Cost): void {
    const { cpuUs, perSecond, p50Ms, p99Ms, p999Ms } = cost;
    const rate = `${Math.round(perSecond).toLocaleString("en-US")}/s`;
    const times = [p50Ms, p99Ms, p999Ms].map((ms = NaN) => ms.toFixed(2));
    const note = Number.isNaN(p99Ms ?? NaN)
      ? rate
      : `${rate}; p50, p99, p99.9 ${times.join(", ")} ms`;
    this.bars.push({ name, value: cpuUs, unit: "µs", digits: 1, note });
  }

  /** Adds a ratio to the report, with the bar that it has to meet. */
  ratio(
    name: string,
    value: number,
    bar: Pick<Bar, "atLeast" | "atMost">,
    note?: string,
  ): void {
    this.bars.push({
      name,
      value,
      unit: "×",
      digits: 2,
      ...(note === undefined ? {} : { note }),
      ...bar,
    });
  }
}
