/**
 * The dynamic metadata that the proxy may log or match on: the request's
 * descriptors and the metadata of the rules that passed it.
 *
 * @module
 */

import {
  CODE,
  type DescriptorStatus,
} from "../../../proto/rate_limit_response.ts";
import type { JsonObject, JsonValue } from "../../../proto/struct.ts";
import type { RequestView } from "../../../proto/request_view.ts";
import type { Limit } from "../rules/snapshot.ts";
import { unitOfNumber } from "../rules/unit.ts";

/** The decision by one limit of a descriptor. */
export interface JudgedLimit {
  /** The limit. */
  readonly limit: Limit;
  /** The decision. */
  readonly status: DescriptorStatus;
}

/**
 * Returns the part that comes from the request; to be taken before the view is
 * filled again.
 */
export function requestMetadata(view: RequestView): JsonObject {
  const descriptors: JsonObject[] = [];
  for (let at = 0; at < view.descriptorCount; at++) {
    descriptors.push(descriptorMetadata(view, at));
  }
  const metadata: Draft = {
    domain: view.text(view.domainStart, view.domainEnd),
    descriptors,
  };
  if (view.hitsAddend !== 0) metadata["hitsAddend"] = view.hitsAddend;
  return metadata;
}

/** Returns the whole metadata. */
export function dynamicMetadata(
  request: JsonObject,
  { rules, limits }: {
    /** The metadata of the rules that passed, in order. */
    readonly rules: readonly JsonObject[];
    /** For each descriptor the limits that its status doesn't tell. */
    readonly limits: readonly (readonly JudgedLimit[])[];
  },
): JsonObject {
  const told = withLimits(request, limits);
  if (rules.length === 0) return told;
  const metadata: Draft = {};
  // One rule may have passed many descriptors.
  for (const rule of new Set(rules)) merge(metadata, rule);
  return { ...told, metadata };
}

/** Adds the limits to the descriptors that they belong to. */
function withLimits(
  request: JsonObject,
  limits: readonly (readonly JudgedLimit[])[],
): JsonObject {
  const { descriptors } = request;
  if (!Array.isArray(descriptors) || limits.every((own) => own.length === 0)) {
    return request;
  }
  return {
    ...request,
    descriptors: descriptors.map((descriptor: JsonObject, at) => {
      const own = limits[at] ?? [];
      return own.length === 0
        ? descriptor
        : { ...descriptor, limits: own.map(limitMetadata) };
    }),
  };
}

function limitMetadata({ limit, status }: JudgedLimit): JsonObject {
  const { name } = status.currentLimit ?? {};
  return {
    ...(name === undefined ? {} : { name }),
    requestsPerUnit: limit.requestsPerUnit,
    windowSeconds: limit.windowSeconds,
    limitRemaining: status.limitRemaining,
    durationUntilResetSeconds: status.durationUntilResetSeconds ?? 0,
    isOver: status.code === CODE.OVER_LIMIT,
  };
}

function descriptorMetadata(view: RequestView, at: number): JsonObject {
  const entries: string[] = [];
  const last = view.lastEntry(at);
  for (let entry = view.firstEntry(at); entry < last; entry++) {
    entries.push(`${view.keyText(entry)}=${view.valueText(entry)}`);
  }
  const metadata: Draft = { entries };
  if (view.hasLimit(at)) metadata["limit"] = limitText(view, at);
  if (view.hasHitsAddend(at)) {
    metadata["hitsAddend"] = view.descriptorHitsAddend(at);
  }
  return metadata;
}

function limitText(view: RequestView, at: number): string {
  const number = view.limitUnit(at);
  const unit = unitOfNumber(number) ?? number;
  return `requests_per_unit:${view.limitRequestsPerUnit(at)} unit:${unit}`;
}

/** An object that was made here, so it may be changed. */
type Draft = Record<string, JsonValue>;

/** Adds what `draft` lacks; maps are merged, and `source` is never changed. */
function merge(draft: Draft, source: JsonObject): void {
  for (const [name, value] of Object.entries(source)) {
    if (!Object.hasOwn(draft, name)) {
      setOwn(draft, name, copyValue(value));
    } else {
      const own = draft[name];
      if (isDraft(own) && isObject(value)) merge(own, value);
    }
  }
}

/** Copies an object, so that merging into it does not change the rules' own. */
function copyValue(value: JsonValue): JsonValue {
  if (!isObject(value)) return value;
  const copy: Draft = {};
  merge(copy, value);
  return copy;
}

/** Sets a property; an assignment would take `__proto__` for the prototype. */
function setOwn(draft: Draft, name: string, value: JsonValue): void {
  Object.defineProperty(draft, name, {
    value,
    writable: true,
    enumerable: true,
    configurable: true,
  });
}

/** True for an object: every object within a draft was made by `copyValue`. */
function isDraft(value: JsonValue | undefined): value is Draft {
  return isObject(value);
}

function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
