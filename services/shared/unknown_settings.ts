/**
 * Variables that look like settings of a program and are none: they would be
 * ignored in silence, and silence would pass for consent.
 *
 * @module
 */

import { nearest } from "./did_you_mean.ts";

/** A part that a deployment may have settings for and this program lacks. */
export interface AbsentPart {
  /** How its variables begin, such as `TRACING_`. */
  readonly prefixes: readonly string[];
  /** What is missing, such as `this version emits no traces`. */
  readonly why: string;
}

/** What {@linkcode unknownSettings} looks at. */
export interface UnknownSettingsOptions {
  /** Names of the variables that are set and can be seen. */
  readonly seen: readonly string[];
  /** All names that the program or a library of it reads. */
  readonly known: readonly string[];
  /** Parts that it lacks. */
  readonly absent: readonly AbsentPart[];
}

/** From so many settings on, whatever begins as they do is meant to be one. */
const OWN_PREFIX_SETTINGS = 3;

/** Letters that a near miss differs in at most. */
const MAX_MISTAKES = 2;

/** Variables that Kubernetes sets for a service that is called like a prefix. */
const KUBERNETES =
  /_(?:SERVICE_(?:HOST|PORT)(?:_\w+)?|PORT_\d+_(?:TCP|UDP|SCTP)(?:_\w+)?)$/;

/** Lines that name what is set and has no effect; values are never shown. */
export function unknownSettings(
  { seen, known, absent }: UnknownSettingsOptions,
): readonly string[] {
  const isKnown = new Set(known);
  const prefixes = known.flatMap((name) => prefixOf(name) ?? []);
  const byReason = new Map<string, string[]>();
  for (const name of [...seen].sort()) {
    if (isKnown.has(name) || KUBERNETES.test(name)) continue;
    const why = reasonFor(name, { known, absent, prefixes });
    if (why === undefined) continue;
    const names = byReason.get(why) ?? [];
    byReason.set(why, names);
    names.push(name);
  }
  return Array.from(
    byReason,
    ([why, names]) =>
      `${names.join(", ")} ${
        names.length === 1 ? "is set and has" : "are set and have"
      } no effect: ${why}`,
  );
}

/**
 * How the names of settings begin, with an underscore at the end, sorted: what
 * may be looked at for near misses.
 */
export function settingPrefixes(names: readonly string[]): readonly string[] {
  return [...new Set(names.flatMap((name) => prefixOf(name) ?? []))].sort();
}

function reasonFor(
  name: string,
  from: {
    readonly known: readonly string[];
    readonly absent: readonly AbsentPart[];
    readonly prefixes: readonly string[];
  },
): string | undefined {
  const part = from.absent.find(({ prefixes }) =>
    prefixes.some((prefix) => name.startsWith(prefix))
  );
  if (part !== undefined) return part.why;
  const prefix = prefixOf(name);
  const meant = nearest(name, from.known, { maxMistakes: MAX_MISTAKES });
  if (meant !== undefined) {
    return `there is no such setting; did you mean ${meant}?`;
  }
  const likeIt = from.prefixes.filter((other) => other === prefix).length;
  return likeIt >= OWN_PREFIX_SETTINGS ? "there is no such setting" : undefined;
}

/** `GRPC_` of `GRPC_PORT`; none of `PORT`. */
function prefixOf(name: string): string | undefined {
  return /^[A-Z][A-Z0-9]*_/.exec(name)?.[0];
}
