/**
 * The answer to a request out of the decisions on its descriptors.
 *
 * @module
 */

import {
  CODE,
  type DescriptorStatus,
  type JsonObject,
  type RateLimitResponse,
  UNIT,
} from "../../../proto/rate_limit_response.ts";
import type { Rule } from "../rules/snapshot.ts";
import { dynamicMetadata } from "./dynamic_metadata.ts";
import { type LimitHeaderNames, limitHeaders } from "./headers.ts";
import type { Judgement } from "./judge.ts";
import { overallCode } from "./overall.ts";
import type { PlannedDescriptor } from "./plan.ts";

/** The decision on one descriptor, and the rule it was made by. */
export interface JudgedDescriptor {
  /** The decision. */
  readonly status: DescriptorStatus;
  /** Undefined when no rule applied, or a limit came with the request. */
  readonly rule: Rule | undefined;
}

/** How answers are composed. */
export interface ComposeOptions {
  /** Every descriptor is a quota. */
  readonly quotaMode: boolean;
  /** Names of the headers to add; undefined adds none. */
  readonly headers: LimitHeaderNames | undefined;
  /** The request's part of the dynamic metadata; undefined adds none. */
  readonly requestMetadata: JsonObject | undefined;
}

const MAX_UINT32 = 0xffff_ffff;

/** The status of a descriptor; limited ones have been judged. */
export function judgedDescriptor(
  planned: PlannedDescriptor,
  judgement: Judgement | undefined,
): JudgedDescriptor {
  if (planned.kind === "limited" && judgement !== undefined) {
    return { status: limitedStatus(planned, judgement), rule: planned.rule };
  }
  const isUnlimited = planned.kind === "unlimited";
  return {
    status: { code: CODE.OK, limitRemaining: isUnlimited ? MAX_UINT32 : 0 },
    rule: isUnlimited ? planned.rule : undefined,
  };
}

/** The whole answer, before global shadow mode. */
export function composeResponse(
  judged: readonly JudgedDescriptor[],
  options: ComposeOptions,
): RateLimitResponse {
  const { quotaMode, headers, requestMetadata } = options;
  const verdicts = judged.map(({ status, rule }) => ({
    status,
    code: status.code,
    isQuota: quotaMode || rule?.quotaMode === true,
  }));
  return {
    overallCode: overallCode(verdicts),
    statuses: judged.map(({ status }) => status),
    responseHeadersToAdd: headers === undefined
      ? []
      : limitHeaders(verdicts, headers),
    ...(requestMetadata === undefined ? {} : {
      dynamicMetadata: dynamicMetadata(
        requestMetadata,
        metadataOfPassed(judged),
      ),
    }),
  };
}

function metadataOfPassed(judged: readonly JudgedDescriptor[]): JsonObject[] {
  const metadata: JsonObject[] = [];
  for (const { status, rule } of judged) {
    if (status.code === CODE.OK && rule?.metadata !== undefined) {
      metadata.push(rule.metadata);
    }
  }
  return metadata;
}

function limitedStatus(
  planned: PlannedDescriptor & { readonly kind: "limited" },
  judgement: Judgement,
): DescriptorStatus {
  const { limit, rule } = planned;
  return {
    code: rule?.shadowMode === true ? CODE.OK : judgement.code,
    currentLimit: {
      requestsPerUnit: limit.requestsPerUnit,
      unit: UNIT[limit.unit],
      ...(rule === undefined || rule.name === "" ? {} : { name: rule.name }),
    },
    limitRemaining: judgement.remaining,
    durationUntilResetSeconds: judgement.resetSeconds,
  };
}
