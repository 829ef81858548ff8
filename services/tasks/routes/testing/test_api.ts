/**
 * The API over an engine in memory, called without a server, for tests of
 * routes. Each answer is checked against the API's document.
 *
 * @module
 */

import { FakeClock } from "../../../../tests/support/fake_clock.ts";
import { RecordingLogger } from "../../../../tests/support/recording_logger.ts";
import { SeededRandom } from "../../../../tests/support/seeded_random.ts";
import type { FairTurns } from "../../../shared/fair_turns.ts";
import { NEVER_PAUSING, type Pausing } from "../../../shared/slices.ts";
import { Authenticator } from "../../access/authenticator.ts";
import type { Network } from "../../../shared/ip_network.ts";
import type { ProviderLogin } from "../../access/provider_login.ts";
import type { UserMirror } from "../../access/identity_provider.ts";
import { PushCaller } from "../../delivery/push_call.ts";
import {
  type ApiKey,
  type Plan,
  type PlanLimits,
  type Price,
  type Tenant,
  UNLIMITED_PLAN,
  type WorkerDefinition,
} from "../../domain/records.ts";
import type { ConsoleParts } from "../../console/parts/page.ts";
import { Engine } from "../../engine/engine.ts";
import { openParts } from "../../engine/parts.ts";
import { Vault } from "../../engine/vault.ts";
import type { MasterKeys } from "../../secrets/master_keys.ts";
import { createRing } from "../../secrets/testing/keys.ts";
import type { HttpHandler } from "../../../shared/http/exchange.ts";
import type { ReadinessReport } from "../../../shared/http/readiness.ts";
import type { Store, Write } from "../../store/store.ts";
import { TaskIds } from "../../store/task_id.ts";
import { createMemoryStore } from "../../store/testing/memory_store.ts";
import type { ApiParts } from "../api_parts.ts";
import { Sessions } from "../../engine/sessions.ts";
import { CredentialRecords } from "../../engine/credential_records.ts";
import { createHandler } from "../../http/handler.ts";
import { Cursors } from "../../http/page.ts";
import type { AnyRoute } from "../../http/route.ts";
import { IdempotentAnswers } from "../../http/idempotency.ts";
import { Delivery } from "../../engine/delivery.ts";
import { PlanBook } from "../../engine/plan_book.ts";
import { Push } from "../../engine/push.ts";
import { viewTask } from "../tasks/task_view.ts";
import { type TestAnswer, type TestCall, TestCaller } from "./test_caller.ts";
import { TestRecords, type TestTenant } from "./test_records.ts";

/** The host name of the service in tests. */
export const SERVICE_HOST = "tercet.test";

/** Options of {@linkcode openTestApi}. */
export interface TestApiOptions {
  /** The routes under test, and with them those of the console. */
  readonly routes: (
    parts: ApiParts,
    console: ConsoleParts,
  ) => readonly AnyRoute[];
  /**
   * The store.
   * @default a new one in memory
   */
  readonly store?: Store;
  /**
   * Another API, on whose data and by whose clock this one works, as another
   * instance does; "acme" is its tenant.
   * @default it is alone
   */
  readonly besides?: TestApi;
  /**
   * How many instances share out the rates of requests and sign-ups.
   * @default one
   */
  readonly liveInstances?: () => number;
  /**
   * Makes the notices of the instance get lost.
   * @default {false}
   */
  readonly losesNotices?: boolean;
  /**
   * The clock.
   * @default a new one
   */
  readonly clock?: FakeClock;
  /**
   * Limits of all tenants' plan that differ from the unlimited plan.
   * @default none
   */
  readonly limits?: Partial<PlanLimits>;
  /**
   * The plans; the first is the plan of all tenants.
   * @default one, called "test", with `limits`
   */
  readonly plans?: readonly Plan[];
  /**
   * What the plans cost.
   * @default nothing
   */
  readonly prices?: readonly Price[];
  /**
   * Whether a master key is set.
   * @default {true}
   */
  readonly hasMasterKey?: boolean;
  /**
   * The master keys, when one is set.
   * @default a random one called "test"
   */
  readonly masterKeys?: MasterKeys;
  /**
   * The rules for creating tenants.
   * @default by anybody
   */
  readonly accounts?: Partial<ApiParts["accounts"]>;
  /**
   * The mirror of users; with one, the engine is started and push workers are
   * called.
   * @default users are not mirrored
   */
  readonly mirror?: UserMirror;
  /**
   * The issuer of the tokens by which people log in.
   * @default tokens are refused
   */
  readonly issuer?: string;
  /**
   * Signs people in to the console.
   * @default they sign in with keys alone
   */
  readonly login?: ProviderLogin;
  /**
   * Makes push calls.
   * @default one that resolves no name
   */
  readonly caller?: PushCaller;
  /**
   * The rules that URLs to be called must meet.
   * @default public addresses with TLS
   */
  readonly targets?: ApiParts["targets"];
  /**
   * Digests of the operator's tokens.
   * @default none
   */
  readonly operatorDigests?: readonly string[];
  /**
   * Whether the service is ready.
   * @default it is
   */
  readonly readiness?: () => Promise<ReadinessReport>;
  /**
   * Largest body of any request, in bytes.
   * @default 8 MiB
   */
  readonly maxBodyBytes?: number;
  /**
   * Whether tenants may be named by header or path.
   * @default {false}
   */
  readonly devFallback?: boolean;
  /**
   * Proxies whose forwarding headers are believed.
   * @default none
   */
  readonly trustedProxies?: readonly Network[];
  /**
   * The queue in which requests take turns.
   * @default all requests begin at once
   */
  readonly turns?: FairTurns;
  /**
   * Lets other requests go first in long work, where there are no turns.
   * @default it never waits
   */
  readonly pausing?: Pausing;
  /**
   * The seed of everything random.
   * @default {1}
   */
  readonly seed?: number;
}

/** The API of a test. */
export interface TestApi extends TestTenant {
  /** The parts that the routes were made with. */
  readonly parts: ApiParts;
  /** Answers requests that a test makes itself; the answers are not checked. */
  readonly handler: HttpHandler;
  /** The engine; started only with a mirror. */
  readonly engine: Engine;
  /** The engine's store, without the cache in front of it. */
  readonly store: Store;
  /** The clock of everything. */
  readonly clock: FakeClock;
  /** What was logged. */
  readonly logger: RecordingLogger;
  /**
   * Calls a route. Paths that begin with `/v1/` are below `/api`; the host is
   * that of the tenant "acme" and the key its owner's unless the call says
   * something else.
   *
   * @throws {Error} when the answer is not what the document promises
   */
  call(method: string, path: string, call?: TestCall): Promise<TestAnswer>;
  /** Adds a tenant with a key of its owner. */
  addTenant(domain: string, patch?: Partial<Tenant>): Promise<TestTenant>;
  /**
   * Adds a key, of the tenant "acme" unless the patch says another, and returns
   * its text.
   */
  addKey(patch?: Partial<ApiKey>): Promise<string>;
  /** Adds a worker, of the tenant "acme" unless the patch says another. */
  addWorker(patch?: Partial<WorkerDefinition>): Promise<WorkerDefinition>;
  /** Writes anything, and fails when it conflicts. */
  write(...writes: readonly Write[]): Promise<void>;
  /** Stops and closes everything. */
  close(): Promise<void>;
}

/** Opens the API over an engine that is started only with a mirror. */
export async function openTestApi(options: TestApiOptions): Promise<TestApi> {
  const { besides } = options;
  const clock = besides?.clock ?? options.clock ?? new FakeClock();
  const logger = new RecordingLogger();
  const memory = options.store ??
    createMemoryStore({
      clock,
      ...(besides === undefined ? {} : { besides: besides.store }),
    });
  const store = options.losesNotices === true
    ? Object.assign(memory, { onNotice: () => () => {} })
    : memory;
  await store.start();
  const plans = createPlanBook(options);
  const engine = engineOver({ store, plans, clock, logger, options });
  const { repositories } = engine.parts;
  const targets = options.targets ?? { allowHttp: false, allowList: [] };
  const caller = options.caller ??
    new PushCaller({ ...targets, resolve: () => Promise.resolve([]) });
  const vault = new Vault({
    repositories,
    clock,
    ...(options.hasMasterKey === false
      ? {}
      : { masterKeys: options.masterKeys ?? createRing("test") }),
  });
  const push = options.mirror && pushOver({ engine, vault, caller });
  const parts: ApiParts = {
    engine,
    vault,
    plans,
    cursors: new Cursors(new Uint8Array(32).fill(7)),
    caller,
    targets,
    ...(options.issuer === undefined ? {} : { issuer: options.issuer }),
    accounts: {
      mode: "open",
      tokenDigests: [],
      perHour: 1_000,
      serviceHost: SERVICE_HOST,
      liveInstances: options.liveInstances ?? (() => 1),
      ...options.accounts,
    },
    readiness: options.readiness ??
      (() => Promise.resolve({ store: { isReady: true } })),
    durability: "strict",
    isStopping: () => false,
    maxBatchBytes: 4_194_304,
    onTimeMs: 10_000,
  };
  if (push !== undefined) {
    await engine.start();
    push.start();
  }
  const users = new CredentialRecords(engine.parts);
  const authenticator = new Authenticator({ store: users, clock });
  const sessions = new Sessions(engine.parts);
  const routes = options.routes(parts, {
    authenticator,
    sessions,
    users,
    login: options.login,
    operatorDigests: options.operatorDigests ?? [],
    logger,
  });
  const handler = createHandler({
    routes,
    serviceHost: SERVICE_HOST,
    devFallback: options.devFallback ?? false,
    trustedProxies: options.trustedProxies ?? [],
    repositories,
    limitsOfPlan: plans.getLimits,
    operatorDigests: options.operatorDigests ?? [],
    authenticator,
    sessions,
    leaseSource: engine,
    maxBodyBytes: options.maxBodyBytes ?? 8 * 1_048_576,
    maxBodiesBytes: 128 * 1_048_576,
    liveInstances: options.liveInstances ?? (() => 1),
    answers: new IdempotentAnswers({ store: engine.parts.store, clock }),
    turns: options.turns ?? createTurns(options.pausing ?? NEVER_PAUSING),
    clock,
    logger,
  });

  const records = new TestRecords(engine);
  const plan = plans.defaultPlan.id;
  const acme = besides ?? await records.addTenant("acme", { plan });
  const calls = new TestCaller(handler, {
    routes,
    serviceHost: SERVICE_HOST,
    key: acme.ownerKey,
  });

  return {
    tenant: acme.tenant,
    ownerKey: acme.ownerKey,
    parts,
    handler,
    engine,
    store,
    clock,
    logger,
    call: (method, path, call) => calls.call(method, path, call),
    addTenant: (domain, patch) => records.addTenant(domain, { plan, ...patch }),
    addKey: (patch) => records.addKey({ tenantId: acme.tenant.id, ...patch }),
    addWorker: (patch) =>
      records.addWorker({ tenantId: acme.tenant.id, ...patch }),
    write: (...writes) => records.write(...writes),
    async close() {
      await push?.stop(0);
      await engine.stop();
      await caller.close();
    },
  };
}

/** Lets all requests begin at once. */
function createTurns(pausing: Pausing): Pick<FairTurns, "begin"> {
  return {
    begin: (key) => ({
      kind: "ok",
      turn: {
        key,
        waitedMs: 0,
        usedMs: 0,
        pause: () => pausing.pause(),
        moveTo() {},
        measure: (work) => work(),
      },
    }),
  };
}

/** Calls the push workers of an engine, and makes its deliveries. */
function pushOver(
  { engine, vault, caller }: Pick<ApiParts, "engine" | "vault" | "caller">,
): Push {
  const { parts, changes, claims, mirroring } = engine;
  return new Push({
    parts,
    changes,
    claims,
    delivery: new Delivery({
      parts,
      changes,
      vault,
      caller,
      mirroring,
      view: (task, options) => viewTask(task, { ...options, payloads: true }),
    }),
    maxInFlight: 100,
  });
}

function createPlanBook(options: TestApiOptions): PlanBook {
  const { plans, limits, prices } = options;
  const test: Plan = {
    ...UNLIMITED_PLAN,
    id: "test",
    name: "Test",
    limits: { ...UNLIMITED_PLAN.limits, ...limits },
  };
  return new PlanBook(
    plans ?? [test],
    prices === undefined ? {} : { prices },
  );
}

function engineOver(
  { store, plans, clock, logger, options }: {
    readonly store: Store;
    readonly plans: PlanBook;
    readonly clock: FakeClock;
    readonly logger: RecordingLogger;
    readonly options: TestApiOptions;
  },
): Engine {
  const random = new SeededRandom(
    options.seed ?? (options.besides === undefined ? 1 : 2),
  );
  const ids = new TaskIds(
    clock,
    (length) =>
      Uint8Array.from({ length }, () => Math.floor(random.next() * 256)),
  );
  const parts = openParts({
    store,
    limitsOfPlan: plans.getLimits,
    clock,
    random: () => random.next(),
    newId: ids.newId,
    logger,
  });
  return new Engine(parts, options.mirror);
}
