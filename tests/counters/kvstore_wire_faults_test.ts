/**
 * Tests the store with a real server behind a proxy that cuts, delays, repeats
 * and corrupts replies.
 *
 * @module
 */

import { assert, assertEquals } from "@std/assert";
import { connect, createServer, type Server, type Socket } from "node:net";
import { setImmediate } from "node:timers";
import type { CounterAnswer } from "../../services/ratelimit/counters/counter_store.ts";
import { type RedisServer, startRedisServer } from "../support/redis_server.ts";
import { SeededRandom } from "../support/seeded_random.ts";
import { serviceTest } from "../support/services.ts";
import { waitUntil } from "../support/wait_until.ts";
import { applyUntil, createBatch } from "./batches.ts";
import { findEternal } from "./eternal_counters.ts";
import { startStore } from "./kvstore_subject.ts";

const FAULTS = [
  "cut",
  "partial",
  "delay",
  "repeat",
  "garbage",
  "mute",
] as const;
type Fault = typeof FAULTS[number];

const TIMEOUT_MS = 150;
const CALLS = 40;
/** Turns of the event loop in which the calls begin. */
const TURNS = 10;
const ROUNDS = Number(Deno.env.get("TEST_EFFORT") ?? 1);

/** A proxy between clients and a server, which can corrupt one reply. */
class FaultyWire {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #timers = new Set<ReturnType<typeof setTimeout>>();
  /** Replies that wait, as those behind them do: the bytes keep their order. */
  readonly #held = new Map<Socket, Uint8Array[]>();
  #fault: { readonly kind: Fault; afterBytes: number } | undefined;

  constructor(toPort: number) {
    this.#server = createServer((client) => {
      const server = connect({ host: "127.0.0.1", port: toPort });
      for (const [from, to] of [[client, server], [server, client]] as const) {
        this.#sockets.add(from);
        from.on("error", () => {});
        from.on("close", () => {
          this.#sockets.delete(from);
          to.destroy();
        });
      }
      client.on("data", (bytes) => void server.write(bytes));
      server.on("data", (bytes: Uint8Array) => this.#reply(bytes, client));
    });
  }

  /** Starts to listen; returns the port. */
  start(): Promise<number> {
    return new Promise((resolve) => {
      this.#server.listen(0, "127.0.0.1", () => {
        const address = this.#server.address();
        assert(address !== null && typeof address === "object");
        resolve(address.port);
      });
    });
  }

  /** Causes a fault after `afterBytes` more bytes of replies. */
  plan(kind: Fault, afterBytes: number): void {
    this.#fault = { kind, afterBytes };
  }

  /** Closes the port and all connections. */
  stop(): Promise<void> {
    for (const timer of this.#timers) clearTimeout(timer);
    for (const socket of this.#sockets) socket.destroy();
    return new Promise((resolve) => this.#server.close(() => resolve()));
  }

  #reply(bytes: Uint8Array, client: Socket): void {
    const held = this.#held.get(client);
    if (held !== undefined) return void held.push(bytes);
    const fault = this.#fault;
    if (fault === undefined || bytes.length <= fault.afterBytes) {
      if (fault !== undefined) fault.afterBytes -= bytes.length;
      client.write(bytes);
      return;
    }
    this.#fault = undefined;
    const before = bytes.slice(0, fault.afterBytes);
    const rest = bytes.slice(fault.afterBytes);
    client.write(before);
    switch (fault.kind) {
      case "cut":
        client.destroy();
        break;
      case "partial":
        this.#holdBack(client, { rest, ms: 1 });
        break;
      case "delay":
        this.#holdBack(client, { rest, ms: 2 * TIMEOUT_MS });
        break;
      case "repeat":
        client.write(bytes);
        client.write(bytes);
        break;
      case "garbage":
        client.write(rest.map((byte) => byte ^ 0x55));
        break;
      case "mute":
        this.#held.set(client, []);
        break;
    }
  }

  /** Sends replies later, and those behind them after these. */
  #holdBack(
    client: Socket,
    { rest, ms }: { readonly rest: Uint8Array; readonly ms: number },
  ): void {
    this.#held.set(client, [rest]);
    this.#later(() => {
      for (const bytes of this.#held.get(client) ?? []) client.write(bytes);
      this.#held.delete(client);
    }, ms);
  }

  #later(act: () => void, ms: number): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      act();
    }, ms);
    this.#timers.add(timer);
  }
}

serviceTest(["redis-server"], {
  name:
    "KvstoreStore answers each call once and recovers, whatever the wire does to a reply at any place",
  fn: async () => {
    const server = await startRedisServer();
    const random = new SeededRandom(17);
    for (let round = 0; round < ROUNDS; round++) {
      for (const fault of FAULTS) await faultyRound(fault, random, server);
    }
    await server.stop();
  },
});

async function faultyRound(
  fault: Fault,
  random: SeededRandom,
  server: RedisServer,
): Promise<void> {
  const wire = new FaultyWire(server.port);
  const port = await wire.start();
  const { store } = await startStore({
    address: { kind: "tcp", host: "127.0.0.1", port },
    poolSize: 2,
    timeoutMs: TIMEOUT_MS,
  });
  for (let i = 0; i < 4; i++) {
    await applyUntil(store, "counted");
    const key = `${fault}_${random.below(2 ** 31)}_`;
    // The store knows the counter's expiry; then the counter is gone.
    await store.apply(createBatch(key));
    await server.command("FLUSHALL");
    // The replies to the calls of one turn are ":<count>\r\n", with a count of
    // one or two digits; the first ones are followed by ":1\r\n".
    wire.plan(fault, random.below(TURNS * 5));
    const flying: Promise<CounterAnswer>[] = [];
    for (let turn = 0; turn < TURNS; turn++) {
      for (let call = 0; call < CALLS / TURNS; call++) {
        flying.push(store.apply(createBatch(key)));
      }
      await new Promise((resolve) => setImmediate(resolve));
    }
    const answers = await Promise.all(flying);
    assertEquals(answers.length, CALLS);
    const counts = readCounts(answers);
    // A repeated reply looks like the reply to the next command until one reply
    // is left over.
    if (fault !== "repeat" && fault !== "garbage") {
      assertEquals(new Set(counts).size, counts.length, `${fault} ${counts}`);
      assert(
        counts.every((count) => count >= 1 && count <= CALLS),
        `${fault} ${counts}`,
      );
    }
    if (fault === "partial") assertEquals(counts.length, CALLS);
  }
  // A counter whose replies were lost gets its expiry with the next call.
  await waitUntil(async () => {
    await applyUntil(store, "counted");
    return (await findEternal(server)).length === 0;
  }, { what: "all counters to have an expiry" });
  await store.stop();
  await wire.stop();
}

function readCounts(answers: readonly CounterAnswer[]): readonly number[] {
  return answers.flatMap((answer) =>
    answer.kind === "counted" ? answer.results.map(Number) : []
  );
}
