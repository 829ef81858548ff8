/**
 * Decides which `@std` packages a run uses: those of JSR, or the stand-ins
 * under `scripts/offline/`. The decision is made from the results of callbacks,
 * and a callback is called only when its result is needed.
 *
 * @module
 */

import type { RegistryAnswer } from "./registry_question.ts";

/** Where the `@std` packages of a run come from. */
export type StdSource = "jsr" | "offline";

/** A decision, and the sentence that tells the user about it. */
export interface StdChoice {
  /** Where the packages come from. */
  readonly source: StdSource;
  /**
   * One line for the user; absent when a parent process has already printed it.
   */
  readonly notice?: string;
}

/** The inputs of {@linkcode chooseStd}. */
export interface StdChoiceInputs {
  /** The value of `TERCET_STD`, with which the user chooses. */
  readonly forced: string | undefined;
  /**
   * The value of `TERCET_STD_DECIDED`, set by a launcher that started this
   * process.
   */
  readonly decided: string | undefined;
  /** Returns whether every real package is in Deno's cache. */
  readonly isCached: () => Promise<boolean>;
  /** Asks the registry whether it has the packages. */
  readonly ask: () => Promise<RegistryAnswer>;
}

/**
 * The variable with which the user chooses a source; empty is the same as not
 * set.
 */
export const FORCE_VARIABLE = "TERCET_STD";

/**
 * The variable with which a launcher passes its decision to the processes it
 * starts.
 */
export const DECIDED_VARIABLE = "TERCET_STD_DECIDED";

/**
 * Decides where the `@std` packages of a run come from. A parent's decision
 * comes first, so that one run never mixes two sources and never tells the user
 * twice; then the user's setting, then Deno's cache, then the registry's
 * answer.
 *
 * @throws {RangeError} When `forced` or `decided` is neither empty nor a
 * source.
 */
export async function chooseStd(inputs: StdChoiceInputs): Promise<StdChoice> {
  const decided = parseSource(DECIDED_VARIABLE, inputs.decided);
  if (decided !== undefined) return { source: decided };
  const forced = parseSource(FORCE_VARIABLE, inputs.forced);
  if (forced !== undefined) {
    return choice(forced, `${FORCE_VARIABLE} says so`);
  }
  if (await inputs.isCached()) {
    return choice("jsr", "they are in Deno's cache");
  }
  const answer = await inputs.ask();
  return choice(answer.kind === "available" ? "jsr" : "offline", answer.reason);
}

function choice(source: StdSource, reason: string): StdChoice {
  const taken = source === "jsr"
    ? "the packages of JSR"
    : "the stand-ins of scripts/offline";
  return { source, notice: `@std: taking ${taken}, because ${reason}` };
}

function parseSource(
  name: string,
  value: string | undefined,
): StdSource | undefined {
  if (value === undefined || value === "") return undefined;
  if (value === "jsr" || value === "offline") return value;
  throw new RangeError(
    `Cannot use ${name}: got "${value}", accepted are "jsr", "offline" and ` +
      `nothing at all`,
  );
}
