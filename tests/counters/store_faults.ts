/**
 * Tests of a counter store whose server is away, dies or hangs, with a real
 * server. Every store that has a server passes them.
 *
 * @module
 */

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import type { CounterStore } from "../../services/ratelimit/counters/counter_store.ts";
import type { RecordingLogger } from "../support/recording_logger.ts";
import { type ServiceName, serviceTest } from "../support/services.ts";
import { waitUntil } from "../support/wait_until.ts";
import { applyUntil, batchOf, countsOf } from "./batches.ts";

/** A server that a test starts and disturbs. */
interface FaultyServer {
  readonly host: string;
  readonly port: number;
  start(): Promise<unknown>;
  kill(): Promise<void>;
  restart(): Promise<unknown>;
  pause(): void;
  resume(): void;
  stop(): Promise<void>;
}

/** A store, and how tests get one. */
export interface FaultSubject<Server extends FaultyServer> {
  /** The name of the class. */
  readonly name: string;
  /** The name of the server in log lines. */
  readonly backend: string;
  /** The program of the server. */
  readonly program: ServiceName;
  /** Makes a server without starting it. */
  readonly server: () => Server;
  /** Starts a store, healthy only while it is connected. */
  readonly open: (
    server: Server,
    options: { readonly timeoutMs?: number },
  ) => Promise<
    {
      readonly store: CounterStore;
      readonly logger: RecordingLogger;
      /** The counts of increments that the store reports as lost. */
      readonly lost?: readonly number[];
    }
  >;
}

/** Registers the tests. */
export function storeFaults<Server extends FaultyServer>(
  { name, backend, program, server: newServer, open }: FaultSubject<Server>,
): void {
  const faultTest = (
    title: string,
    { timeoutMs, isAway = false }: {
      readonly timeoutMs?: number;
      readonly isAway?: boolean;
    },
    fn: (
      server: Server,
      subject: Awaited<ReturnType<typeof open>>,
    ) => Promise<void>,
  ): void =>
    serviceTest([program], {
      name: `${name} ${title}`,
      async fn() {
        const server = newServer();
        if (!isAway) await server.start();
        try {
          const options = timeoutMs === undefined ? {} : { timeoutMs };
          const subject = await open(server, options);
          if (!isAway) await applyUntil(subject.store, "counted");
          await fn(server, subject);
          await subject.store.stop();
        } finally {
          await server.stop();
        }
      },
    });

  faultTest("begins to count when a server that was away appears", {
    isAway: true,
  }, async (server, { store, logger, lost = [] }) => {
    const first = await store.apply(batchOf("a_"));
    assert(first.kind === "unavailable");
    assertStringIncludes(first.reason, `${server.host}:${server.port}`);
    assertEquals(store.isHealthy(), false);
    for (let i = 0; i < 50; i++) {
      assertEquals((await store.apply(batchOf("a_"))).kind, "unavailable");
    }
    await server.start();
    await applyUntil(store, "counted");
    assertEquals(store.isHealthy(), true);
    // The calls answered with "unavailable" have not been counted.
    assertEquals(countsOf(await store.apply(batchOf("a_"))), [1]);
    assertEquals(logger.messages, [
      `no connection to ${backend}`,
      `connected to ${backend}`,
    ]);
    assertEquals(lost, []);
  });

  faultTest("recovers by itself when the server is killed and restarted", {
    timeoutMs: 2_000,
  }, async (server, { store, logger }) => {
    const flying = Array.from({ length: 20 }, () => store.apply(batchOf("a_")));
    await server.kill();
    await Promise.all(flying);
    await applyUntil(store, "unavailable");
    await waitUntil(() => !store.isHealthy(), { what: "the loss to be seen" });
    await server.restart();
    await applyUntil(store, "counted");
    assertEquals(store.isHealthy(), true);
    assertEquals(countsOf(await store.apply(batchOf("b_"))), [1]);
    assertEquals(logger.messages.at(-1), `connected to ${backend}`);
    assert(logger.lines.length <= 8, logger.messages.join(", "));
  });

  const timeoutMs = 300;
  faultTest("answers within its time limit when the server hangs", {
    timeoutMs,
  }, async (server, { store, logger }) => {
    server.pause();
    const begun = performance.now();
    const answers = await Promise.all(
      Array.from({ length: 64 }, () => store.apply(batchOf("a_"))),
    );
    const tookMs = performance.now() - begun;
    for (const answer of answers) {
      assert(answer.kind === "unavailable");
      assertStringIncludes(answer.reason, `no answer within ${timeoutMs} ms`);
    }
    assert(tookMs >= timeoutMs - 5, `${tookMs} ms`);
    assertEquals(store.isHealthy(), false);
    // Later calls do not wait for connection attempts that hang, either.
    const waited = Promise.withResolvers<undefined>();
    const timer = setTimeout(() => waited.resolve(undefined), timeoutMs / 2);
    const refused = store.apply(batchOf("a_"));
    const first = await Promise.race([refused, waited.promise]);
    clearTimeout(timer);
    assertEquals(first?.kind, "unavailable");
    server.resume();
    await applyUntil(store, "counted");
    assertEquals(store.isHealthy(), true);
    assert(logger.lines.length < 8, logger.messages.join(", "));
  });
}
