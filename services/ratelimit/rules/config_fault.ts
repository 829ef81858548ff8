/**
 * What is wrong with a configuration, and how it is said.
 *
 * @module
 */

import type { ConfigPath } from "./config.ts";

/** One fault or warning, with all that is known of its place. */
export interface ConfigFault {
  /** Name of the file or resource. */
  readonly file: string;
  /** Line, counted from 1; undefined where it isn't known. */
  readonly line: number | undefined;
  /** Place within the document; empty for the document itself. */
  readonly path: ConfigPath;
  /** What is wrong. */
  readonly reason: string;
}

/** `basic.yaml:12: <reason> at descriptors[0].rate_limit`. */
export function formatConfigFault(fault: ConfigFault): string {
  const place = fault.line === undefined
    ? fault.file
    : `${fault.file}:${fault.line}`;
  const path = formatConfigPath(fault.path);
  return `${place}: ${fault.reason}${path === "" ? "" : ` at ${path}`}`;
}

/** `descriptors[0].rate_limit.unit`. */
export function formatConfigPath(path: ConfigPath): string {
  let text = "";
  for (const step of path) {
    if (typeof step === "number") text += `[${step}]`;
    else text += text === "" ? step : `.${step}`;
  }
  return text;
}
