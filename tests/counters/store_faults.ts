/**
 * Tests of a counter store whose server is away, dies or hangs, with a real
 * server. Every store that has a server passes them.
 *
 * @module
 */

import {
  assert,
  assertEquals,
  assertMatch,
  assertStringIncludes,
} from "@std/assert";
import type {
  CounterAnswer,
  CounterStore,
} from "../../services/ratelimit/counters/counter_store.ts";
import type { RecordingLogger } from "../support/recording_logger.ts";
import { type ServiceName, serviceTest } from "../support/services.ts";
import { waitUntil } from "../support/wait_until.ts";
import { applyUntil, createBatch, readCounts } from "./batches.ts";

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

/** A store under test. */
interface OpenedStore {
  readonly store: CounterStore;
  readonly logger: RecordingLogger;
  /** The numbers of parts that the store reported to be out. */
  readonly out: readonly number[];
  /** The counts of increments that the store reports as lost. */
  readonly lost?: readonly number[];
}

/** What tests set of a store. */
interface StoreOptions {
  readonly timeoutMs?: number;
  /** Of a store that signs in. */
  readonly auth?: { readonly username?: string; readonly password: string };
  /** Of a store that answers before the server has counted. */
  readonly maxPendingIncrements?: number;
  /** Whether the store connects to the server's Unix socket, if it has one. */
  readonly isUnix?: boolean;
}

/** A store, and how tests get one. */
export interface FaultSubject<
  Server extends FaultyServer,
  Opened extends OpenedStore = OpenedStore,
> {
  /** The name of the class. */
  readonly name: string;
  /** The name of the server in log lines. */
  readonly backend: string;
  /** The program of the server. */
  readonly program: ServiceName;
  /**
   * The time limit of a store that is stopped while its server hangs. One that
   * has nothing to write then stops at once, however long it is.
   */
  readonly stopsWithinMs: number;
  /** Makes a server without starting it. */
  readonly server: (args?: readonly string[]) => Server;
  /** Starts a store, healthy only while its server serves. */
  readonly open: (server: Server, options: StoreOptions) => Promise<Opened>;
}

/** How a test of one store on one server begins. */
interface FaultTestStart extends StoreOptions {
  /**
   * Arguments of the server.
   *
   * @default those of the subject
   */
  readonly args?: readonly string[];
  /**
   * Whether the server is away at first, or refuses; else the store has counted
   * before the test begins.
   *
   * @default neither
   */
  readonly fault?: "away" | "refuses";
}

/** Registers a test of one store on one server, which it ends. */
export function faultTest<
  Server extends FaultyServer,
  Opened extends OpenedStore,
>(
  { name, program, server: newServer, open }: FaultSubject<Server, Opened>,
  title: string,
  { args, fault, ...options }: FaultTestStart,
  fn: (server: Server, opened: Opened) => Promise<void>,
): void {
  serviceTest([program], {
    name: `${name} ${title}`,
    async fn() {
      const server = newServer(args);
      if (fault !== "away") await server.start();
      try {
        const opened = await open(server, options);
        if (fault === undefined) await applyUntil(opened.store, "counted");
        await fn(server, opened);
        await opened.store.stop();
      } finally {
        await server.stop();
      }
    },
  });
}

/** A way in which a server can be unable to serve. */
export interface Outage<Server> {
  /** What the server does, or the code with which it refuses. */
  readonly name: string;
  /** What the reason of unavailable answers has in it. */
  readonly reason: RegExp;
  /** Makes the server unable. */
  readonly begin: (server: Server) => unknown;
  /** Makes it able again. */
  readonly end: (server: Server) => unknown;
  /**
   * Credentials of the store.
   *
   * @default none
   */
  readonly auth?: { readonly username: string; readonly password: string };
}

/** Registers the tests that every store passes. */
export function storeFaults<Server extends FaultyServer>(
  subject: FaultSubject<Server>,
): void {
  const { backend, stopsWithinMs } = subject;
  faultTest(subject, "begins to count when a server that was away appears", {
    fault: "away",
  }, async (server, { store, logger, lost = [] }) => {
    const first = await store.apply(createBatch("a_"));
    assert(first.kind === "unavailable");
    assertStringIncludes(first.reason, `${server.host}:${server.port}`);
    assertEquals(store.isHealthy(), false);
    for (let i = 0; i < 50; i++) {
      assertEquals((await store.apply(createBatch("a_"))).kind, "unavailable");
    }
    await server.start();
    await applyUntil(store, "counted");
    assertEquals(store.isHealthy(), true);
    // The calls answered with "unavailable" have not been counted.
    assertEquals(readCounts(await store.apply(createBatch("a_"))), [1]);
    assertEquals(logger.messages, [
      `${backend} is unavailable`,
      `${backend} is available`,
    ]);
    assertEquals(lost, []);
  });

  faultTest(subject, "recovers when the server is killed and restarted", {
    timeoutMs: 2_000,
  }, async (server, { store, logger }) => {
    const flying = Array.from(
      { length: 20 },
      () => store.apply(createBatch("a_")),
    );
    await server.kill();
    await Promise.all(flying);
    await applyUntil(store, "unavailable");
    await waitUntil(() => !store.isHealthy(), { what: "the loss to be seen" });
    await server.restart();
    await applyUntil(store, "counted");
    assertEquals(store.isHealthy(), true);
    assertEquals(readCounts(await store.apply(createBatch("b_"))), [1]);
    assertEquals(logger.messages.at(-1), `${backend} is available`);
    assert(logger.lines.length <= 8, logger.messages.join(", "));
  });

  const timeoutMs = 300;
  faultTest(subject, "answers within its time limit when the server hangs", {
    timeoutMs,
  }, async (server, { store, logger }) => {
    server.pause();
    const begun = performance.now();
    const answers = await Promise.all(
      Array.from({ length: 64 }, (_, i) => store.apply(createBatch(`a${i}_`))),
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
    const refused = store.apply(createBatch("a_"));
    const first = await Promise.race([refused, waited.promise]);
    clearTimeout(timer);
    assertEquals(first?.kind, "unavailable");
    server.resume();
    await applyUntil(store, "counted");
    assertEquals(store.isHealthy(), true);
    assert(logger.lines.length < 8, logger.messages.join(", "));
  });

  faultTest(subject, "stops within its time limit while the server hangs", {
    timeoutMs: stopsWithinMs,
  }, async (server, { store }) => {
    const answer = Promise.resolve(store.apply(createBatch("a_")));
    // A store that answers first has an increment on its way then.
    void answer.then(() => server.pause());
    assertEquals((await answer).kind, "counted");
    const flying = store.apply(createBatch("b_"));
    await store.stop();
    assertEquals((await flying).kind, "unavailable");
    assertEquals((await store.apply(createBatch("a_"))).kind, "unavailable");
  });
}

/** The outages of every server. */
const COMMON_OUTAGES: readonly Outage<FaultyServer>[] = [
  {
    name: "a server that hangs",
    reason: /no answer within 1000 ms/,
    begin: (server) => server.pause(),
    end: (server) => server.resume(),
  },
  {
    name: "a server that is killed",
    reason: /closed|ECONNREFUSED/,
    begin: (server) => server.kill(),
    end: (server) => server.restart(),
  },
];

/** Registers a test of outages, one after the other on one server. */
export function storeOutages<Server extends FaultyServer>(
  { name, backend, program, server: newServer, open }: FaultSubject<Server>,
  outages: readonly Outage<Server>[],
): void {
  serviceTest([program], {
    name: `${name} answers at once in every outage, and goes on after it`,
    async fn(t) {
      const server = newServer();
      await server.start();
      try {
        for (const outage of [...outages, ...COMMON_OUTAGES]) {
          await t.step(outage.name, () => meet(outage));
        }
      } finally {
        await server.stop();
      }

      async function meet(outage: Outage<Server>): Promise<void> {
        const { auth, begin, end, reason } = outage;
        const { store, logger, out } = await open(server, {
          timeoutMs: 1_000,
          ...auth === undefined ? {} : { auth },
        });
        try {
          await hitUntil(store, (answer) => answer.kind === "counted");
          await begin(server);
          await hitUntil(
            store,
            (answer, isAtOnce) =>
              isAtOnce && answer.kind === "unavailable" &&
              reason.test(answer.reason),
          );
          for (let i = 0; i < 50; i++) {
            const [answer, isAtOnce] = await hit(store);
            assert(answer.kind === "unavailable" && isAtOnce);
            assertMatch(answer.reason, reason);
            assertEquals(store.isHealthy(), false);
          }
          await end(server);
          await hitUntil(store, (answer) => answer.kind === "counted");
          assertEquals(store.isHealthy(), true);
          const told = logger.lines.filter(({ message }) =>
            message !== `connected to ${backend}`
          );
          assertEquals(told.map(({ message }) => message), [
            `${backend} is unavailable`,
            `${backend} is available`,
          ]);
          assertEquals(out, [1, 0]);
        } finally {
          await store.stop();
        }
      }
    },
  });
}

/** Returns a key that no counter has had, always of the same length. */
function outageKey(): string {
  return `outage_${crypto.randomUUID()}_`;
}

/** Adds a hit; tells whether the answer came before any input or timer. */
async function hit(
  store: CounterStore,
): Promise<readonly [CounterAnswer, boolean]> {
  const call = Promise.resolve(store.apply(createBatch(outageKey())));
  let isAtOnce = false;
  void call.then(() => isAtOnce = true);
  for (let turn = 0; turn < 20; turn++) await Promise.resolve();
  const wasAtOnce = isAtOnce;
  return [await call, wasAtOnce];
}

/** Adds hits until an answer is as wanted. */
async function hitUntil(
  store: CounterStore,
  isWanted: (answer: CounterAnswer, isAtOnce: boolean) => boolean,
): Promise<void> {
  await waitUntil(async () => isWanted(...await hit(store)), {
    what: "another answer",
    intervalMs: 5,
  });
}
