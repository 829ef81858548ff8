/**
 * The settings of commands that work on the data.
 *
 * @module
 */

import { assert } from "@std/assert";
import { readSettings } from "../../../shared/settings.ts";
import { type DataSettings, dataSettings } from "../../settings.ts";

/** Reads the settings as from an environment. */
export function readDataSettings(
  environment: Readonly<Record<string, string>>,
): DataSettings {
  const read = readSettings(dataSettings, (name) => environment[name]);
  assert(read.kind === "ok", JSON.stringify(read));
  return read.values;
}
