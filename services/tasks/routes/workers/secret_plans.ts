/**
 * Plans the changes that a request for secrets asks for: to store values, or to
 * make a credential or a new signing secret.
 *
 * @module
 */

import { mintWorkerCredential } from "../../access/credential_token.ts";
import type {
  WorkerCredential,
  WorkerDefinition,
} from "../../domain/records.ts";
import type { SecretRecord } from "../../engine/repositories.ts";
import { retiring } from "../../engine/vault.ts";
import { type Answer, json } from "../../http/answer.ts";
import { type CallContext, getTenant } from "../../http/call.ts";
import { invalidRequest } from "../../http/problem_answer.ts";
import { sealSecret } from "../../secrets/envelope.ts";
import type { SecretsRequest } from "../../secrets/secret_request.ts";
import { MAX_SECRETS_PER_WORKER } from "../../secrets/secret_rules.ts";
import type { Write } from "../../store/store.ts";
import type { ApiParts } from "../api_parts.ts";
import { buildAuditWrite, nextVersion } from "../record_plan.ts";
import type { Planned } from "../record_resource.ts";
import { viewCredential, viewSigning, viewValue } from "./secret_fields.ts";
import { hasEnded, rotated } from "./signing_keys.ts";

/** Most credentials of a worker that have not expired. */
const MAX_CREDENTIALS = 100;

/** What adding secrets to a worker needs. */
interface Adding {
  readonly call: CallContext;
  readonly parts: ApiParts;
  readonly worker: WorkerDefinition;
}

/** Plans the change that a request for secrets asks for. */
export function planSecrets(
  request: SecretsRequest,
  adding: Adding,
): Promise<Planned> {
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
): Promise<Planned> {
  const { engine, vault } = parts;
  const { tenantId, id: workerId } = worker;
  const { repositories } = engine.parts;
  const stored = await repositories.secrets.all(tenantId, workerId);
  const count = new Set([...stored, ...added].map(({ name }) => name)).size;
  if (count > MAX_SECRETS_PER_WORKER) {
    return tooMany(
      `Cannot add secrets: the worker would have ${count} of them, ` +
        `${MAX_SECRETS_PER_WORKER} is the most`,
    );
  }
  const ticket = await vault.keys.ticket(tenantId);
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
      buildAuditWrite(call, {
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
): Promise<Planned> {
  const { tenantId, id: workerId } = worker;
  const { repositories } = parts.engine.parts;
  const { nowMs } = call;
  const all = await repositories.credentials.all(tenantId, workerId);
  const expired = all.filter((one) => (one.expiresAtMs ?? Infinity) <= nowMs);
  const hasRoom = all.length - expired.length < MAX_CREDENTIALS;
  if (!hasRoom) {
    return tooMany(
      `Cannot create credential: the worker has ${MAX_CREDENTIALS} of them; ` +
        "remove some that are not used",
    );
  }
  const minted = mintWorkerCredential(getTenant(call).domain);
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
      // Expired credentials are removed when the new one needs their room.
      ...all.length < MAX_CREDENTIALS
        ? []
        : expired.map((one) => repositories.credentials.remove(one)),
      buildAuditWrite(call, {
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
): Promise<Planned> {
  const { nowMs } = call;
  const keyed = await rotated(vault, worker, nowMs);
  if (keyed.kind === "problem") return keyed;
  const [current, ...replaced] = keyed.worker.signing;
  if (current === undefined) {
    throw new TypeError("Cannot show the signing secret: there is none");
  }
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
      engine.parts.repositories.workers.update(
        worker,
        nextVersion(keyed.worker, call),
      ),
      ...keyed.writes,
      buildAuditWrite(call, {
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
 * The write that gives the worker its next version. So the commit fails if the
 * worker was removed, or if its secrets were added to since they were counted.
 */
function touched(worker: WorkerDefinition, { engine }: ApiParts): Write {
  const next = { ...worker, version: worker.version + 1 };
  return engine.parts.repositories.workers.update(worker, next);
}

function tooMany(detail: string): Answer {
  return invalidRequest([{ pointer: "", code: "too_many", detail }]);
}
