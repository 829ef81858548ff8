/**
 * Settings from the environment: a typed table is read once, at the start, and
 * every fault in it is told at once.
 *
 * ```ts
 * const table = {
 *   grpcPort: portSetting({ name: "GRPC_PORT", default: 8081, help: "Port." }),
 * } as const;
 * const outcome = readSettings(table, (name) => Deno.env.get(name));
 * ```
 *
 * @module
 */

import { quote } from "./quote.ts";
import { type AbsentPart, unknownSettings } from "./unknown_settings.ts";
import type {
  ReadVariable,
  Setting,
  SettingsOutcome,
  SettingsTable,
  SettingsValues,
  UnavailableSetting,
} from "./settings_types.ts";

export {
  booleanSetting,
  choiceSetting,
  durationSetting,
  integerSetting,
  listSetting,
  numberSetting,
  pairsSetting,
  portSetting,
  secretSetting,
  textSetting,
} from "./settings_kinds.ts";
export { type AbsentPart, settingPrefixes } from "./unknown_settings.ts";
export { settingsHelp, settingsMarkdown } from "./settings_help.ts";
export type {
  ReadVariable,
  Setting,
  SettingsOutcome,
  SettingsTable,
  SettingsValues,
  UnavailableSetting,
} from "./settings_types.ts";

/** Options of {@linkcode readSettings}. */
export interface ReadSettingsOptions {
  /**
   * Variables that cannot be honoured and must not be ignored in silence.
   *
   * @default {[]}
   */
  readonly unavailable?: readonly UnavailableSetting[];
  /**
   * Gives all variables that may be seen; those that look like settings and are
   * none are told.
   *
   * @default none
   */
  readonly allVariables?: () => Readonly<Record<string, string>>;
  /**
   * Names that something else in the program reads.
   *
   * @default {[]}
   */
  readonly others?: readonly string[];
  /**
   * Parts whose variables are told when they are set.
   *
   * @default {[]}
   */
  readonly absent?: readonly AbsentPart[];
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
export function readSettings<const T extends SettingsTable>(
  table: T,
  readVariable: ReadVariable,
  options: ReadSettingsOptions = {},
): SettingsOutcome<T> {
  const unavailable = options.unavailable ?? [];
  refuseSharedNames([...Object.values(table), ...unavailable]);
  const values: Record<string, unknown> = {};
  const problems: string[] = [];
  const notices: string[] = [];
  for (const [key, setting] of Object.entries(table)) {
    const result = readOne(setting, readVariable);
    if (result.kind === "ok") values[key] = result.value;
    else problems.push(result.problem);
  }
  for (const setting of unavailable) {
    const complaints = complain(setting, readVariable);
    (setting.severity === "warn" ? notices : problems).push(...complaints);
  }
  notices.push(...unknownSettings({
    seen: namesOfSet(options.allVariables),
    known: [...settingNames(table, unavailable), ...(options.others ?? [])],
    absent: options.absent ?? [],
  }));
  if (problems.length > 0) {
    return {
      kind: "bad",
      problems: problems.map((problem) => `Cannot read settings: ${problem}`),
    };
  }
  return { kind: "ok", values: values as SettingsValues<T>, notices };
}

/**
 * All names a program reads, aliases too, sorted: the list for its permission
 * to read the environment.
 */
export function settingNames(
  table: SettingsTable,
  unavailable: readonly UnavailableSetting[] = [],
): readonly string[] {
  const names = [...Object.values(table), ...unavailable].flatMap(namesOf);
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

type Named = Pick<UnavailableSetting, "name" | "aliases" | "secret">;

interface SetVariable {
  readonly name: string;
  readonly text: string;
}

type ReadOne =
  | { readonly kind: "ok"; readonly value: unknown }
  | { readonly kind: "bad"; readonly problem: string };

function readOne(
  setting: Setting<unknown>,
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
    return { kind: "bad", problem };
  }
  const value = setting.parse(first.text);
  if (value !== undefined) return { kind: "ok", value };
  const shown = showValue(first, setting);
  return { kind: "bad", problem: `${shown}, expected ${setting.expected}` };
}

function complain(
  setting: UnavailableSetting,
  readVariable: ReadVariable,
): readonly string[] {
  const neutral = (setting.neutralValues ?? [])
    .map((value) => value.toLowerCase());
  return findSet(setting, readVariable)
    .filter(({ text }) => !neutral.includes(text.toLowerCase()))
    .map((found) => {
      const shown = showValue(found, setting);
      return setting.severity === "warn"
        ? `${shown} and has no effect: ${setting.why}`
        : `${shown}: ${setting.why}; unset it to start without`;
    });
}

function findSet(
  setting: Named,
  readVariable: ReadVariable,
): readonly SetVariable[] {
  return namesOf(setting).flatMap((name) => {
    const text = readVariable(name);
    return text === undefined || text === "" ? [] : [{ name, text }];
  });
}

function showValue(found: SetVariable, setting: Named): string {
  const isSecret = setting.secret === true;
  return `${found.name} is ${isSecret ? '"****"' : quote(found.text)}`;
}

function namesOf(setting: Named): readonly string[] {
  return [setting.name, ...(setting.aliases ?? [])];
}

function joinNames(names: readonly string[]): string {
  return `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
}

function refuseSharedNames(settings: readonly Named[]): void {
  const seen = new Set<string>();
  for (const name of settings.flatMap(namesOf)) {
    if (seen.has(name)) {
      throw new TypeError(`Cannot read settings: "${name}" is declared twice`);
    }
    seen.add(name);
  }
}
