/**
 * The keys that a worker's calls are signed with: makes the secret and the key
 * pair of a worker, and replaces a secret.
 *
 * @module
 */

import {
  newSigningKey,
  parseSigningSecret,
} from "../../delivery/webhook_signature.ts";
import type {
  Signer,
  SigningSecret,
  WorkerDefinition,
} from "../../domain/records.ts";
import type { SealingTicket } from "../../engine/tenant_keys.ts";
import type { Vault } from "../../engine/vault.ts";
import { problem, type ProblemAnswer } from "../../http/problem_answer.ts";
import type { Write } from "../../store/store.ts";

/** How long a replaced secret signs beside the new one, in milliseconds. */
const ALONGSIDE_MS = 86_400_000;

/**
 * How long a client should wait: the operator has to provide the master key.
 */
const SECRETS_RETRY_MS = 60_000;

/** Most secrets of a worker that sign at the same time. */
export const MAX_SIGNING = 8;

/** A worker or webhook with its new keys. */
interface Keyed<Of extends Signer> {
  /** Tells this outcome from a problem. */
  readonly kind: "ok";
  /** The worker with its new keys; its version is still the old one. */
  readonly worker: Of;
  /** The text of a new secret, to be shown once. */
  readonly secret: string | undefined;
  /** The writes that belong in the same transaction as the worker. */
  readonly writes: readonly Write[];
}

/**
 * Gives a worker the keys that it needs. A secret, when the worker is new, or
 * is called and has none: the calls at the end of tasks are signed for pull
 * workers, too. A key pair, when it is wanted. Without a master key there are
 * neither; only a missing key pair, which was asked for, is a problem then.
 */
export async function withKeys(
  vault: Vault,
  worker: WorkerDefinition,
  { isAsymmetric, isNew }: {
    /** Whether the worker is to have a key pair. */
    readonly isAsymmetric: boolean;
    /** Whether the worker is being made. */
    readonly isNew: boolean;
  },
): Promise<Keyed<WorkerDefinition> | ProblemAnswer> {
  const kept = {
    ...worker,
    asymmetric: isAsymmetric ? worker.asymmetric : undefined,
  };
  const needsPair = isAsymmetric && worker.asymmetric === undefined;
  const needsSecret = (isNew || worker.kind === "push") &&
    worker.signing.length === 0 && vault.isAvailable;
  if (needsPair && !vault.isAvailable) return secretsUnavailable();
  if (!needsPair && !needsSecret) {
    return { kind: "ok", worker: kept, secret: undefined, writes: [] };
  }
  const { key, writes } = await vault.keys.ticket(worker.tenantId);
  const made = needsSecret ? newSecret(vault, worker, key) : undefined;
  return {
    kind: "ok",
    worker: {
      ...kept,
      signing: made === undefined ? worker.signing : [made.stored],
      asymmetric: needsPair ? newPair(vault, worker, key) : kept.asymmetric,
    },
    secret: made?.text,
    writes,
  };
}

/**
 * Replaces the signing secret of a worker or webhook; gives one without a first
 * one. Its earlier secrets go on signing
 * beside the new one, for {@linkcode ALONGSIDE_MS} or until the end that an
 * earlier rotation set.
 */
export async function rotated<Of extends Signer>(
  vault: Vault,
  worker: Of,
  nowMs: number,
): Promise<Keyed<Of> & { readonly secret: string } | ProblemAnswer> {
  if (!vault.isAvailable) return secretsUnavailable();
  const live = worker.signing.filter((one) => !hasEnded(one, nowMs));
  if (live.length >= MAX_SIGNING) {
    return problem("wrong_state", {
      detail: `Cannot replace the signing secret: ${MAX_SIGNING} of them are ` +
        "in use; wait until the oldest has ended",
      extensions: { state: "rotating" },
    });
  }
  const { key, writes } = await vault.keys.ticket(worker.tenantId);
  const made = newSecret(vault, worker, key);
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
    writes,
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
  worker: Signer,
  key: SealingTicket["key"],
): ReturnType<Vault["newSigning"]> {
  const last = Math.max(0, ...worker.signing.map(({ number }) => number));
  return vault.newSigning(worker, { key, number: last + 1 });
}

function newPair(
  vault: Vault,
  worker: WorkerDefinition,
  key: SealingTicket["key"],
): NonNullable<WorkerDefinition["asymmetric"]> {
  const text = newSigningKey();
  const parsed = parseSigningSecret(text);
  if (parsed?.kind !== "asymmetric") {
    throw new TypeError("Cannot create key pair: the result is not a pair");
  }
  return {
    sealed: vault.sealKeyPair(worker, { key, text }),
    publicKey: parsed.publicKeyText,
  };
}
