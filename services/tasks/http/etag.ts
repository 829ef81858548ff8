/**
 * Entity tags and conditional requests (RFC 9110, 8.8.3 and 13.1).
 *
 * @module
 */

import { sha256 } from "../store/digest.ts";
import { type Answer, empty } from "./answer.ts";
import type { CallContext } from "./call.ts";
import { problem } from "./problem_answer.ts";

/** The outcome of checking a request's conditions. */
type ConditionOutcome =
  /** The request may go on. */
  | { readonly kind: "ok" }
  /** Answer 412: the client knows another version. */
  | { readonly kind: "failed" }
  /** Answer 304: the client has this very version. */
  | { readonly kind: "not_modified" }
  /** Answer 400: the header cannot be read. */
  | { readonly kind: "malformed"; readonly header: string };

/** The conditional headers of a request. */
interface Conditions {
  /** The If-Match header. */
  readonly ifMatch?: string | undefined;
  /** The If-None-Match header. */
  readonly ifNoneMatch?: string | undefined;
}

interface EntityTag {
  readonly isWeak: boolean;
  readonly tag: string;
}

/** Longest list of tags; more is refused as malformed. */
const MAX_LENGTH = 4_096;

/** One tag and what separates it from the next (RFC 9110, 8.8.3 and 5.6.1). */
const NEXT_TAG = /[ \t,]*(W\/)?("[\x21\x23-\x7e\x80-\xff]*")[ \t]*(?:,|$)/y;

/** The strong entity tag of a version number or string. */
export function formatEtag(version: number | string): string {
  return `"${version}"`;
}

/**
 * Checks the conditions of a request that reads: If-Match first, then
 * If-None-Match.
 */
export function checkRead(
  conditions: Conditions,
  etag: string,
): ConditionOutcome {
  return check(conditions, { etag, whenKnown: "not_modified" });
}

/**
 * Checks the conditions of a request that changes a thing: If-Match, if
 * sent, must list the tag, and If-None-Match must not. A weak tag never matches
 * If-Match.
 */
export function checkChange(
  conditions: Conditions,
  etag: string,
): ConditionOutcome {
  return check(conditions, { etag, whenKnown: "failed" });
}

/** `whenKnown` is the outcome when If-None-Match lists the tag. */
function check(
  { ifMatch, ifNoneMatch }: Conditions,
  { etag, whenKnown }: {
    readonly etag: string;
    readonly whenKnown: "failed" | "not_modified";
  },
): ConditionOutcome {
  const outcome = checkMatch(ifMatch, etag);
  if (outcome.kind !== "ok") return outcome;
  const fits = noneMatchFits(ifNoneMatch, etag);
  if (fits === undefined) return { kind: "malformed", header: "If-None-Match" };
  return { kind: fits ? whenKnown : "ok" };
}

function checkMatch(
  header: string | undefined,
  etag: string,
): ConditionOutcome {
  if (header === undefined || header.trim() === "*") return { kind: "ok" };
  const tags = parseTags(header);
  if (tags === undefined) return { kind: "malformed", header: "If-Match" };
  const fits = tags.some((one) => !one.isWeak && one.tag === etag);
  return { kind: fits ? "ok" : "failed" };
}

/**
 * Whether If-None-Match lists a tag, weak or not; `undefined` for a malformed
 * header.
 */
function noneMatchFits(
  header: string | undefined,
  etag: string,
): boolean | undefined {
  if (header === undefined) return false;
  if (header.trim() === "*") return true;
  return parseTags(header)?.some((one) => one.tag === etag);
}

function parseTags(header: string): readonly EntityTag[] | undefined {
  const tags: EntityTag[] = [];
  if (header.length > MAX_LENGTH) return undefined;
  const next = new RegExp(NEXT_TAG);
  let offset = 0;
  while (offset < header.length) {
    next.lastIndex = offset;
    const match = next.exec(header);
    if (match === null) break;
    tags.push({ isWeak: match[1] !== undefined, tag: match[2] ?? "" });
    offset = next.lastIndex;
  }
  const rest = header.slice(offset);
  return tags.length > 0 && /^[ \t,]*$/.test(rest) ? tags : undefined;
}

/** The part of a call that has its headers. */
type ConditionHeaders = Pick<CallContext, "header">;

/**
 * The answer to a read whose conditions say so, such as 304; undefined when the
 * thing itself has to be sent.
 */
export function answerOfRead(
  call: ConditionHeaders,
  etag: string,
): Answer | undefined {
  return toAnswer(checkRead(readConditions(call), etag), etag);
}

/**
 * The answer to a change whose conditions forbid it; undefined when it may go
 * on.
 */
export function answerOfChange(
  call: ConditionHeaders,
  etag: string,
): Answer | undefined {
  return toAnswer(checkChange(readConditions(call), etag), etag);
}

function readConditions(call: ConditionHeaders): Conditions {
  return {
    ifMatch: call.header("if-match"),
    ifNoneMatch: call.header("if-none-match"),
  };
}

function toAnswer(
  outcome: ConditionOutcome,
  etag: string,
): Answer | undefined {
  switch (outcome.kind) {
    case "ok":
      return undefined;
    case "not_modified":
      return empty({ status: 304, headers: { etag } });
    case "failed":
      return problem("precondition_failed", {
        detail: "Cannot meet the precondition: the version has changed; read " +
          "it again",
      });
    case "malformed":
      return problem("bad_header", {
        detail: `Cannot read header "${outcome.header}": it is not a list of ` +
          'entity tags such as "5"',
        extensions: { header: outcome.header },
      });
  }
}

/** Characters of a hash that tell two contents apart: 132 bits. */
const TAG_LENGTH = 22;

/** The strong entity tag of a text. */
export function tagOfText(text: string): string {
  return formatEtag(sha256(text).slice(0, TAG_LENGTH));
}

/**
 * The strong entity tag of a record. Members in `without` do not count: those
 * that change by mere use, such as the time a record was last used, must not
 * make a client's version outdated.
 */
export function tagOfRecord<T extends object>(
  record: T,
  without: readonly (keyof T & string)[],
): string {
  const left: readonly string[] = without;
  return tagOfText(
    JSON.stringify(
      Object.entries(record)
        .filter(([name, value]) => value !== undefined && !left.includes(name))
        .sort(([one], [other]) => one < other ? -1 : 1),
    ),
  );
}
