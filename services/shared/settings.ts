/**
 * Settings from the environment: a table of options is read once, at the start,
 * and all its faults are reported together, with variables that look like
 * settings and would be ignored in silence.
 *
 * ```ts
 * const table = {
 *   grpcPort: portOption({ name: "GRPC_PORT", default: 8081, help: "Port." }),
 * } as const;
 * const outcome = readSettings(table, (name) => Deno.env.get(name));
 * ```
 *
 * @module
 */

import { nearest } from "./did_you_mean.ts";
import type { Option, OptionTable, OptionValues } from "./options.ts";
import { quote } from "./quote.ts";

/** Gives the text of a variable, `undefined` when it is not set. */
export type ReadVariable = (name: string) => string | undefined;

/** The outcome of reading settings. */
export type SettingsOutcome<T extends OptionTable> =
  | {
    readonly kind: "ok";
    /** Every value of the table. */
    readonly values: OptionValues<T>;
    /** Warnings about variables that are set and have no effect. */
    readonly notices: readonly string[];
  }
  | {
    readonly kind: "invalid";
    /** One line for each fault. */
    readonly problems: readonly string[];
    /** The names of the settings that could not be read. */
    readonly unread: readonly string[];
    /** Values of valid settings, defaults of invalid ones: for more checks. */
    readonly rest: OptionValues<T>;
  };

/** Options of {@linkcode readSettings}. */
interface ReadSettingsOptions {
  /**
   * Gives all variables that may be seen; those that look like settings and are
   * not are reported.
   *
   * @default none
   */
  readonly allVariables?: () => Readonly<Record<string, string>>;
  /**
   * Prefixes of variables that belong to other programs: unknown names with
   * them are not reported, and a setting with one that cannot be read counts as
   * not set.
   *
   * @default {[]}
   */
  readonly foreignPrefixes?: readonly string[];
}

/**
 * Reads all settings of a table. A variable that is empty counts as not set.
 * A setting that is set under several names with different values is a fault.
 *
 * @param table The settings.
 * @param readVariable Reads the environment.
 * @returns All values, or all faults, one line each; secrets never show.
 * @throws {TypeError} When two settings of the table share a name.
 */
export function readSettings<const T extends OptionTable>(
  table: T,
  readVariable: ReadVariable,
  options: ReadSettingsOptions = {},
): SettingsOutcome<T> {
  refuseSharedNames(Object.values(table));
  const isForeign = (name: string): boolean =>
    (options.foreignPrefixes ?? []).some((prefix) => name.startsWith(prefix));
  const values: Record<string, unknown> = {};
  const problems: string[] = [];
  const unread: string[] = [];
  const notices: string[] = [];
  for (const [key, setting] of Object.entries(table)) {
    const result = readOne(setting, readVariable);
    if (result.kind === "ok") values[key] = result.value;
    else {
      values[key] = setting.fallback;
      if (isForeign(setting.name)) continue;
      problems.push(result.problem);
      unread.push(...listNames(setting));
    }
  }
  notices.push(...unknownSettings({
    seen: namesOfSet(options.allVariables)
      .filter((name) => !isForeign(name)),
    known: settingNames(table),
  }));
  if (problems.length > 0) {
    return {
      kind: "invalid",
      problems: problems.map((problem) => `Cannot read settings: ${problem}`),
      unread,
      rest: values as OptionValues<T>,
    };
  }
  return { kind: "ok", values: values as OptionValues<T>, notices };
}

/**
 * All names a program reads, aliases too, sorted: the list for its permission
 * to read the environment.
 */
export function settingNames(table: OptionTable): readonly string[] {
  const names = Object.values(table).flatMap(listNames);
  return [...new Set(names)].sort();
}

/** The names of the variables that are set and may be seen. */
function namesOfSet(
  allVariables: ReadSettingsOptions["allVariables"],
): readonly string[] {
  try {
    return Object.entries(allVariables?.() ?? {})
      .flatMap(([name, text]) => text === "" ? [] : [name]);
  } catch (error) {
    // Without `--ignore-env` the runtime refuses instead of leaving names out.
    if (error instanceof Deno.errors.NotCapable) return [];
    throw error;
  }
}

type Named = Pick<Option<unknown>, "name" | "aliases" | "secret">;

interface SetVariable {
  readonly name: string;
  readonly text: string;
}

type ReadOne =
  | { readonly kind: "ok"; readonly value: unknown }
  | { readonly kind: "invalid"; readonly problem: string };

function readOne(
  setting: Option<unknown>,
  readVariable: ReadVariable,
): ReadOne {
  const found = findSet(setting, readVariable);
  const first = found[0];
  if (first === undefined) return { kind: "ok", value: setting.fallback };
  if (found.some(({ text }) => text !== first.text)) {
    const names = joinNames(found.map(({ name }) => name));
    const problem = `${names} are ${
      found.length === 2 ? "both" : "all"
    } set and differ; keep one`;
    return { kind: "invalid", problem };
  }
  const value = setting.parse(first.text);
  if (value !== undefined) return { kind: "ok", value };
  const shown = showValue(first, setting);
  return { kind: "invalid", problem: `${shown}, expected ${setting.expected}` };
}

function findSet(
  setting: Named,
  readVariable: ReadVariable,
): readonly SetVariable[] {
  return listNames(setting).flatMap((name) => {
    const text = readVariable(name);
    return text === undefined || text === "" ? [] : [{ name, text }];
  });
}

function showValue(found: SetVariable, setting: Named): string {
  const isSecret = setting.secret === true;
  return `${found.name} is ${isSecret ? '"****"' : quote(found.text)}`;
}

function listNames(setting: Named): readonly string[] {
  return [setting.name, ...setting.aliases];
}

function joinNames(names: readonly string[]): string {
  return `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
}

function refuseSharedNames(settings: readonly Named[]): void {
  const seen = new Set<string>();
  for (const name of settings.flatMap(listNames)) {
    if (seen.has(name)) {
      throw new TypeError(`Cannot read settings: "${name}" is declared twice`);
    }
    seen.add(name);
  }
}

/** What {@linkcode unknownSettings} looks at. */
interface UnknownSettingsOptions {
  /** Names of the variables that are set and can be seen. */
  readonly seen: readonly string[];
  /** All names that the program or a library of it reads. */
  readonly known: readonly string[];
}

/**
 * Number of settings with the same prefix from which on any other variable with
 * that prefix counts as a mistyped setting.
 */
const OWN_PREFIX_SETTINGS = 3;

/** Most letters in which a mistyped name differs from a setting. */
const MAX_MISTAKES = 2;

/**
 * Variables that Kubernetes sets for a service that is called like a prefix.
 */
const KUBERNETES =
  /_(?:SERVICE_(?:HOST|PORT)(?:_\w+)?|PORT_\d+_(?:TCP|UDP|SCTP)(?:_\w+)?)$/;

/** True for REDIS_PORT as well, where there is a REDIS_SERVICE_HOST beside it. */
function isOfKubernetes(name: string, seen: readonly string[]): boolean {
  return KUBERNETES.test(name) ||
    name.endsWith("_PORT") &&
      seen.includes(name.replace(/PORT$/, "SERVICE_HOST"));
}

/**
 * Variables that a machine sets for other programs and libraries, and that look
 * like settings: certificates that OpenSSL and the runtime trust, gRPC's own,
 * and the folders that systemd makes for a unit.
 */
const OF_OTHERS: ReadonlySet<string> = new Set([
  "SSL_CERT_FILE",
  "SSL_CERT_DIR",
  "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH",
  "GRPC_SSL_CIPHER_SUITES",
  "GRPC_TRACE",
  "GRPC_VERBOSITY",
  "CACHE_DIRECTORY",
  "RUNTIME_DIRECTORY",
]);

/** Lines that name what is set and has no effect; values are never shown. */
function unknownSettings(
  { seen, known }: UnknownSettingsOptions,
): readonly string[] {
  const isKnown = new Set(known);
  const prefixes = known.flatMap((name) => findPrefix(name) ?? []);
  const byReason = new Map<string, string[]>();
  for (const name of [...seen].sort()) {
    if (isKnown.has(name) || OF_OTHERS.has(name)) continue;
    if (isOfKubernetes(name, seen)) continue;
    const why = reasonFor(name, { known, prefixes });
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
  return [...new Set(names.flatMap((name) => findPrefix(name) ?? []))].sort();
}

function reasonFor(
  name: string,
  from: {
    readonly known: readonly string[];
    readonly prefixes: readonly string[];
  },
): string | undefined {
  const prefix = findPrefix(name);
  const meant = nearest(name, from.known, { maxMistakes: MAX_MISTAKES });
  if (meant !== undefined) {
    return `there is no such setting; did you mean ${meant}?`;
  }
  const likeIt = from.prefixes.filter((other) => other === prefix).length;
  return likeIt >= OWN_PREFIX_SETTINGS ? "there is no such setting" : undefined;
}

/** `GRPC_` of `GRPC_PORT`; none of `PORT`. */
function findPrefix(name: string): string | undefined {
  return /^[A-Z][A-Z0-9]*_/.exec(name)?.[0];
}
