/**
 * A test engine with push workers, whose calls a test answers.
 *
 * @module
 */

import type { PushRequest } from "../../delivery/push_call.ts";
import type { PushOutcome } from "../../delivery/push_answer.ts";
import type { WorkerDefinition } from "../../domain/records.ts";
import type { MasterKeys, SealingKey } from "../../secrets/master_keys.ts";
import { sealSecret } from "../../secrets/envelope.ts";
import type { SecretRecord } from "../repositories.ts";
import { Delivery } from "../delivery.ts";
import { Push } from "../push.ts";
import { Vault } from "../vault.ts";
import {
  openTestEngine,
  TENANT_ID,
  type TestEngine,
  type TestEngineOptions,
} from "./test_engine.ts";

/** An answer of a worker. */
type PushAnswer = Extract<PushOutcome, { readonly kind: "answered" }>;

/** Options of {@linkcode openTestPush}. */
export interface TestPushOptions extends TestEngineOptions {
  /**
   * Returns the answer of the receivers; an aborted call is `canceled` in any
   * case.
   */
  readonly answer: (
    request: PushRequest,
  ) => PushOutcome | Promise<PushOutcome>;
  /**
   * The master keys that wrap data keys.
   *
   * @default none
   */
  readonly masterKeys?: MasterKeys;
  /**
   * The most calls at once.
   *
   * @default {100}
   */
  readonly maxInFlight?: number;
}

/** An engine that calls push workers. */
export interface TestPush extends TestEngine {
  /** The component that calls push workers. */
  readonly push: Push;
  /** The component that encrypts and decrypts secrets. */
  readonly vault: Vault;
  /** All calls that were made, with the time of each. */
  readonly calls: (PushRequest & { readonly atMs: number })[];
  /** Adds a push worker. */
  pushWorker(patch?: Partial<WorkerDefinition>): Promise<WorkerDefinition>;
  /** Adds secrets of a worker. */
  addSecrets(
    worker: WorkerDefinition,
    values: Readonly<Record<string, string>>,
  ): Promise<void>;
  /** Starts the engine and the push calls. */
  start(): Promise<void>;
  /** Stops the push calls and the engine. */
  stop(graceMs?: number): Promise<void>;
}

/** An answer with a certain status. */
export function answered(
  status: number,
  fields: Partial<PushAnswer> = {},
): PushAnswer {
  return {
    kind: "answered",
    status,
    headers: {},
    bodyText: "",
    isTruncated: false,
    isFinal: false,
    durationMs: 5,
    ...fields,
  };
}

/** The parsed body of a call. */
export function parseBody(
  request: Pick<PushRequest, "body"> | undefined,
): {
  readonly type: string;
  readonly data: {
    readonly task: { readonly id: string };
    readonly run: number;
    readonly attempt: { readonly id: string; readonly token: string };
  };
} {
  return JSON.parse(request?.body ?? "null");
}

/** The stored record of a secret. */
export function sealedRecord(
  worker: WorkerDefinition,
  secret: {
    readonly name: string;
    readonly value: string;
    readonly key: SealingKey;
    readonly version?: number;
  },
): SecretRecord {
  const { tenantId, id: workerId } = worker;
  const { name, value, key, version = 1 } = secret;
  const row = { tenantId, workerId, name, version };
  return {
    ...row,
    id: `${workerId}:${name}`,
    sealed: sealSecret(value, { key, row }),
    createdAtMs: 0,
    updatedAtMs: 0,
  };
}

/** Opens an engine with push workers without starting it. */
export async function openTestPush(
  options: TestPushOptions,
): Promise<TestPush> {
  const { answer, masterKeys, maxInFlight = 100, ...rest } = options;
  const world = await openTestEngine(rest);
  const { engine, parts, clock } = world;
  const vault = new Vault({
    repositories: parts.repositories,
    clock,
    ...(masterKeys === undefined ? {} : { masterKeys }),
  });
  const calls: (PushRequest & { readonly atMs: number })[] = [];
  const delivery = new Delivery({
    parts,
    changes: engine.changes,
    vault,
    view: ({ id, status }) => ({ id, status }),
    mirroring: engine.mirroring,
    caller: {
      async call(request) {
        calls.push({ ...request, atMs: clock.nowMs() });
        const canceled = Promise.withResolvers<PushOutcome>();
        const end = (): void => {
          const message = "the call was ended";
          const code = "canceled";
          canceled.resolve({ kind: "failed", code, message, durationMs: 1 });
        };
        if (request.signal?.aborted) end();
        request.signal?.addEventListener("abort", end);
        try {
          return await Promise.race([canceled.promise, answer(request)]);
        } finally {
          request.signal?.removeEventListener("abort", end);
        }
      },
    },
  });
  const { changes, claims } = engine;
  const push = new Push({ parts, changes, claims, delivery, maxInFlight });
  return {
    ...world,
    push,
    vault,
    calls,
    async pushWorker(patch = {}) {
      return await world.worker({
        kind: "push",
        name: "push",
        url: "https://worker.example/run",
        ...patch,
      });
    },
    async addSecrets(worker, values) {
      for (const [name, value] of Object.entries(values)) {
        const { key, writes } = await vault.keys.ticket(TENANT_ID);
        const record = sealedRecord(worker, { name, value, key });
        const write = parts.repositories.secrets.insert(record);
        await parts.store.commit([{ writes: [...writes, write] }]);
      }
    },
    async start() {
      await engine.start();
      push.start();
      await clock.advance(0);
    },
    async stop(graceMs = 0) {
      const stopping = push.stop(graceMs).then(() => engine.stop());
      let isStopped = false;
      stopping.then(() => isStopped = true, () => isStopped = true);
      for (let passedMs = 0; passedMs < 60_000 && !isStopped; passedMs += 50) {
        await clock.advance(50);
      }
      await stopping;
    },
  };
}
