/**
 * The routes that list and remove a worker's secrets and credentials, and those of
 * its signing keys.
 *
 * @module
 */

import {
  newSigningKey,
  parseSigningSecret,
} from "../../delivery/webhook_signature.ts";
import type { SigningSecret, WorkerDefinition } from "../../domain/records.ts";
import { retiring, type Vault } from "../../engine/vault.ts";
import type { SealingTicket } from "../../engine/tenant_keys.ts";
import { type Answer, empty, json } from "../../http/answer.ts";
import { type CallContext, tenantOf } from "../../http/call.ts";
import { type CommitPlan, commitPlan } from "../../http/commit_plan.ts";
import { problem, type ProblemAnswer } from "../../http/problem_answer.ts";
import { type AnyRoute, defineRoute } from "../../http/route.ts";
import { isSecretName } from "../../secrets/secret_rules.ts";
import type { Write } from "../../store/store.ts";
import type { ApiParts } from "../api_parts.ts";
import { auditOf } from "./change_worker.ts";
import { findWorker, noSuchWorker } from "./read_workers.ts";
import {
  SECRET_LIST,
  viewCredential,
  viewSigning,
  viewValue,
} from "./secret_fields.ts";

/** The routes that list a worker's secrets and remove one. */
export function readSecretRoutes(parts: ApiParts): readonly AnyRoute[] {
  const { engine } = parts;
  return [
    defineRoute({
      method: "GET",
      path: "/v1/workers/:id/secrets",
      hosts: "tenant",
      operationId: "listSecrets",
      summary: "List a worker's secrets: names and dates, never values",
      tags: ["secrets"],
      access: { kind: "member", role: "admin", scope: "secrets:read" },
      answers: {
        200: {
          description: "Values, credentials and signing secrets",
          shape: SECRET_LIST,
        },
      },
      problems: [],
      async handle(call) {
        const worker = await workerOf(call, parts);
        return worker === undefined
          ? noSuchWorker()
          : await listSecrets(call, { parts, worker });
      },
    }),
    defineRoute({
      method: "DELETE",
      path: "/v1/workers/:id/secrets/:name",
      hosts: "tenant",
      operationId: "removeSecret",
      summary: "Remove a value, or revoke a credential",
      description: "`:name` is the name of a value or the id of a credential " +
        "(`wk_…`), which is refused from now on.",
      tags: ["secrets"],
      access: { kind: "member", role: "admin", scope: "secrets:write" },
      answers: { 204: { description: "It is gone" } },
      problems: [],
      async handle(call) {
        return await commitPlan(engine.parts.store, async () => {
          const worker = await workerOf(call, parts);
          return worker === undefined
            ? noSuchWorker()
            : await planRemoval(call, { parts, worker });
        });
      },
    }),
  ];
}

interface Of {
  readonly parts: ApiParts;
  readonly worker: WorkerDefinition;
}

function workerOf(
  call: CallContext,
  { engine }: ApiParts,
): Promise<WorkerDefinition | undefined> {
  return findWorker(engine, tenantOf(call).id, call.params.id ?? "");
}

async function listSecrets(
  { nowMs }: CallContext,
  { parts, worker }: Of,
): Promise<Answer> {
  const { secrets, credentials } = parts.engine.parts.repositories;
  const { tenantId, id, signing } = worker;
  const [values, pairs] = await Promise.all([
    secrets.all(tenantId, id),
    credentials.all(tenantId, id),
  ]);
  return json({
    data: [
      ...values.map(viewValue),
      ...pairs.map(viewCredential),
      ...signing.filter((one) => !hasEnded(one, nowMs)).map(viewSigning),
    ],
    next: null,
  });
}

async function planRemoval(
  call: CallContext,
  { parts, worker }: Of,
): Promise<CommitPlan | Answer> {
  const { repositories } = parts.engine.parts;
  const { secrets, credentials } = repositories;
  const { tenantId, id: workerId } = worker;
  const { name = "" } = call.params;
  if (isSecretName(name)) {
    const secret = await secrets.get(tenantId, `${workerId}:${name}`);
    if (secret === undefined) return noSuchSecret();
    return {
      kind: "plan",
      writes: [
        secrets.remove(secret),
        ...await retiring([secret], { repositories, nowMs: call.nowMs }),
        auditOf(call, {
          action: "secret.removed",
          target: workerId,
          detail: { name },
        }),
      ],
      answer: empty(),
    };
  }
  const credential = await credentials.get(tenantId, name);
  if (credential?.workerId !== workerId) return noSuchSecret();
  return {
    kind: "plan",
    writes: [
      credentials.remove(credential),
      auditOf(call, {
        action: "credential.revoked",
        target: workerId,
        detail: { credential: name },
      }),
    ],
    answer: empty(),
    afterwards: () => parts.workerCredentials.forget(tenantId, name),
  };
}

function noSuchSecret(): Answer {
  return problem("not_found", {
    detail: "Cannot find secret: the worker has none with this name or id",
  });
}

/** How long a secret that was replaced signs alongside the new one. */
const ALONGSIDE_MS = 86_400_000;

/** When another try is worth it: the operator has to provide the key. */
const SECRETS_RETRY_MS = 60_000;

/** Most secrets that sign at once. */
const MAX_SIGNING = 8;

/** A worker with its new keys. */
interface KeyedWorker {
  /** Tells it from a problem. */
  readonly kind: "ok";
  /** The worker; its version is the old one. */
  readonly worker: WorkerDefinition;
  /** The text of a secret that is new, to be shown once. */
  readonly secret?: string;
  /** What has to be written along with it. */
  readonly writes: readonly Write[];
}

/** Options of {@linkcode withKeys}. */
interface KeyOptions {
  /** Whether it is to have a key pair. */
  readonly isAsymmetric: boolean;
  /**
   * Whether the worker is being made.
   * @default {false}
   */
  readonly isNew?: boolean;
}

/**
 * Gives a worker the keys it is to have: a secret when it is new or called and
 * has none, as the calls at the end of its tasks are signed, too, for all
 * callers; a key pair when that is wanted. Without a master key there are
 * neither; only the pair, which was asked for, is a problem then.
 */
export async function withKeys(
  vault: Vault,
  worker: WorkerDefinition,
  { isAsymmetric, isNew = false }: KeyOptions,
): Promise<KeyedWorker | ProblemAnswer> {
  const { asymmetric: pair, ...rest } = worker;
  const needsPair = isAsymmetric && pair === undefined;
  const needsSecret = (isNew || worker.kind === "push") &&
    worker.signing.length === 0 && vault.isAvailable;
  const kept = isAsymmetric ? worker : rest;
  if (needsPair && !vault.isAvailable) return secretsUnavailable();
  if (!needsPair && !needsSecret) {
    return { kind: "ok", worker: kept, writes: [] };
  }
  const ticket = await vault.ticket(worker.tenantId);
  const made = needsSecret ? newSecret(vault, worker, ticket) : undefined;
  return {
    kind: "ok",
    worker: {
      ...kept,
      ...(made === undefined ? {} : { signing: [made.stored] }),
      ...(needsPair ? { asymmetric: newPair(vault, worker, ticket) } : {}),
    },
    ...(made === undefined ? {} : { secret: made.text }),
    writes: ticket.writes,
  };
}

/**
 * Replaces the secret of a worker. Those it had sign alongside for
 * {@linkcode ALONGSIDE_MS}, or for as long as was said when they were replaced.
 */
export async function rotated(
  vault: Vault,
  worker: WorkerDefinition,
  nowMs: number,
): Promise<KeyedWorker & { readonly secret: string } | ProblemAnswer> {
  if (!vault.isAvailable) return secretsUnavailable();
  const live = worker.signing.filter((one) => !hasEnded(one, nowMs));
  if (live.length >= MAX_SIGNING) {
    return problem("wrong_state", {
      detail: `Cannot replace the signing secret: ${MAX_SIGNING} of them are ` +
        "in use; wait until the oldest has ended",
      extensions: { state: "rotating" },
    });
  }
  const ticket = await vault.ticket(worker.tenantId);
  const made = newSecret(vault, worker, ticket);
  return {
    kind: "ok",
    worker: {
      ...worker,
      signing: [
        made.stored,
        ...live.map((one) => ({
          ...one,
          expiresAtMs: one.expiresAtMs ?? nowMs + ALONGSIDE_MS,
        })),
      ],
    },
    secret: made.text,
    writes: ticket.writes,
  };
}

/** Tells whether a secret has stopped signing. */
export function hasEnded(
  { expiresAtMs }: SigningSecret,
  nowMs: number,
): boolean {
  return expiresAtMs !== undefined && expiresAtMs <= nowMs;
}

/** The problem of a service without a master key. */
export function secretsUnavailable(): ProblemAnswer {
  return problem("secrets_unavailable", {
    detail: "Cannot keep secrets: no master key is configured",
    retryAfterMs: SECRETS_RETRY_MS,
  });
}

function newSecret(
  vault: Vault,
  worker: WorkerDefinition,
  { key }: SealingTicket,
): ReturnType<Vault["newSigning"]> {
  const last = Math.max(0, ...worker.signing.map(({ number }) => number));
  return vault.newSigning(worker, { key, number: last + 1 });
}

function newPair(
  vault: Vault,
  worker: WorkerDefinition,
  { key }: SealingTicket,
): NonNullable<WorkerDefinition["asymmetric"]> {
  const text = newSigningKey();
  const parsed = parseSigningSecret(text);
  if (parsed.kind !== "ok" || parsed.key.kind !== "asymmetric") {
    throw new TypeError("Cannot make key pair: the result is not a pair");
  }
  return {
    sealed: vault.sealKeyPair(worker, { key, text }),
    publicKey: parsed.key.publicKeyText,
  };
}
