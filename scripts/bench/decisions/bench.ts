/**
 * Servers and loads of one run of the bench of decisions, in turns, and what came of them.
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
/** A job of the bench's own client but for its port. */
export const FRAMES: Omit<FrameJob, "port" | "ms"> = {
  isEcho: false,
  connections: 8,
  streams: 32,
  values: 1,
  descriptors: 2,
  isHeaderNew: false,
};

/** What a load of one round came to. */
export interface Cost {
  /** Processor time of the server for a call, in microseconds. */
  readonly cpuUs: number;
  /** Calls a second. */
  readonly perSecond: number;
  /** What single calls took, where the client tells it. */
  readonly p50Ms?: number;
  /** 99 of 100 took at most so long. */
  readonly p99Ms?: number;
  /** 999 of 1,000 took at most so long. */
  readonly p999Ms?: number;
}

/** What is measured in turns, by name. */
type Loads<Name extends string> = Readonly<Record<Name, () => Promise<Cost>>>;

/** Servers that run, and what was measured so far. */
export class Bench {
  /** All measures. */
  readonly bars: Bar[] = [];
  /** How long each load goes. */
  readonly seconds: number;
  /** How often each is measured. */
  readonly rounds: number;
  readonly #folder: string;
  #services = 0;
  readonly #running: { stop(): Promise<void> }[] = [];

  /** A bench that keeps its files in a folder. */
  constructor(
    folder: string,
    { rounds, seconds }: { readonly rounds: number; readonly seconds: number },
  ) {
    this.#folder = folder;
    this.rounds = rounds;
    this.seconds = seconds;
  }

  /** Starts the service with the rules of the bench, or others. */
  async service(
    env: Readonly<Record<string, string>> = {},
    { rules = RULES, isPinned }: {
      /** The text of its only file of rules. */
      readonly rules?: string | undefined;
      /**
       * Whether it has one core.
       *
       * @default true
       */
      readonly isPinned?: boolean | undefined;
    } = {},
  ): Promise<MeasuredProcess> {
    const settings = { ...await this.#settings(rules), ...env };
    return this.#keep(await MeasuredProcess.service(settings, { isPinned }));
  }

  /** Starts another server of the protocol with the rules of the bench. */
  async reference(
    command: string,
    env: Readonly<Record<string, string>>,
  ): Promise<MeasuredProcess> {
    const settings = await this.#settings(RULES);
    return this.#keep(
      await MeasuredProcess.reference(command, { ...settings, ...env }),
    );
  }

  /** A certificate and its key. */
  certificate(): ReturnType<typeof makeCertificate> {
    return makeCertificate(this.#folder);
  }

  async #settings(rules: string): Promise<Readonly<Record<string, string>>> {
    const root = `${this.#folder}/${this.#services++}`;
    await Deno.mkdir(`${root}/config`, { recursive: true });
    await Deno.writeTextFile(`${root}/config/bench.yaml`, rules);
    return { RUNTIME_ROOT: root, RUNTIME_SUBDIRECTORY: "" };
  }

  /** Starts one of those that it is measured beside. */
  async peer(name: string): Promise<MeasuredProcess> {
    return this.#keep(await MeasuredProcess.peer(name));
  }

  /** Starts Redis; undefined where there is none. */
  async redis(): Promise<BenchServer | undefined> {
    const server = await startRedis(this.#folder);
    return server === undefined ? undefined : this.#keep(server);
  }

  #keep<Server extends { stop(): Promise<void> }>(server: Server): Server {
    this.#running.push(server);
    return server;
  }

  /** Ends all servers. */
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

  /** What a load costs a server. */
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

  /** The cost of calls by h2load. */
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

  /** The cost of calls by the bench's own client. */
  frames(
    server: MeasuredProcess,
    job: Partial<FrameJob>,
  ): Promise<Cost> {
    const { port } = server;
    const ms = this.seconds * 1_000;
    return this.cost(server, () => frameLoad({ ...FRAMES, port, ms, ...job }));
  }

  /** The cost of requests by wrk. */
  requests(server: MeasuredProcess, body?: string): Promise<Cost> {
    return this.cost(server, () =>
      wrkRequests({
        ...{ port: server.httpPort, body, seconds: this.seconds },
        path: body === undefined ? "/" : "/json",
        connections: 64,
      }));
  }

  /** Tells what something costs. */
  told(name: string, cost: Cost): void {
    const { cpuUs, perSecond, p50Ms, p99Ms, p999Ms } = cost;
    const rate = `${Math.round(perSecond).toLocaleString("en-US")}/s`;
    const times = [p50Ms, p99Ms, p999Ms].map((ms = NaN) => ms.toFixed(2));
    const note = Number.isNaN(p99Ms ?? NaN)
      ? rate
      : `${rate}; p50, p99, p99.9 ${times.join(", ")} ms`;
    this.bars.push({ name, value: cpuUs, unit: "µs", digits: 1, note });
  }

  /** Judges a ratio. */
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
