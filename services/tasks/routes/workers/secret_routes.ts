/**
 * The routes of a worker's secrets: they list them, add values, credentials and
 * signing secrets, and remove values and credentials.
 *
 * @module
 */

import {
  type Caller,
  scopeLackedBy,
  seesPayloads,
} from "../../access/caller.ts";
import type { WorkerDefinition } from "../../domain/records.ts";
import { retiring } from "../../engine/vault.ts";
import { type Answer, empty, json } from "../../http/answer.ts";
import { type CallContext, getCaller } from "../../http/call.ts";
import {
  invalidRequest,
  problem,
  type ProblemAnswer,
} from "../../http/problem_answer.ts";
import { type AnyRoute, defineRoute, optionalBody } from "../../http/route.ts";
import { parseSecretsRequest } from "../../secrets/secret_request.ts";
import { isSecretName } from "../../secrets/secret_rules.ts";
import type { ApiParts } from "../api_parts.ts";
import { buildAuditWrite } from "../record_plan.ts";
import type { Planned, RecordResource } from "../record_resource.ts";
import {
  ADDED_SECRETS,
  NEW_SECRETS,
  SECRET_LIST,
  VALUES_EXAMPLE,
  viewCredential,
  viewSigning,
  viewValue,
} from "./secret_fields.ts";
import { planSecrets } from "./secret_plans.ts";
import { hasEnded, secretsUnavailable } from "./signing_keys.ts";

/** Room for a hundred values of 16 KiB, with their escapes. */
const MAX_BODY_BYTES = 4 * 1_048_576;

/** The routes of a worker's secrets. */
export function secretRoutes(
  parts: ApiParts,
  workers: RecordResource<WorkerDefinition>,
): readonly AnyRoute[] {
  const { vault } = parts;
  const common = {
    path: "/v1/workers/:id/secrets",
    hosts: "tenant",
    tags: ["secrets"],
    access: { kind: "member", role: "admin", scope: "secrets:write" },
  } as const;
  return [
    defineRoute({
      ...common,
      method: "GET",
      operationId: "listSecrets",
      summary: "List a worker's secrets: names and dates, never values",
      access: { kind: "member", role: "admin", scope: "secrets:read" },
      answers: {
        200: {
          description: "Values, credentials and signing secrets",
          shape: SECRET_LIST,
        },
      },
      problems: [],
      async handle(call) {
        const worker = await workers.find(call);
        return "code" in worker
          ? worker
          : await listSecrets(call, worker, parts);
      },
    }),
    defineRoute({
      ...common,
      method: "POST",
      operationId: "addSecrets",
      summary: "Add secrets to a worker, or create a credential or signing key",
      description: "Values are never told again. A name that is there gets a " +
        "new version. A signing secret that is replaced signs alongside the " +
        "new one for 24 hours. A caller that does not see the data of tasks " +
        "makes no credential, which does. What is shown once is null in an " +
        "answer that is given again for an Idempotency-Key.",
      body: optionalBody(NEW_SECRETS, {
        maxBytes: () => MAX_BODY_BYTES,
        example: VALUES_EXAMPLE,
      }),
      answers: {
        201: {
          description: "The added or created secret",
          shape: ADDED_SECRETS,
        },
      },
      isIdempotent: true,
      problems: ["secrets_unavailable", "wrong_state"],
      handle(call) {
        const read = parseSecretsRequest(call.body, call.nowMs);
        if (read.kind === "invalid") return invalidRequest(read.problems);
        const { request } = read;
        // Only a digest of a credential is stored, which needs no master key.
        const refusal = request.kind === "credential"
          ? beyondCaller(getCaller(call))
          : vault.isAvailable
          ? undefined
          : secretsUnavailable();
        if (refusal !== undefined) return refusal;
        return workers.commit(
          call,
          (worker) => planSecrets(request, { call, parts, worker }),
        );
      },
    }),
    defineRoute({
      ...common,
      method: "DELETE",
      path: "/v1/workers/:id/secrets/:name",
      operationId: "removeSecret",
      summary: "Remove a value, or revoke a credential",
      description: "`:name` is the name of a value or the id of a credential " +
        "(`wk_…`), which is refused from now on.",
      answers: { 204: { description: "It is gone" } },
      problems: [],
      handle: (call) =>
        workers.commit(call, (worker) => planRemoval(call, worker, parts)),
    }),
  ];
}

/**
 * Why a caller may not make a credential: the credential would have rights that
 * the caller lacks. Undefined when the caller may.
 */
function beyondCaller(caller: Caller): ProblemAnswer | undefined {
  if (!seesPayloads(caller)) {
    return problem("forbidden", {
      detail: "Cannot create credential: it sees the data of tasks and the " +
        "worker's secrets, which you do not",
    });
  }
  const scope = scopeLackedBy(caller, "leases:write");
  return scope === undefined ? undefined : problem("forbidden", {
    detail: "Cannot create credential: it takes tasks, for which you lack " +
      `the scope "${scope}"`,
    extensions: { scope },
  });
}

async function listSecrets(
  { nowMs }: CallContext,
  { tenantId, id, signing }: WorkerDefinition,
  { engine }: ApiParts,
): Promise<Answer> {
  const { secrets, credentials } = engine.parts.repositories;
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
  { tenantId, id: workerId }: WorkerDefinition,
  { engine }: ApiParts,
): Promise<Planned> {
  const { repositories } = engine.parts;
  const { secrets, credentials } = repositories;
  const { name = "" } = call.params;
  if (isSecretName(name)) {
    const secret = await secrets.get(tenantId, `${workerId}:${name}`);
    if (secret === undefined) return noSuchSecret();
    return {
      kind: "plan",
      writes: [
        secrets.remove(secret),
        ...await retiring([secret], { repositories, nowMs: call.nowMs }),
        buildAuditWrite(call, {
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
      buildAuditWrite(call, {
        action: "credential.revoked",
        target: workerId,
        detail: { credential: name },
      }),
    ],
    answer: empty(),
  };
}

function noSuchSecret(): Answer {
  return problem("not_found", {
    detail: "Cannot find secret: the worker has none with this name or id",
  });
}
