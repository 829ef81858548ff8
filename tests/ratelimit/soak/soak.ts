/**
 * Everything on at a time: decisions over TLS at a steady rate, rules of a
 * discovery server that change each second, certificates that change each ten,
 * traces, metrics that are pulled, counters behind sentinels.
 * `deno task soak:ratelimit` runs it.
 *
 * @module
 */

import { parseArgs } from "node:util";
import { messageOf, print, tell } from "../../../scripts/terminal.ts";
import { startFailoverGroup } from "../../support/redis_failover_group.ts";
import {
  type RatelimitProcess,
  startRatelimit,
} from "../../support/ratelimit_process.ts";
import { residentMb } from "../../support/service_process.ts";
import { TraceCollector } from "../../support/trace_collector.ts";
import { DiscoveryServer, type Offer } from "../discovery_server.ts";
import { TLS_SERVER_NAME } from "../grpc_caller.ts";
import { GrpcTlsFiles } from "../grpc_tls_files.ts";
import { DecisionLoad, type LoadFigures } from "./decision_load.ts";

const HELP =
  `Runs ratelimit with everything on under a steady load, and watches its memory.

usage: deno task soak:ratelimit [options]

  --minutes=<n>   how long (5; at least 3 for the verdict on memory)
  --rate=<n>      decisions a second (5000)
  --json          print the result as JSON
  --help          this text

Needs redis-server. Ends with 0 when every promise was kept, 1 when one was
broken, 2 when it could not be tried.
`;

/** What a soak is asked for. */
export interface SoakOptions {
  /** How long it goes. */
  readonly minutes: number;
  /** Decisions a second. */
  readonly rate: number;
  /** The share of decisions that make spans. */
  readonly samplingRate: number;
  /** The share of the decisions asked for that must have been made in time. */
  readonly leastShare: number;
  /** Time between two certificates. */
  readonly certificateMs: number;
}

/** Sampling, and the share of decisions, of a soak that counts. */
const REAL = {
  samplingRate: 0.01,
  leastShare: 0.99,
  certificateMs: 10_000,
} as const;

/** The memory may grow so much from the second minute to the last. */
const MAX_GROWTH = 1.1;
const RELOAD_MS = 1_000;
const SCRAPE_MS = 5_000;
const SAMPLE_MS = 1_000;
const TELL_MS = 10_000;
const VALUES = 10_000;

if (import.meta.main) {
  try {
    Deno.exit(await main(Deno.args));
  } catch (error) {
    tell(`Cannot run the soak: ${messageOf(error)}`);
    Deno.exit(2);
  }
}

async function main(args: readonly string[]): Promise<number> {
  const asked = optionsOf(args);
  if (asked === undefined) {
    print(HELP);
    return 0;
  }
  const { isJson, ...options } = asked;
  const result = await soak({ ...options, ...REAL, tell, rssMb: residentMb });
  print(isJson ? JSON.stringify(result) : textOf(result));
  return result.faults.length === 0 ? 0 : 1;
}

/** Undefined when help is wanted. */
function optionsOf(
  args: readonly string[],
):
  | {
    readonly minutes: number;
    readonly rate: number;
    readonly isJson: boolean;
  }
  | undefined {
  const { values } = parseArgs({
    args: [...args],
    options: {
      minutes: { type: "string", default: "5" },
      rate: { type: "string", default: "5000" },
      json: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) return undefined;
  const numberOf = (name: "minutes" | "rate"): number => {
    const value = Number(values[name]);
    if (value > 0 && value <= 1_000_000) return value;
    throw new RangeError(`Cannot take --${name} "${values[name]}"`);
  };
  return {
    minutes: numberOf("minutes"),
    rate: numberOf("rate"),
    isJson: values.json,
  };
}

/** What a soak came to. */
interface SoakResult extends LoadFigures {
  /** Versions of the rules that the discovery server offered. */
  readonly reloads: number;
  /** Changes of the certificate. */
  readonly certificates: number;
  /** Connections that were made with a changed one. */
  readonly handshakesWithNewOnes: number;
  /** Times that the metrics were pulled. */
  readonly scrapes: number;
  /** Spans that came to the collector. */
  readonly spans: number;
  /** Resident memory in MB, a mean for each minute. */
  readonly rssMbByMinute: readonly number[];
  /** The promises that were broken. */
  readonly faults: readonly string[];
}

/** A soak's options, what hears how it goes, and what looks at memory. */
type SoakParts = SoakOptions & {
  readonly tell: (line: string) => void;
  /** Resident memory of a process in MB. */
  readonly rssMb: (pid: number) => Promise<number>;
};

/** Starts everything, loads it for the time, and looks at what became of it. */
export async function soak(options: SoakParts): Promise<SoakResult> {
  const group = await startFailoverGroup();
  try {
    await using files = await GrpcTlsFiles.make();
    await using collector = TraceCollector.http();
    await using discovery = await DiscoveryServer.open(offerOf(1));
    await using service = await startRatelimit({
      env: {
        ...files.env,
        CONFIG_TYPE: "GRPC_XDS_SOTW",
        CONFIG_GRPC_XDS_SERVER_URL: discovery.url,
        KVSTORE_TYPE: "sentinel",
        KVSTORE_SOCKET_TYPE: "tcp",
        KVSTORE_URL: [
          group.masterName,
          ...group.sentinels.map(({ host, port }) => `${host}:${port}`),
        ].join(","),
        DISABLE_STATS: "",
        USE_PULLMETRICS: "true",
        PULLMETRICS_ADDR: "127.0.0.1:0",
        TRACING_ENABLED: "true",
        TRACING_SAMPLING_RATE: String(options.samplingRate),
        OTEL_EXPORTER_OTLP_ENDPOINT: `http://${collector.address}`,
        LOG_LEVEL: "info",
      },
    });
    return await watch(options, { files, collector, discovery, service });
  } finally {
    await group.stop();
  }
}

async function watch(
  { minutes, rate, leastShare, certificateMs, tell, rssMb }: SoakParts,
  parts: {
    readonly files: GrpcTlsFiles;
    readonly collector: TraceCollector;
    readonly discovery: DiscoveryServer;
    readonly service: RatelimitProcess;
  },
): Promise<SoakResult> {
  const { files, collector, discovery, service } = parts;
  const line = await service.waitForLine("Metrics on ");
  const metricsUrl = /http:[^\s"]+/.exec(line)?.[0] ?? "";
  const target = {
    kind: "tcp",
    host: "127.0.0.1",
    port: Number(service.grpcTarget.split(":").at(-1)),
    tls: { caPem: files.authority.caPem, serverName: TLS_SERVER_NAME },
  } as const;
  const load = new DecisionLoad({ target, rate, values: VALUES });
  const faults: string[] = [];
  const note = (what: string) => (error: unknown): void => {
    faults.push(`${what}: ${messageOf(error)}`);
  };
  let reloads = 0;
  let certificates = 0;
  let handshakes = 0;
  let scrapes = 0;
  const rssByMinute: number[][] = [];
  const startMs = performance.now();
  const timers = [
    every(RELOAD_MS, () => {
      discovery.offer(offerOf(++reloads + 1));
      return Promise.resolve();
    }, note("reload")),
    every(certificateMs, async () => {
      await files.writePair(files.authority.issue(TLS_SERVER_NAME));
      certificates++;
      // A connection of its own has to see the new one.
      if (await load.decideOnce()) handshakes++;
    }, note("certificate")),
    every(SCRAPE_MS, async () => {
      const answer = await fetch(metricsUrl);
      const text = await answer.text();
      if (!text.includes('total_hits{domain="soak"')) {
        throw new Error("the metrics do not have the rule");
      }
      scrapes++;
    }, note("scrape")),
    every(SAMPLE_MS, async () => {
      const minute = Math.floor((performance.now() - startMs) / 60_000);
      (rssByMinute[minute] ??= []).push(await rssMb(service.pid));
    }, note("memory")),
    every(TELL_MS, () => {
      const seconds = Math.round((performance.now() - startMs) / 1_000);
      const rss = rssByMinute.at(-1)?.at(-1) ?? 0;
      const { decisions, failed } = load;
      tell(
        `${seconds} s: ${decisions} decisions, ${failed} failed, ` +
          `${Math.round(rss)} MB`,
      );
      return Promise.resolve();
    }, note("progress")),
  ];
  const figures = await load.run(minutes * 60_000);
  for (const stop of timers) await stop();
  const code = await service.stop();
  if (code !== 0) faults.push(`the service ended with ${code}`);

  // What began as a minute at the end is none.
  const rssMbByMinute = rssByMinute
    .slice(0, Math.max(1, Math.floor(minutes)))
    .map((samples) =>
      Math.round(samples.reduce((sum, mb) => sum + mb, 0) / samples.length)
    );
  const [, second] = rssMbByMinute;
  const last = rssMbByMinute.at(-1) ?? 0;
  if (
    second !== undefined && rssMbByMinute.length > 2 &&
    last > second * MAX_GROWTH
  ) {
    faults.push(`memory grew from ${second} MB to ${last} MB`);
  }
  if (figures.perSecond < rate * leastShare) {
    faults.push(`only ${Math.round(figures.perSecond)} decisions a second`);
  }
  for (const [failure, count] of Object.entries(figures.failures)) {
    faults.push(`${count} calls failed: ${failure}`);
  }
  const { spans } = collector;
  if (spans.length === 0) faults.push("no spans came");
  if (handshakes < certificates) {
    faults.push("a new connection failed after a change of certificates");
  }
  const refused = discovery.requests.filter((one) => one.errorDetail !== null);
  if (refused.length > 0) faults.push(`${refused.length} versions refused`);
  const applied = discovery.requests.at(-1)?.versionInfo;
  if (Number(applied) < reloads) {
    faults.push(`version ${applied} of ${reloads + 1} is in force`);
  }
  return {
    ...figures,
    reloads,
    certificates,
    handshakesWithNewOnes: handshakes,
    scrapes,
    spans: spans.length,
    rssMbByMinute,
    faults,
  };
}

function offerOf(version: number): Offer {
  return {
    version: String(version),
    rules: [{
      name: "soak",
      domain: "soak",
      descriptors: [
        // One limit is another with each version.
        { key: "user", rateLimit: { unit: 1, requestsPerUnit: 100 + version } },
        { key: "tenant", rateLimit: { unit: 2, requestsPerUnit: 1_000_000 } },
        ...Array.from({ length: 200 }, (_, index) => ({
          key: "path",
          value: `/api/${index}`,
          rateLimit: { unit: 4, requestsPerUnit: 1_000 + version },
        })),
      ],
    }],
  };
}

/** Runs `what` again and again, one at a time; returns what ends it. */
function every(
  intervalMs: number,
  what: () => Promise<void>,
  onError: (error: unknown) => void,
): () => Promise<void> {
  let running: Promise<void> | undefined;
  const timer = setInterval(() => {
    running ??= what().catch(onError).finally(() => running = undefined);
  }, intervalMs);
  return async () => {
    clearInterval(timer);
    await running;
  };
}

/** Resident memory of a process, as `ps` tells it, in MB. */
function textOf(result: SoakResult): string {
  const { decisions, perSecond, p50Ms, p99Ms, maxMs } = result;
  return [
    `${decisions} decisions over TLS, ${Math.round(perSecond)} a second; ` +
    `p50 ${p50Ms} ms, p99 ${p99Ms} ms, longest ${maxMs} ms`,
    `${result.reloads} changes of rules, ${result.certificates} of ` +
    `certificates (${result.handshakesWithNewOnes} connections with new ones), ` +
    `${result.scrapes} scrapes, ${result.spans} spans`,
    `memory by minute: ${result.rssMbByMinute.join(", ")} MB`,
    ...result.faults.map((fault) => `Broken: ${fault}`),
    result.faults.length === 0 ? "Every promise was kept" : "",
  ].filter((line) => line !== "").join("\n");
}
