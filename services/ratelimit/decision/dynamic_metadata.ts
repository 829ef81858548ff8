/**
 * What the proxy may log or match on: the request's descriptors and the
 * metadata of the rules that passed it.
 *
 * @module
 */

import type {
  JsonObject,
  JsonValue,
} from "../../../proto/rate_limit_response.ts";
import type { RequestView } from "../../../proto/request_view.ts";
import { unitOfNumber } from "../rules/unit.ts";

/** The part that comes from the request; taken before the view is used again. */
export function requestMetadata(view: RequestView): JsonObject {
  const descriptors: JsonObject[] = [];
  for (let at = 0; at < view.descriptorCount; at++) {
    descriptors.push(descriptorMetadata(view, at));
  }
  return {
    domain: view.text(view.domainStart, view.domainEnd),
    descriptors,
    ...(view.hitsAddend === 0 ? {} : { hitsAddend: view.hitsAddend }),
  };
}

/** The whole: `rules` holds the metadata of the rules that passed, in order. */
export function dynamicMetadata(
  request: JsonObject,
  rules: readonly JsonObject[],
): JsonObject {
  if (rules.length === 0) return request;
  return { ...request, metadata: rules.reduce(merged) };
}

function descriptorMetadata(view: RequestView, at: number): JsonObject {
  const entries: string[] = [];
  const last = view.lastEntry(at);
  for (let entry = view.firstEntry(at); entry < last; entry++) {
    const key = view.text(view.keyStart(entry), view.keyEnd(entry));
    const value = view.text(view.valueStart(entry), view.valueEnd(entry));
    entries.push(`${key}=${value}`);
  }
  return {
    entries,
    ...(view.hasLimit(at) ? { limit: limitText(view, at) } : {}),
    ...(view.hasHitsAddend(at)
      ? { hitsAddend: view.descriptorHitsAddend(at) }
      : {}),
  };
}

function limitText(view: RequestView, at: number): string {
  const number = view.limitUnit(at);
  const unit = unitOfNumber(number) ?? number;
  return `requests_per_unit:${view.limitRequestsPerUnit(at)} unit:${unit}`;
}

/** A new object: what came first wins, maps are merged; nothing is changed. */
function merged(first: JsonObject, second: JsonObject): JsonObject {
  const result: Record<string, JsonValue> = { ...second, ...first };
  for (const [name, value] of Object.entries(first)) {
    const other = Object.hasOwn(second, name) ? second[name] : undefined;
    if (isObject(value) && isObject(other)) {
      result[name] = merged(value, other);
    }
  }
  return result;
}

function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
