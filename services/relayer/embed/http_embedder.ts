/**
 * An embedder behind an OpenAI-compatible endpoint.
 *
 * @module
 */

import type { Embedder, EmbedOutcome } from "./embedder.ts";
import type { WorkOptions } from "../concurrency/bounded_work.ts";
import { ModelEndpoint, type ModelEndpointOptions } from "./model_endpoint.ts";
import { getMember } from "../remote/http_call.ts";

/** Options of {@linkcode HttpEmbedder}. */
interface HttpEmbedderOptions extends ModelEndpointOptions {
  /** The name of the model that the endpoint is asked for. */
  readonly model: string;
  /** Number of values that each vector must have; others are refused. */
  readonly width: number;
}

/** How long to wait until a width that does not fit may have been changed. */
const MISFIT_RETRY_MS = 300_000;
/** The most texts of one request. */
const MAX_BATCH = 100;

/** Asks an endpoint for vectors. */
export class HttpEmbedder implements Embedder {
  /** Number of values in each vector. */
  readonly width: number;
  /** The model's name. */
  readonly model: string;
  readonly #endpoint: ModelEndpoint;
  /**
   * Whether the width is sent along: once the model was found to have another
   * and to take that.
   */
  #sendsWidth = false;

  /**
   * An embedder; nothing is sent yet.
   *
   * @throws {TypeError} when the address or the key cannot be used
   */
  constructor(options: HttpEmbedderOptions) {
    this.width = options.width;
    this.model = options.model;
    this.#endpoint = new ModelEndpoint(options);
  }

  /**
   * Returns one vector of length 1 for each text, or `unavailable` for all of
   * them.
   */
  async embed(
    texts: readonly string[],
    options: WorkOptions = {},
  ): Promise<EmbedOutcome> {
    const vectors: Float32Array[] = [];
    for (let from = 0; from < texts.length; from += MAX_BATCH) {
      const outcome = await this.#batch(
        texts.slice(from, from + MAX_BATCH),
        options,
      );
      if (outcome.kind === "unavailable") return outcome;
      vectors.push(...outcome.vectors);
    }
    return { kind: "ok", vectors };
  }

  async #batch(
    texts: readonly string[],
    options: WorkOptions,
  ): Promise<EmbedOutcome> {
    const sendsWidth = this.#sendsWidth;
    const asked = await this.#ask(texts, { ...options, sendsWidth });
    if (asked.kind === "unavailable") return asked;
    const other = asked.rows.find((row) => row.length !== this.width);
    if (other === undefined) return toVectors(asked.rows);
    if (!sendsWidth) {
      // Some models make vectors of any width when they are asked to. Other
      // calls ask for it only once that is known of the model.
      const again = await this.#ask(texts, { ...options, sendsWidth: true });
      const fits = again.kind === "ok" &&
        again.rows.every((row) => row.length === this.width);
      if (fits) {
        this.#sendsWidth = true;
        return toVectors(again.rows);
      }
    }
    const state = `the model's vectors have ${other.length} numbers, ` +
      `and ${this.width} are set; set EMBEDDING_WIDTH to ${other.length}`;
    return { ...broken(state), retryAfterMs: MISFIT_RETRY_MS, isMisfit: true };
  }

  async #ask(
    texts: readonly string[],
    { sendsWidth, ...options }: WorkOptions & { readonly sendsWidth: boolean },
  ): Promise<
    | { readonly kind: "ok"; readonly rows: readonly (readonly number[])[] }
    | Unavailable
  > {
    const answer = await this.#endpoint.post("/embeddings", {
      ...options,
      body: {
        model: this.model,
        input: texts,
        encoding_format: "float",
        ...(sendsWidth ? { dimensions: this.width } : {}),
      },
    });
    if (answer.kind === "unavailable") {
      return { ...answer, reason: `Cannot embed texts: ${answer.reason}` };
    }
    const rows = readEmbeddings(answer.json, texts.length);
    return rows === undefined
      ? broken("the answer is not a list of vectors")
      : { kind: "ok", rows };
  }
}

function toVectors(rows: readonly (readonly number[])[]): EmbedOutcome {
  const vectors: Float32Array[] = [];
  for (const row of rows) {
    const vector = unitVector(row);
    if (vector === undefined) return broken("a vector has no direction");
    vectors.push(vector);
  }
  return { kind: "ok", vectors };
}

/**
 * The vectors of an answer in the order of the texts; `undefined` when the
 * answer does not hold one vector of numbers for each text.
 */
function readEmbeddings(
  json: unknown,
  count: number,
): readonly (readonly number[])[] | undefined {
  const data = getMember(json, "data");
  if (!Array.isArray(data) || data.length !== count) return undefined;
  const rows = new Map<number, readonly number[]>();
  for (const [position, item] of data.entries()) {
    const index = getMember(item, "index") ?? position;
    const embedding = getMember(item, "embedding");
    if (typeof index !== "number" || !isNumbers(embedding)) return undefined;
    rows.set(index, embedding);
  }
  const ordered = Array.from({ length: count }, (_, index) => rows.get(index));
  return ordered.every((row) => row !== undefined) ? ordered : undefined;
}

function isNumbers(value: unknown): value is readonly number[] {
  return Array.isArray(value) && value.every(Number.isFinite);
}

/**
 * The vector scaled to length 1; `undefined` when its length is 0 or infinite.
 */
function unitVector(row: readonly number[]): Float32Array | undefined {
  const length = Math.hypot(...row);
  if (!(length > 0 && length < Infinity)) return undefined;
  return Float32Array.from(row, (value) => value / length);
}

type Unavailable = Extract<EmbedOutcome, { readonly kind: "unavailable" }>;

function broken(what: string): Unavailable {
  return {
    kind: "unavailable",
    reason: `Cannot embed texts: ${what}`,
    isPassing: true,
  };
}
