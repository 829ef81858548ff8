/**
 * Which `@std` packages a run takes: those of JSR, or the stand-ins under
 * `scripts/offline/`. The decision is made here from what the callbacks find out;
 * nothing is asked that is not needed.
 *
 * @module
 */

import type { RegistryAnswer } from "./registry_question.ts";

/** Where the `@std` packages of a run come from. */
export type StdSource = "jsr" | "offline";

/** What was decided, and the sentence that tells the user. */
export interface StdChoice {
  /** Where the packages come from. */
  readonly source: StdSource;
  /** One line for the user; absent when a parent process has said it already. */
  readonly notice?: string;
}

/** What {@linkcode chooseStd} decides from. */
export interface StdChoiceInputs {
  /** The value of `TERCET_STD`, the user's own decision. */
  readonly forced: string | undefined;
  /** The value of `TERCET_STD_DECIDED`, left by a launcher further up. */
  readonly decided: string | undefined;
  /** Tells whether every real package is in Deno's cache. */
  readonly isCached: () => Promise<boolean>;
  /** Asks the registry. */
  readonly ask: () => Promise<RegistryAnswer>;
}

/** The user's setting; empty is the same as not set. */
export const FORCE_VARIABLE = "TERCET_STD";

/** How a launcher hands its decision to the processes it starts. */
export const DECIDED_VARIABLE = "TERCET_STD_DECIDED";

/**
 * Decides where the `@std` packages of a run come from. A parent's decision
 * comes first, so that one run never mixes the two and never tells it twice;
 * then the user's setting, then Deno's cache, then the registry's answer.
 *
 * @throws {RangeError} When `forced` or `decided` is neither empty nor a source.
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
