/**
 * A file of the data folder in which the running relayer writes how far it is
 * with renewing entries of the index, for the command that follows it.
 *
 * @module
 */

import { isJsonObject } from "../../shared/schema/schema.ts";
import type { RenewalProgress } from "./entry_renewal.ts";

const NAMES = ["checked", "unchecked", "renewed", "failed", "waiting"] as const;

/** The report of a relayer that renews nothing. */
const OFF = { renews: false } as const;

/** Writes the report; what has not changed is not written again. */
export class RenewalReport {
  readonly #path: string;
  #written: string | undefined;
  #isFailing = false;

  /** A report in a data folder; nothing is written yet. */
  constructor(dataDir: string) {
    this.#path = pathIn(dataDir);
  }

  /**
   * Writes how far the renewal is; undefined where nothing is renewed.
   *
   * @throws what writing a file throws, the first time in a row
   */
  async write(progress: RenewalProgress | undefined): Promise<void> {
    const text = JSON.stringify(progress ?? OFF);
    if (text === this.#written) return;
    try {
      await replaceFile(this.#path, text);
      this.#written = text;
      this.#isFailing = false;
    } catch (error) {
      // Each call tries again, and only the first failure in a row is thrown.
      if (this.#isFailing) return;
      this.#isFailing = true;
      throw error;
    }
  }
}

/**
 * Reads the report of a data folder: "off" where the relayer renews nothing,
 * and undefined when there is no report yet.
 *
 * @throws what reading a file throws
 */
export async function readRenewalReport(
  dataDir: string,
): Promise<RenewalProgress | "off" | undefined> {
  let value: unknown;
  try {
    value = JSON.parse(await Deno.readTextFile(pathIn(dataDir)));
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    // A crash has cut the file off: it says nothing.
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
  if (!isJsonObject(value)) return undefined;
  if (value["renews"] === OFF.renews) return "off";
  const [checked, unchecked, renewed, failed, waiting] = NAMES.map((name) =>
    Number(value[name])
  );
  if (
    checked === undefined || unchecked === undefined || renewed === undefined ||
    failed === undefined || waiting === undefined
  ) return undefined;
  const progress = { checked, unchecked, renewed, failed, waiting };
  return Object.values(progress).every(Number.isFinite) ? progress : undefined;
}

function pathIn(dataDir: string): string {
  return `${dataDir}/renewal.json`;
}

/** Replaces a file at once: a reader gets the old text or the new one. */
async function replaceFile(path: string, text: string): Promise<void> {
  const next = `${path}.next`;
  // The next start writes again anything that a crash lost.
  await Deno.writeTextFile(next, text, { mode: 0o600 });
  await Deno.rename(next, path);
}
