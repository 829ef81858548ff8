/**
 * The keys that a worker's calls are signed with: made, replaced, dropped.
 *
 * @module
 */

import {
  newSigningKey,
  parseSigningSecret,
} from "../../delivery/webhook_signature.ts";
import type { SigningSecret, WorkerDefinition } from "../../domain/records.ts";
import type { SealingTicket } from "../../engine/tenant_keys.ts";
import type { Vault } from "../../engine/vault.ts";
import type { Write } from "../../store/store.ts";
import { problem, type ProblemAnswer } from "../../http/problem_answer.ts";

/** How long a secret that was replaced signs alongside the new one. */
export const ALONGSIDE_MS = 86_400_000;

/** When another try is worth it: somebody has to look for the key. */
const SECRETS_RETRY_MS = 60_000;

/** Most secrets that sign at once. */
const MAX_SIGNING = 8;

/** A worker with its new keys. */
export interface KeyedWorker {
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
export interface KeyOptions {
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
 * has none, as the calls at the end of its tasks are signed, too, whoever asks
 * for these; a key pair when that is wanted. Without a master key there are
 * neither; only the pair, which somebody asked for, is a problem then.
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
    throw new TypeError("Cannot make key pair: what was made is none");
  }
  return {
    sealed: vault.sealKeyPair(worker, { key, text }),
    publicKey: parsed.key.publicKeyText,
  };
}
