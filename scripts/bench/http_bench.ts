/**
 * Compares the HTTP/1.1 server of the services with `node:http` and
 * `Deno.serve`: how many requests each answers, what a request costs, and which
 * attacks each withstands. The figures about requests need `wrk` on the path.
 *
 * @module
 */

import { print } from "../terminal.ts";
import { type Attack, type AttackOutcome, ATTACKS } from "./http/attacks.ts";
import {
  SERVER_NAMES,
  type ServerName,
  ServerProcess,
} from "./http/server_process.ts";
import { wrkLoad } from "./tasks/wrk_load.ts";

const ROUNDS = 3;
const ROUND_MS = 2_000;
const CONNECTIONS = 32;

const BODY = JSON.stringify({ text: "x".repeat(1_013) });
const REQUESTS: readonly (readonly [name: string, request: string])[] = [
  ["GET, 11 bytes of JSON", "GET / HTTP/1.1\r\nhost: a\r\n\r\n"],
  [
    "POST of 1 KiB",
    `POST / HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\n` +
    `content-length: ${BODY.length}\r\n\r\n${BODY}`,
  ],
];

const LABELS: Readonly<Record<ServerName, string>> = {
  http1: "services/shared/http1",
  node: "node:http",
  deno: "Deno.serve",
};

if (import.meta.main) {
  await measureLoad();
  await measureAttacks();
}

interface Figure {
  readonly perSecond: number;
  /** Processor time of the server for one request, whatever else runs. */
  readonly cpuUs: number;
}

async function measureLoad(): Promise<void> {
  for (const [name, text] of REQUESTS) {
    print(`${name}, ${CONNECTIONS} connections, median of ${ROUNDS} rounds:`);
    const figures = await loadFigures(new TextEncoder().encode(text));
    if (figures === undefined) return print("  there is no wrk on the path");
    for (const server of SERVER_NAMES) {
      const { perSecond, cpuUs } = figures[server];
      const shown = Math.round(perSecond).toLocaleString("en-US");
      print(
        `  ${LABELS[server].padEnd(24)}${shown.padStart(9)} requests/s` +
          `${cpuUs.toFixed(1).padStart(9)} µs of CPU a request`,
      );
    }
  }
}

/**
 * Measures the servers in turns, so that other work on the machine slows all of
 * them down alike.
 */
async function loadFigures(
  request: Uint8Array,
): Promise<Readonly<Record<ServerName, Figure>> | undefined> {
  const servers = await startAll();
  const rounds: Record<ServerName, Figure[]> = {
    http1: [],
    node: [],
    deno: [],
  };
  try {
    for (let round = -1; round < ROUNDS; round++) {
      for (const name of SERVER_NAMES) {
        const server = servers[name];
        const { cpuUs: beforeUs } = await server.usage();
        const result = await wrkLoad({
          port: server.port,
          connections: CONNECTIONS,
          requests: [request],
          ms: round < 0 ? 1_000 : ROUND_MS,
        });
        if (result === undefined) return undefined;
        const count = result.perSecond * (ROUND_MS / 1_000);
        const cpuUs = ((await server.usage()).cpuUs - beforeUs) / count;
        // The first round only warms up.
        if (round >= 0) rounds[name].push({ ...result, cpuUs });
      }
    }
  } finally {
    for (const name of SERVER_NAMES) await servers[name].stop();
  }
  return {
    http1: medianOf(rounds.http1),
    node: medianOf(rounds.node),
    deno: medianOf(rounds.deno),
  };
}

async function startAll(): Promise<Record<ServerName, ServerProcess>> {
  return {
    http1: await ServerProcess.start("http1"),
    node: await ServerProcess.start("node"),
    deno: await ServerProcess.start("deno"),
  };
}

function medianOf(figures: readonly Figure[]): Figure {
  const sorted = figures.toSorted((a, b) => a.cpuUs - b.cpuUs);
  return sorted[sorted.length >> 1]!;
}

/**
 * Runs each attack against a fresh process of each server, all three at a time.
 */
async function measureAttacks(): Promise<void> {
  for (const attack of ATTACKS) {
    print(`${attack.name} (${attack.wanted}):`);
    const outcomes = await Promise.all(
      SERVER_NAMES.map(async (name) =>
        [name, await meet(name, attack)] as const
      ),
    );
    for (const [name, { withstood, seen }] of outcomes) {
      const verdict = withstood ? "withstands" : "does not";
      print(`  ${LABELS[name].padEnd(24)}${verdict.padEnd(12)}${seen}`);
    }
  }
}

async function meet(name: ServerName, attack: Attack): Promise<AttackOutcome> {
  const { maxFiles } = attack;
  const server = await ServerProcess.start(
    name,
    maxFiles === undefined ? {} : { maxFiles },
  );
  try {
    return await attack.run(server);
  } finally {
    await server.stop();
  }
}
