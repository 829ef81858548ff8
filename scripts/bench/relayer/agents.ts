/**
 * Measures what agents pay for the Model Context Protocol: recalls at
 * `/api/mcp` beside the same recalls over HTTP, and many sessions at once.
 *
 * @module
 */

import { Mem } from "../../../mod.ts";
import type { BenchRun } from "../kit/bench_run.ts";
import { quantile, sorted } from "../kit/numbers.ts";
import {
  type BenchAccount,
  createAccount,
  startRelayer,
} from "./relayer_process.ts";
import { storeMemories } from "./stored_memories.ts";
import { talkQuestion, talkText } from "./talk_texts.ts";

const MEMORIES = 10_000;
const WARM_UP = 300;
/** Distance between the memories that successive questions are about. */
const STRIDE = 7_919;
/** The most that a recall may cost, as a multiple of one over HTTP. */
const MOST_TIMES = 1.3;
const SESSIONS = 200;
/** Recalls of each session. */
const ROUNDS = 5;
const VERSION = "2025-06-18";

/** Compares recalls, and opens many sessions. */
export async function measureAgents(
  run: BenchRun,
  { recalls }: { readonly recalls: number },
): Promise<void> {
  const dataDir = await run.makeFolder();
  const account = await createAccount({ DATA_DIR: dataDir });
  await storeMemories({ DATA_DIR: dataDir }, [
    { owner: account.owner, count: MEMORIES, createText: talkText },
  ]);
  // Each session of the measurement has an address of its own.
  const { url, process } = await startRelayer({
    DATA_DIR: dataDir,
    TRUSTED_PROXIES: "127.0.0.1",
  });
  run.keep(process);
  await using mem = Mem.create({ serverUrl: url, ...account });
  const agent = await Agent.open(url, account);
  const ways = {
    http: async (query: string) =>
      void await mem.recall({ query, ranking: "fused" }),
    session: (query: string) => agent.recall(query),
    stateless: (query: string) => agent.recallAlone(query),
  };
  const times: Record<keyof typeof ways, number[]> = {
    ...{ http: [], session: [], stateless: [] },
  };
  // The ways take turns, so that what else the machine does meets all alike.
  for (let index = -WARM_UP; index < recalls; index++) {
    const query = talkQuestion((index + WARM_UP) * STRIDE % MEMORIES);
    for (const [way, recall] of Object.entries(ways)) {
      const beginMs = performance.now();
      await recall(query);
      if (index < 0) continue;
      times[way as keyof typeof ways].push(performance.now() - beginMs);
    }
  }
  const p50 = (way: keyof typeof ways) => quantile(sorted(times[way]), 0.5);
  const common = { unit: "ms", digits: 2 };
  run.bars.push(
    { ...common, name: "recall over HTTP p50", value: p50("http") },
    {
      ...{ ...common, name: "recall at /api/mcp p50, in a session" },
      value: p50("session"),
      atMost: MOST_TIMES * p50("http"),
    },
    {
      ...{ ...common, name: "recall at /api/mcp p50, 2026-07-28" },
      value: p50("stateless"),
      atMost: MOST_TIMES * p50("http"),
    },
  );
  await measureSessions(run, { url, account });
}

async function measureSessions(
  run: BenchRun,
  { url, account }: { readonly url: string; readonly account: BenchAccount },
): Promise<void> {
  const addresses = Array.from(
    { length: SESSIONS },
    (_, index) => `203.0.113.${index + 1}`,
  );
  const beginMs = performance.now();
  const agents = await Promise.all(
    addresses.map((address) => Agent.open(url, account, address)),
  );
  const openMs = performance.now() - beginMs;
  const times: number[] = [];
  const recallMs = performance.now();
  await Promise.all(agents.map(async (agent, index) => {
    for (let round = 0; round < ROUNDS; round++) {
      const sentMs = performance.now();
      const number = (index * ROUNDS + round) * STRIDE % MEMORIES;
      await agent.recall(talkQuestion(number));
      times.push(performance.now() - sentMs);
    }
  }));
  const seconds = (performance.now() - recallMs) / 1_000;
  // The same load over HTTP, to compare with.
  const clients = agents.map(() => Mem.create({ serverUrl: url, ...account }));
  const httpMs = performance.now();
  await Promise.all(clients.map(async (client, index) => {
    for (let round = 0; round < ROUNDS; round++) {
      const number = (index * ROUNDS + round) * STRIDE % MEMORIES;
      await client.recall({ query: talkQuestion(number), ranking: "fused" });
    }
    client.destroy();
  }));
  const httpSeconds = (performance.now() - httpMs) / 1_000;
  const httpRate = SESSIONS * ROUNDS / httpSeconds;
  run.bars.push({
    name: `open ${SESSIONS} sessions at once`,
    ...{ value: openMs, unit: "ms" },
  }, {
    name: `recalls of ${SESSIONS} sessions at once`,
    ...{ value: times.length / seconds, unit: "/s" },
    atLeast: httpRate / MOST_TIMES,
    note: `over HTTP ${httpRate.toFixed(0)} /s; p99 ` +
      `${quantile(sorted(times), 0.99).toFixed(0)} ms`,
  });
}

/** An agent with a session. */
class Agent {
  readonly #url: string;
  readonly #headers: Readonly<Record<string, string>>;
  #session: Readonly<Record<string, string>> = {};
  #ids = 0;

  private constructor(url: string, headers: Readonly<Record<string, string>>) {
    this.#url = `${url}/api/mcp`;
    this.#headers = headers;
  }

  /** Opens a session; `address` is what a proxy says of the agent. */
  static async open(
    url: string,
    { key, accountId }: BenchAccount,
    address = "203.0.113.250",
  ): Promise<Agent> {
    const agent = new Agent(url, {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      authorization: `Bearer ${key}`,
      "x-memwal-account-id": accountId,
      "x-forwarded-for": address,
    });
    const { headers } = await agent.#ask("initialize", {
      protocolVersion: VERSION,
      capabilities: {},
      clientInfo: { name: "bench", version: "1" },
    });
    agent.#session = {
      "mcp-session-id": headers.get("mcp-session-id") ?? "",
      "mcp-protocol-version": VERSION,
    };
    return agent;
  }

  /** Recalls in the session. */
  async recall(query: string): Promise<void> {
    await this.#ask("tools/call", {
      name: "memwal_recall",
      arguments: { query },
    });
  }

  /** Recalls with a request that stands alone. */
  async recallAlone(query: string): Promise<void> {
    await this.#ask("tools/call", {
      name: "memwal_recall",
      arguments: { query },
      _meta: {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
      },
    }, {
      "mcp-session-id": "",
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": "tools/call",
      "mcp-name": "memwal_recall",
    });
  }

  async #ask(
    method: string,
    params: object,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Response> {
    const response = await fetch(this.#url, {
      method: "POST",
      headers: { ...this.#headers, ...this.#session, ...headers },
      body: JSON.stringify({
        ...{ jsonrpc: "2.0", id: ++this.#ids, method, params },
      }),
    });
    // An answer that takes long comes as an event.
    const text = await response.text();
    const { result, error } = JSON.parse(text.replace(/^[\s\S]*\ndata: /, ""));
    if (result === undefined || result.isError) {
      const reason = JSON.stringify(error ?? result);
      throw new Error(`Cannot measure: an agent was answered ${reason}`);
    }
    return response;
  }
}
