/**
 * Makes the vectors of a batch of texts, so that one text that the embedder
 * refuses does not fail the others.
 *
 * @module
 */

import { describeError, settle } from "../../shared/settled.ts";
import type { WorkOptions } from "../concurrency/bounded_work.ts";
import type { Embedder } from "../embed/embedder.ts";
import { INTERNAL_FAILURE, type JobFailure } from "./job_failure.ts";

/** The outcome for one text. */
type TextVector =
  | { readonly kind: "ok"; readonly vector: Float32Array }
  | { readonly kind: "failed"; readonly failure: JobFailure };

/** Options of {@linkcode textVectors}. */
interface TextVectorsOptions extends WorkOptions {
  /** Makes the vectors. */
  readonly embedder: Pick<Embedder, "embed" | "width">;
  /** Aborts the calls of the embedder. */
  readonly signal: AbortSignal;
  /**
   * Called with the reason why texts were not embedded, in words fit for logs.
   */
  readonly onFailure: (reason: string) => void;
  /**
   * Most calls to find refused texts, beside the first one.
   *
   * @default {24}
   */
  readonly maxSearchCalls?: number | undefined;
}

/** The outcome of one call for some texts. */
type Asked =
  | { readonly kind: "ok"; readonly vectors: readonly Float32Array[] }
  /** All of the texts are to be retried later. */
  | { readonly kind: "later"; readonly failure: JobFailure }
  /**
   * The embedder refused at least one of the texts, and will refuse it again.
   */
  | { readonly kind: "refused"; readonly failure: JobFailure };

const AWAY = "Cannot embed text: the embedder does not answer";
const REFUSED = "Cannot embed text: the embedder refuses the text";

/**
 * Embeds texts; returns one outcome for each. When the embedder refuses them
 * together, halves are tried until the refused texts are found; each of those
 * is shortened until it is taken. A text counts as refused for good only when
 * the embedder took another one. An embedder that takes none has wrong
 * settings, which its operator can fix.
 */
export async function textVectors(
  texts: readonly string[],
  options: TextVectorsOptions,
): Promise<readonly TextVector[]> {
  const { maxSearchCalls = 24 } = options;
  const search = { ...options, callsLeft: maxSearchCalls + 1 };
  const asked = await askInHalves(texts, search);
  const isTaken = asked.some(({ kind }) => kind === "ok");
  return asked.map((one) => {
    if (one.kind === "ok") return one;
    const { failure } = one;
    return isTaken || failure.isPassing ? one : {
      kind: "failed",
      failure: { ...failure, reason: AWAY, isPassing: true },
    };
  });
}

interface Search extends TextVectorsOptions {
  callsLeft: number;
}

async function askInHalves(
  texts: readonly string[],
  search: Search,
): Promise<readonly TextVector[]> {
  if (texts.length === 0) return [];
  if (search.callsLeft === 0) {
    return failAll(texts, { reason: AWAY, isPassing: true });
  }
  search.callsLeft--;
  const asked = await ask(texts, search);
  if (asked.kind === "ok") {
    return asked.vectors.map((vector) => ({ kind: "ok", vector }));
  }
  const [text] = texts;
  if (asked.kind === "refused" && texts.length === 1 && text !== undefined) {
    return [await askShorter(text, asked.failure, search)];
  }
  if (asked.kind === "later") return failAll(texts, asked.failure);
  const middle = Math.ceil(texts.length / 2);
  // One after the other: a failing embedder must not get more calls at a time.
  return [
    ...await askInHalves(texts.slice(0, middle), search),
    ...await askInHalves(texts.slice(middle), search),
  ];
}

/** Least characters that a text is shortened to. */
const LEAST_CHARS = 64;

/**
 * Asks for the vector of the first half of a text that was refused, then of its
 * first quarter, and so on. Most are refused since the model takes fewer
 * tokens.
 */
async function askShorter(
  text: string,
  failure: JobFailure,
  search: Search,
): Promise<TextVector> {
  let short = text;
  while (search.callsLeft > 0 && short.length >= 2 * LEAST_CHARS) {
    search.callsLeft--;
    short = short.slice(0, short.length / 2).toWellFormed();
    const asked = await ask([short], search);
    const vector = asked.kind === "ok" ? asked.vectors[0] : undefined;
    if (vector !== undefined) return { kind: "ok", vector };
    if (asked.kind === "later") {
      return { kind: "failed", failure: asked.failure };
    }
  }
  return { kind: "failed", failure };
}

async function ask(
  texts: readonly string[],
  { embedder, signal, pausing, onFailure }: Search,
): Promise<Asked> {
  const settled = await settle(() =>
    embedder.embed(texts, { signal, pausing })
  );
  if (settled.kind === "failed") {
    onFailure(describeError(settled.error));
    const kind = signal.aborted ? "later" : "refused";
    return { kind, failure: INTERNAL_FAILURE };
  }
  const outcome = settled.value;
  if (outcome.kind === "unavailable") {
    const { reason, isPassing, retryAfterMs } = outcome;
    onFailure(reason);
    return isPassing
      ? { kind: "later", failure: { reason: AWAY, isPassing, retryAfterMs } }
      : { kind: "refused", failure: { reason: REFUSED, isPassing } };
  }
  const { vectors } = outcome;
  const fit = vectors.length === texts.length &&
    vectors.every(({ length }) => length === embedder.width);
  if (fit) return { kind: "ok", vectors };
  // With a vector missing, it is unknown which texts the others belong to.
  onFailure("the vectors do not fit the texts");
  return { kind: "later", failure: INTERNAL_FAILURE };
}

function failAll(
  texts: readonly string[],
  failure: JobFailure,
): readonly TextVector[] {
  return texts.map(() => ({ kind: "failed", failure }));
}
