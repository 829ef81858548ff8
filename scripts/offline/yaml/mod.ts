/**
 * Stands in for `@std/yaml` where JSR cannot be reached: the part that this
 * project uses, based on js-yaml 3, from which the real package is derived. See
 * the README beside this folder.
 *
 * @module
 */

// The package is named in full: a linked package has no import map.
// @ts-types="npm:@types/js-yaml@^3.12.0"
import yaml from "npm:js-yaml@^3.15.0";

/** Options for reading a document. */
export interface ParseOptions {
  /**
   * The type of plain values: `"failsafe"` leaves them strings, `"core"` turns
   * them into numbers, booleans and null, `"default"` into dates and binaries
   * as well.
   *
   * @default {"default"}
   */
  readonly schema?: "failsafe" | "core" | "default";
  /**
   * Whether a repeated key replaces the earlier value; otherwise it is an
   * error.
   *
   * @default {false}
   */
  readonly allowDuplicateKeys?: boolean;
}

/** Thrown when a document cannot be read. */
export class YamlSyntaxError extends SyntaxError {
  /**
   * The line of the fault, counted from 1; absent when the fault is not in a
   * particular line.
   */
  readonly line?: number;

  /** Takes the message and the line from an error of js-yaml. */
  constructor(fault: yaml.YAMLException) {
    super(fault.message, { cause: fault });
    const mark: unknown = Reflect.get(fault, "mark");
    if (typeof mark !== "object" || mark === null) return;
    const line: unknown = Reflect.get(mark, "line");
    if (typeof line === "number") this.line = line + 1;
  }
}

/**
 * Reads one document; an empty one is null.
 *
 * @throws {SyntaxError} When the text is not YAML, or contains more than one
 * document.
 */
export function parse(content: string, options: ParseOptions = {}): unknown {
  return translateFaults(() =>
    yaml.safeLoad(content, loadOptions(options)) ?? null
  );
}

/**
 * Reads all documents.
 *
 * @throws {SyntaxError} When the text is not YAML.
 */
export function parseAll(
  content: string,
  options: ParseOptions = {},
): unknown[] {
  return translateFaults(() =>
    yaml.safeLoadAll(content, undefined, loadOptions(options))
  );
}

const SCHEMAS = {
  failsafe: yaml.FAILSAFE_SCHEMA,
  core: yaml.CORE_SCHEMA,
  default: yaml.DEFAULT_SAFE_SCHEMA,
} as const;

function loadOptions(options: ParseOptions): yaml.LoadOptions {
  return {
    schema: SCHEMAS[options.schema ?? "default"],
    json: options.allowDuplicateKeys ?? false,
  };
}

function translateFaults<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof yaml.YAMLException) throw new YamlSyntaxError(error);
    throw error;
  }
}
