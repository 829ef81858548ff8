/**
 * The routes that tell which secrets a worker has, and take them away.
 *
 * @module
 */

import type { WorkerDefinition } from "../../domain/records.ts";
import { retiring } from "../../engine/retired_secrets.ts";
import { isSecretName } from "../../secrets/secret_rules.ts";
import type { ApiParts } from "../api_parts.ts";
import { type Answer, empty, json } from "../../http/answer.ts";
import { type CallContext, tenantOf } from "../../http/call.ts";
import { problem } from "../../http/problem_answer.ts";
import { type AnyRoute, defineRoute } from "../../http/route.ts";
import { viewCredential, viewSigning, viewValue } from "./secret_view.ts";
import { type CommitPlan, commitPlan } from "../../http/commit_plan.ts";
import { auditOf } from "./audit.ts";
import { SECRET_LIST } from "./secret_schema.ts";
import { hasEnded } from "./signing_keys.ts";
import { findWorker, noSuchWorker } from "./worker_finder.ts";

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
