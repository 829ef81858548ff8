/**
 * What is wrong with a worker that is well-formed: addresses that may not be
 * called, headers that cannot be sent, parts that do not go together.
 *
 * @module
 */

import { judgeHeaders, SERVICE_HEADERS } from "../../delivery/push_exchange.ts";
import { judgeTarget, type JudgeTargetOptions } from "../../delivery/target.ts";
import type { WorkerDefinition } from "../../domain/records.ts";
import { parseHeaderTemplate } from "../../secrets/header_template.ts";
import { parseUrlTemplate } from "../../secrets/url_template.ts";
import { type Fault, pointerTo } from "../../../shared/schema/fault.ts";

/** Headers that a worker's own cannot be: the service writes them over. */
const RESERVED: readonly string[] = [...SERVICE_HEADERS, "user-agent"];

/** Options of {@linkcode workerFaults}. */
export interface WorkerFaultsOptions {
  /** What addresses are judged by. */
  readonly targets: JudgeTargetOptions;
  /** Whether its calls are to be signed with a key pair. */
  readonly isAsymmetric: boolean;
}

/** Finds everything that is wrong with a worker's definition. */
export function workerFaults(
  worker: WorkerDefinition,
  options: WorkerFaultsOptions,
): readonly Fault[] {
  const { targets, isAsymmetric } = options;
  return [
    ...worker.url === undefined
      ? pullFaults(worker, isAsymmetric)
      : urlFaults(worker.url, { at: "/url", targets }),
    ...headersFaults(worker.headers),
    ...Object.entries(worker.jobs ?? {}).flatMap(([name, { url }]) => {
      const at = `${pointerTo("/jobs", name)}/url`;
      return url === undefined ? [] : urlFaults(url, { at, targets });
    }),
  ];
}

/** What only a worker that is called can have. */
function pullFaults(
  worker: WorkerDefinition,
  isAsymmetric: boolean,
): readonly Fault[] {
  const needsUrl = (pointer: string, what: string): Fault => ({
    pointer,
    code: "needs_url",
    detail: `Cannot take ${what}: the worker has no url to be called at`,
  });
  const job = Object.entries(worker.jobs ?? {})
    .find(([, { url }]) => url !== undefined);
  return [
    ...Object.keys(worker.headers).length === 0
      ? []
      : [needsUrl("/headers", "headers")],
    ...isAsymmetric ? [needsUrl("/asymmetric", "a key pair")] : [],
    ...job === undefined
      ? []
      : [needsUrl(`${pointerTo("/jobs", job[0])}/url`, "the url of a job")],
  ];
}

function urlFaults(
  url: string,
  { at, targets }: {
    readonly at: string;
    readonly targets: JudgeTargetOptions;
  },
): readonly Fault[] {
  const parsed = parseUrlTemplate(url);
  if (parsed.kind === "invalid") {
    return [{ pointer: at, code: "bad_url", detail: parsed.reason }];
  }
  // Scheme, host and port are the same whatever the secrets are.
  const sample = parsed.template.render(() => "secret");
  if (sample.kind !== "ok") {
    return [{ pointer: at, code: "bad_url", detail: "Cannot read URL" }];
  }
  const verdict = judgeTarget(sample.text, targets);
  return verdict.kind === "ok"
    ? []
    : [{ pointer: at, code: verdict.code, detail: verdict.reason }];
}

function headersFaults(
  headers: Readonly<Record<string, string>>,
): readonly Fault[] {
  const verdict = judgeHeaders(headers, { reserved: RESERVED });
  if (verdict.kind === "refused") {
    const { name, reason } = verdict;
    const pointer = pointerTo("/headers", name.slice(0, 256));
    return [{ pointer, code: "bad_header", detail: reason }];
  }
  return Object.entries(headers).flatMap(([name, value]) => {
    const outcome = parseHeaderTemplate(value);
    return outcome.kind === "ok" ? [] : [{
      pointer: pointerTo("/headers", name),
      code: "bad_header",
      detail: outcome.reason,
    }];
  });
}
