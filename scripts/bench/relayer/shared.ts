/**
 * Measures relayers that share a PostgreSQL beside one with a folder of its own:
 * what they store in a second, and how fast they recall.
 *
 * @module
 */

import { Mem } from "../../../mod.ts";
import { tell } from "../../terminal.ts";
import type { BenchRun, Figures } from "../kit/bench_run.ts";
import { pause, quantile, sorted } from "../kit/numbers.ts";
import { BenchPostgres } from "../kit/postgres.ts";
import {
  type BenchAccount,
  createAccount,
  type RelayerProcess,
  startRelayer,
} from "./relayer_process.ts";
import { storeMemories } from "./stored_memories.ts";
import { talkQuestion, talkText } from "./talk_texts.ts";

/** Relayers on one place, and the accounts that use them. */
interface Group {
  /** Their settings. */
  readonly env: Readonly<Record<string, string>>;
  readonly relayers: readonly RelayerProcess[];
  readonly accounts: readonly BenchAccount[];
}

const RELAYERS = 3;
const OWNERS = 12;
/** Texts of a call, and calls that are under way at once. */
const BATCH = 20;
const PARALLEL = 24;
/** Memories of a turn for each second of `--seconds`. */
const RATE = 300;
const DRAIN_LIMIT_MS = 300_000;
/** Each look asks for all owners, which takes the relayers some time. */
const POLL_MS = 500;
const LEAST_STORED = 0.8;
/** Recalls that are not timed: meanwhile code is compiled. */
const WARM_UP = 200;
/** The distance between the memories that successive questions are about. */
const STRIDE = 7_919;
/** The longest time of a recall beside SQLite, up to a number of memories. */
const RECALL_BARS = [
  { memories: 10_000, atMost: 1.5 },
  { memories: 100_000, atMost: 1.3 },
];
const FIRST_RECALL_MS = 1_000;

/**
 * Measures how many memories relayers on one database accept and store in a
 * second, beside one relayer on SQLite.
 *
 * @throws {Error} When PostgreSQL is not on the path.
 */
export async function measureShared(run: BenchRun): Promise<void> {
  await run.diskMs();
  const server = run.keep(await demandServer());
  const groups = [
    await startGroup(run, { relayers: 1, owners: OWNERS }),
    await startGroup(run, { relayers: 1, owners: OWNERS, server }),
    await startGroup(run, { relayers: RELAYERS, owners: OWNERS, server }),
  ];
  const count = run.values.seconds * RATE;
  const [own, one, three] = await run.inTurns(
    groups.map((group) => () => storedOf(group, { count, server })),
  );
  run.details["stored"] = { own, one, three };
  for (const [name, figures] of Object.entries({ own, one, three })) {
    tell(`  ${name}: ${formatFigures(figures)}`);
  }
  for (const figure of ["accepted", "stored"]) {
    run.compare(`${figure}, three on PostgreSQL beside SQLite`, [three, own], {
      ...{ figure, atLeast: LEAST_STORED },
    });
    run.compare(`${figure}, one on PostgreSQL beside SQLite`, [one, own], {
      figure,
    });
  }
  await run.stopAll();
}

/**
 * Measures recalls of an owner with many memories on PostgreSQL beside SQLite,
 * and the first one on a relayer that has just come.
 *
 * @throws {Error} When PostgreSQL is not on the path.
 */
export async function measureSharedRecall(
  run: BenchRun,
  { sizes, recalls }: {
    /** Memories that there are, one size after the other. */
    readonly sizes: readonly number[];
    /** Recalls that are timed. */
    readonly recalls: number;
  },
): Promise<void> {
  for (const memories of sizes) {
    const shown = memories.toLocaleString("en");
    tell(`  recall beside ${shown} memories`);
    const server = run.keep(await demandServer());
    const of = { relayers: 1, owners: 1, memories };
    const groups = [
      await startGroup(run, of),
      await startGroup(run, { ...of, server }),
    ];
    const [own, shared] = await run.inTurns(
      groups.map((group) => () => recallsOf(group, { memories, recalls })),
    );
    run.details[`recall ${memories}`] = { own, shared };
    tell(`  own: ${formatFigures(own)}; shared: ${formatFigures(shared)}`);
    for (const figure of ["p50Ms", "p99Ms"]) {
      const bar = RECALL_BARS.find((bar) => memories <= bar.memories);
      run.compare(
        `recall fused ${figure}, ${shown}, PostgreSQL beside SQLite`,
        [shared, own],
        {
          figure,
          ...(figure === "p50Ms" && bar ? { atMost: bar.atMost } : {}),
        },
      );
    }
    const [, group] = groups;
    if (group !== undefined) await measureFresh(run, group, shown);
    await run.stopAll();
  }
}

/**
 * Stops the relayer, which writes a snapshot of its index, and times the first
 * recall on another one.
 */
async function measureFresh(
  run: BenchRun,
  { env, relayers, accounts: [account] }: Group,
  shown: string,
): Promise<void> {
  for (const { process } of relayers) await process.stop();
  const fresh = await startRelayer(
    { ...env, DATA_DIR: await run.makeFolder() },
    { waitsFor: "port" },
  );
  run.keep(fresh.process);
  if (account === undefined) return;
  await using mem = openMem(fresh, account);
  const beginMs = performance.now();
  const { results } = await mem.recall({
    ...{ query: talkQuestion(3), ranking: "fused" },
  });
  run.bars.push({
    name: `first recall on a fresh relayer, owner with ${shown}`,
    value: performance.now() - beginMs,
    ...{ unit: "ms", atMost: FIRST_RECALL_MS },
    note: results.length > 0 ? "with a snapshot" : "found nothing",
  });
}

/** Starts relayers on SQLite, or on a schema of its own of a server. */
async function startGroup(
  run: BenchRun,
  { relayers: count, owners, server, memories = 0 }: {
    readonly relayers: number;
    readonly owners: number;
    readonly server?: BenchPostgres;
    readonly memories?: number;
  },
): Promise<Group> {
  const dataDir = await run.makeFolder();
  const shared: Record<string, string> = server === undefined ? {} : {
    STORE: "postgres",
    DATABASE_URL: server.url,
    DATABASE_SCHEMA: `bench_${crypto.randomUUID().replaceAll("-", "")}`,
    MASTER_KEYS: crypto.getRandomValues(new Uint8Array(32)).toBase64(),
  };
  const env = { DATA_DIR: dataDir, ...shared };
  const accounts: BenchAccount[] = [];
  for (let at = 0; at < owners; at++) accounts.push(await createAccount(env));
  if (memories > 0) {
    await storeMemories(
      env,
      accounts.map(({ owner }) => ({
        ...{ owner, count: memories, createText: talkText },
      })),
    );
    await server?.settle();
  }
  const relayers: RelayerProcess[] = [];
  for (let at = 0; at < count; at++) {
    const relayer = await startRelayer(env);
    run.keep(relayer.process);
    relayers.push(relayer);
  }
  return { env, relayers, accounts };
}

/** Sends memories through all relayers, and waits until they are stored. */
async function storedOf(
  { relayers, accounts }: Group,
  { count, server }: {
    readonly count: number;
    readonly server: BenchPostgres;
  },
): Promise<Figures> {
  const mems = accounts.map((account, at) =>
    openMem(relayers[at % relayers.length], account)
  );
  const stored = async (): Promise<number> => {
    const all = await Promise.all(mems.map((mem) => mem.stats()));
    return all.reduce((sum, { memory_count }) => sum + memory_count, 0);
  };
  const cpuUs = async (): Promise<number> => {
    let sumUs = 0;
    for (const { process } of relayers) sumUs += (await process.usage()).cpuUs;
    return sumUs;
  };
  const before = await stored();
  const [ownUs, serverUs] = [await cpuUs(), await server.cpuUs()];
  const beginMs = performance.now();
  let sent = 0;
  const send = async (at: number): Promise<void> => {
    while (sent < count) {
      const from = sent;
      sent += BATCH;
      await mems[at % mems.length]?.rememberBulk(
        Array.from(
          { length: BATCH },
          (_, text) => ({ text: talkText(before + from + text) }),
        ),
      );
    }
  };
  await Promise.all(Array.from({ length: PARALLEL }, (_, at) => send(at)));
  const perSecond = (): number => sent / (performance.now() - beginMs) * 1_000;
  const accepted = perSecond();
  while (await stored() < before + sent) {
    if (performance.now() - beginMs > DRAIN_LIMIT_MS) {
      throw new Error("Cannot measure: memories were not stored in 5 minutes");
    }
    await pause(POLL_MS);
  }
  const figures = {
    ...{ accepted, stored: perSecond() },
    ownUs: (await cpuUs() - ownUs) / sent,
    serverUs: (await server.cpuUs() - serverUs) / sent,
  };
  for (const mem of mems) await mem[Symbol.asyncDispose]();
  return figures;
}

async function recallsOf(
  { relayers: [relayer], accounts: [account] }: Group,
  { memories, recalls }: {
    readonly memories: number;
    readonly recalls: number;
  },
): Promise<Figures> {
  if (account === undefined) throw new Error("Cannot measure: no account");
  await using mem = openMem(relayer, account);
  const times: number[] = [];
  for (let at = -WARM_UP; at < recalls; at++) {
    const number = (at + WARM_UP) * STRIDE % memories;
    const beginMs = performance.now();
    await mem.recall({ query: talkQuestion(number), ranking: "fused" });
    if (at >= 0) times.push(performance.now() - beginMs);
  }
  const all = sorted(times);
  return { p50Ms: quantile(all, 0.5), p99Ms: quantile(all, 0.99) };
}

function openMem(
  relayer: RelayerProcess | undefined,
  { key, accountId }: BenchAccount,
): Mem {
  if (relayer === undefined) throw new Error("Cannot measure: no relayer");
  return Mem.create({ serverUrl: relayer.url, key, accountId });
}

async function demandServer(): Promise<BenchPostgres> {
  const server = await BenchPostgres.start();
  if (server !== undefined) return server;
  throw new Error("Cannot measure: PostgreSQL is not on the path");
}

function formatFigures(figures: Figures | undefined): string {
  return Object.entries(figures ?? {})
    .map(([name, value]) => `${name} ${value?.toFixed(1)}`).join(", ");
}
