/**
 * The route that adds secrets to a worker, mints credentials for it, and
 * replaces what its calls are signed with.
 *
 * @module
 */

import {
  type Caller,
  scopeLackedBy,
  seesPayloads,
} from "../../access/caller.ts";
import { mintWorkerCredential } from "../../access/credential_token.ts";
import type {
  WorkerCredential,
  WorkerDefinition,
} from "../../domain/records.ts";
import type { SecretRecord } from "../../engine/repositories.ts";
import { retiring } from "../../engine/vault.ts";
import { sealSecret } from "../../secrets/envelope.ts";
import {
  countSecretNames,
  MAX_SECRETS_PER_WORKER,
  parseSecretsRequest,
} from "../../secrets/secret_rules.ts";
import type { SecretsRequest } from "../../secrets/secret_request.ts";
import type { Write } from "../../store/store.ts";
import type { ApiParts } from "../api_parts.ts";
import { type Answer, json } from "../../http/answer.ts";
import { type CallContext, callerOf, tenantOf } from "../../http/call.ts";
import {
  invalidRequest,
  problem,
  type ProblemAnswer,
} from "../../http/problem_answer.ts";
import { type AnyRoute, defineRoute, optionalBody } from "../../http/route.ts";
import {
  ADDED_SECRETS,
  NEW_SECRETS,
  VALUES_EXAMPLE,
  viewCredential,
  viewSigning,
  viewValue,
} from "./secret_fields.ts";
import { type CommitPlan, commitPlan } from "../../http/commit_plan.ts";
import { auditOf } from "./change_worker.ts";
import { hasEnded, rotated, secretsUnavailable } from "./read_secrets.ts";
import { findWorker, noSuchWorker } from "./read_workers.ts";

/** Most credentials of a worker that have not expired. */
const MAX_CREDENTIALS = 100;

/** A hundred values of 16 KiB, with room for their escapes. */
const MAX_BODY_BYTES = 4 * 1_048_576;

/** The route that adds secrets. */
export function addSecretsRoute(parts: ApiParts): AnyRoute {
  const { engine, vault } = parts;
  return defineRoute({
    method: "POST",
    path: "/v1/workers/:id/secrets",
    hosts: "tenant",
    operationId: "addSecrets",
    summary: "Add secrets to a worker, or make it a credential or signing key",
    description: "Values are never told again. A name that is there gets a " +
      "new version. A signing secret that is replaced signs alongside the new " +
      "one for 24 hours. A caller that does not see the data of tasks makes no " +
      "credential, which does. What is shown once is null in an answer that " +
      "is given again for an Idempotency-Key.",
    tags: ["secrets"],
    access: { kind: "member", role: "admin", scope: "secrets:write" },
    body: optionalBody(NEW_SECRETS, {
      maxBytes: () => MAX_BODY_BYTES,
      example: VALUES_EXAMPLE,
    }),
    answers: {
      201: { description: "What was added or made", shape: ADDED_SECRETS },
    },
    isIdempotent: true,
    problems: ["secrets_unavailable", "wrong_state"],
    handle(call) {
      const read = parseSecretsRequest(call.body, { nowMs: call.nowMs });
      if (read.kind === "invalid") return invalidRequest(read.problems);
      const { request } = read;
      const refusal = request.kind === "credential"
        ? beyondCaller(callerOf(call))
        : undefined;
      if (refusal !== undefined) return refusal;
      // Of a credential only a digest is kept, which needs no key.
      if (!vault.isAvailable && request.kind !== "credential") {
        return secretsUnavailable();
      }
      return commitPlan(engine.parts.store, async () => {
        const worker = await findWorker(
          engine,
          tenantOf(call).id,
          call.params.id ?? "",
        );
        return worker === undefined
          ? noSuchWorker()
          : await planFor(request, { call, parts, worker });
      });
    },
  });
}

/** Why the caller may not make a credential: it would be allowed more than they. */
function beyondCaller(caller: Caller): ProblemAnswer | undefined {
  if (!seesPayloads(caller)) {
    return problem("forbidden", {
      detail: "Cannot make credential: it sees the data of tasks and the " +
        "worker's secrets, which you do not",
    });
  }
  const scope = scopeLackedBy(caller, "leases:write");
  return scope === undefined ? undefined : problem("forbidden", {
    detail: "Cannot make credential: it takes tasks, for which you lack " +
      `the scope "${scope}"`,
    extensions: { scope },
  });
}

interface Adding {
  readonly call: CallContext;
  readonly parts: ApiParts;
  readonly worker: WorkerDefinition;
}

function planFor(
  request: SecretsRequest,
  adding: Adding,
): Promise<CommitPlan | Answer> {
  switch (request.kind) {
    case "values":
      return planValues(request, adding);
    case "credential":
      return planCredential(request, adding);
    case "signing":
      return planRotation(adding);
  }
}

async function planValues(
  { secrets: added }: Extract<SecretsRequest, { readonly kind: "values" }>,
  { call, parts, worker }: Adding,
): Promise<CommitPlan | Answer> {
  const { engine, vault } = parts;
  const { tenantId, id: workerId } = worker;
  const { repositories } = engine.parts;
  const stored = await repositories.secrets.all(tenantId, workerId);
  const count = countSecretNames(stored.map(({ name }) => name), added);
  if (count > MAX_SECRETS_PER_WORKER) {
    return tooMany(
      `Cannot add secrets: the worker would have ${count} of them, ` +
        `${MAX_SECRETS_PER_WORKER} is the most`,
    );
  }
  const ticket = await vault.ticket(tenantId);
  const changes = added.map(({ name, value }) => {
    const previous = stored.find((one) => one.name === name);
    const version = (previous?.version ?? 0) + 1;
    const row = { tenantId, workerId, name, version };
    const next: SecretRecord = {
      ...row,
      id: `${workerId}:${name}`,
      sealed: sealSecret(value, { key: ticket.key, row }),
      createdAtMs: previous?.createdAtMs ?? call.nowMs,
      updatedAtMs: call.nowMs,
    };
    const write = previous === undefined
      ? repositories.secrets.insert(next)
      : repositories.secrets.update(previous, next);
    return { previous, next, write };
  });
  const replaced = changes.flatMap(({ previous }) => previous ?? []);
  const answer = json({
    type: "value",
    secrets: changes.map(({ next }) => viewValue(next)),
  }, { status: 201 });
  return {
    kind: "plan",
    writes: [
      touched(worker, parts),
      ...changes.map(({ write }) => write),
      ...await retiring(replaced, { repositories, nowMs: call.nowMs }),
      ...ticket.writes,
      auditOf(call, {
        action: "secret.changed",
        target: workerId,
        detail: { names: changes.map(({ next }) => next.name) },
      }),
      ...call.extraWrites(answer),
    ],
    answer,
  };
}

async function planCredential(
  { name = "", expiresAtMs, secrets = true }: Extract<
    SecretsRequest,
    { readonly kind: "credential" }
  >,
  { call, parts, worker }: Adding,
): Promise<CommitPlan | Answer> {
  const { tenantId, id: workerId } = worker;
  const { repositories } = parts.engine.parts;
  const { nowMs } = call;
  const all = await repositories.credentials.all(tenantId, workerId);
  const expired = all.filter((one) => (one.expiresAtMs ?? Infinity) <= nowMs);
  const hasRoom = all.length - expired.length < MAX_CREDENTIALS;
  if (!hasRoom) {
    return tooMany(
      `Cannot make credential: the worker has ${MAX_CREDENTIALS} of them; ` +
        "remove some that are not used",
    );
  }
  const minted = mintWorkerCredential(tenantOf(call).domain);
  const { id, key, secret, digest } = minted;
  const credential: WorkerCredential = {
    tenantId,
    id,
    version: 1,
    workerId,
    name,
    digest,
    secrets,
    createdAtMs: nowMs,
    expiresAtMs,
  };
  const answerWith = (shown: string | null): Answer =>
    json({ ...viewCredential(credential), key, secret: shown }, {
      status: 201,
    });
  return {
    kind: "plan",
    writes: [
      touched(worker, parts),
      repositories.credentials.insert(credential),
      // Those that can no longer be used make room for the new one.
      ...all.length < MAX_CREDENTIALS
        ? []
        : expired.map((one) => repositories.credentials.remove(one)),
      auditOf(call, {
        action: "credential.created",
        target: workerId,
        detail: { credential: id },
      }),
      ...call.extraWrites(answerWith(null)),
    ],
    answer: answerWith(secret),
  };
}

async function planRotation(
  { call, parts: { engine, vault }, worker }: Adding,
): Promise<CommitPlan | Answer> {
  const { nowMs } = call;
  const keyed = await rotated(vault, worker, nowMs);
  if (keyed.kind === "problem") return keyed;
  const [current, ...replaced] = keyed.worker.signing;
  if (current === undefined) {
    throw new TypeError("Cannot tell of the signing secret: there is none");
  }
  const next = {
    ...keyed.worker,
    version: worker.version + 1,
    updatedAtMs: nowMs,
  };
  const answerWith = (shown: string | null): Answer =>
    json({
      ...viewSigning(current),
      secret: shown,
      replaced: replaced.filter((one) => !hasEnded(one, nowMs))
        .map(viewSigning),
    }, { status: 201 });
  return {
    kind: "plan",
    writes: [
      engine.parts.repositories.workers.update(worker, next),
      ...keyed.writes,
      auditOf(call, {
        action: "signing.rotated",
        target: worker.id,
        detail: { number: current.number },
      }),
      ...call.extraWrites(answerWith(null)),
    ],
    answer: answerWith(keyed.secret),
  };
}

/**
 * The write that gives the worker its next version, so that what was counted of
 * it still holds at the commit, and that it is still there.
 */
function touched(worker: WorkerDefinition, { engine }: ApiParts): Write {
  const next = { ...worker, version: worker.version + 1 };
  return engine.parts.repositories.workers.update(worker, next);
}

function tooMany(detail: string): Answer {
  return invalidRequest([{ pointer: "", code: "too_many", detail }]);
}
