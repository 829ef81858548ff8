/**
 * The soak test of the rate limit service, with all features on at the same
 * time: decisions over TLS at a steady rate, rules from a discovery server that
 * change every second, certificates that change every ten seconds, traces,
 * metrics that are scraped, and counters behind sentinels.
 * `deno task soak:ratelimit` runs it.
 *
 * @module
 */

import { parseArgs } from "node:util";
import { print, tell, toMessage } from "../../../scripts/terminal.ts";
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

/** Options of a soak test. */
export interface SoakOptions {
  /** Duration of the test, in minutes. */
  readonly minutes: number;
  /** Decisions requested in a second. */
  readonly rate: number;
  /** The share of decisions that are traced. */
  readonly samplingRate: number;
  /** The least share of the requested rate that decisions have to reach. */
  readonly leastShare: number;
  /** Time between two changes of the certificate, in milliseconds. */
  readonly certificateMs: number;
}

/**
 * The options of a real soak test, as opposed to a short trial in the test
 * suite.
 */
const REAL = {
  samplingRate: 0.01,
  leastShare: 0.99,
  certificateMs: 10_000,
} as const;

/**
 * The most that memory may grow between the second minute and the last, as a
 * factor.
 */
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
    tell(`Cannot run the soak: ${toMessage(error)}`);
    Deno.exit(2);
  }
}

async function main(args: readonly string[]): Promise<number> {
  const asked = readOptions(args);
  if (asked === undefined) {
    print(HELP);
    return 0;
  }
  const { isJson, ...options } = asked;
  const result = await soak({ ...options, ...REAL, tell, rssMb: residentMb });
  print(isJson ? JSON.stringify(result) : formatText(result));
  return result.faults.length === 0 ? 0 : 1;
}

/** Reads the options; `undefined` when help is requested. */
function readOptions(
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
  const parseNumber = (name: "minutes" | "rate"): number => {
    const value = Number(values[name]);
    if (value > 0 && value <= 1_000_000) return value;
    throw new RangeError(`Cannot take --${name} "${values[name]}"`);
  };
  return {
    minutes: parseNumber("minutes"),
    rate: parseNumber("rate"),
    isJson: values.json,
  };
}

/** The result of a soak test. */
interface SoakResult extends LoadFigures {
  /** Number of rule versions that the discovery server offered. */
  readonly reloads: number;
  /** Number of changes of the certificate. */
  readonly certificates: number;
  /** Number of successful calls on a new connection after such a change. */
  readonly handshakesWithNewOnes: number;
  /** Number of times that the metrics were scraped. */
  readonly scrapes: number;
  /** Number of spans that the collector received. */
  readonly spans: number;
  /** Resident memory in MB, as a mean for each minute. */
  readonly rssMbByMinute: readonly number[];
  /** Descriptions of what went wrong; empty when the test passed. */
  readonly faults: readonly string[];
}

/**
 * The options of a soak test, and functions that report progress and measure
 * memory.
 */
type SoakParts = SoakOptions & {
  readonly tell: (line: string) => void;
  /** Returns the resident memory of a process in MB. */
  readonly rssMb: (pid: number) => Promise<number>;
};

/**
 * Starts all servers and the service, runs the load, and checks the outcome.
 */
export async function soak(options: SoakParts): Promise<SoakResult> {
  const group = await startFailoverGroup();
  try {
    await using files = await GrpcTlsFiles.make();
    await using collector = TraceCollector.http();
    await using discovery = await DiscoveryServer.open(createOffer(1));
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
    faults.push(`${what}: ${toMessage(error)}`);
  };
  let reloads = 0;
  let certificates = 0;
  let handshakes = 0;
  let scrapes = 0;
  const rssByMinute: number[][] = [];
  const startMs = performance.now();
  const timers = [
    every(RELOAD_MS, () => {
      discovery.offer(createOffer(++reloads + 1));
      return Promise.resolve();
    }, note("reload")),
    every(certificateMs, async () => {
      await files.writePair(files.authority.issue(TLS_SERVER_NAME));
      certificates++;
      // Only a new connection uses the new certificate.
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

  // An incomplete minute at the end is left out.
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

function createOffer(version: number): Offer {
  return {
    version: String(version),
    rules: [{
      name: "soak",
      domain: "soak",
      descriptors: [
        // A limit changes with each version of the rules.
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

/**
 * Calls `what` at an interval, skipping a call while the last one still runs;
 * returns a function that stops the calls and waits for the last one.
 */
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

/** Formats the result as text. */
function formatText(result: SoakResult): string {
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
