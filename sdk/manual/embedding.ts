/**
 * Computes vectors of texts: with a function of the application, with an
 * endpoint that has OpenAI's interface, or with the relayer where the
 * application lets the relayer see the texts.
 *
 * @module
 */

import { readableUtf8 } from "../memory/encodings.ts";
import { throwIfEnded } from "../memory/life.ts";
import { isObject } from "../memory/answer_reader.ts";
import { runWithin } from "../memory/client_clock.ts";
import type { ClientParts } from "../memory/client_parts.ts";
import type { MemFetch } from "../memory/round_trip.ts";
import { MemRequestTimeout } from "../memory/errors.ts";
import { embed, type Vector } from "../memory/manual.ts";
import { readBody } from "../memory/round_trip.ts";
import { MemEmbeddingError } from "./manual_errors.ts";

/** Computes the vector of a text. */
export type EmbedFunction = (
  text: string,
  options: { readonly signal: AbortSignal },
) => Vector | Promise<Vector>;

/** How texts become vectors. */
export type EmbeddingChoice =
  | { readonly kind: "function"; readonly embed: EmbedFunction }
  | {
    readonly kind: "endpoint";
    /** Its address, without a slash at the end, such as `https://…/v1`. */
    readonly baseUrl: string;
    /** The API key for the endpoint. */
    readonly apiKey: string;
    /** What the endpoint calls the model. */
    readonly model: string;
  }
  | { readonly kind: "relayer" };

const MAX_ANSWER_BYTES = 4 * 1024 * 1024;

/**
 * Makes the vector of a text.
 *
 * @throws {MemEmbeddingError} When the vector cannot be computed.
 * @throws {MemRequestTimeout} When it takes longer than a request may.
 * @throws {MemError} When the relayer was asked for the vector and refuses.
 */
export async function embedText(
  text: string,
  { choice, parts, fetch }: {
    readonly choice: EmbeddingChoice;
    readonly parts: ClientParts;
    readonly fetch: MemFetch;
  },
): Promise<Vector> {
  if (choice.kind === "relayer") return await embed(parts, text);
  const { clock, requestTimeoutMs: timeoutMs, signal } = parts;
  return await runWithin(
    async (signal) =>
      choice.kind === "function"
        ? await choice.embed(text, { signal })
        : await askEndpoint(text, { choice, fetch, signal }),
    {
      signals: [signal],
      deadline: {
        clock,
        timeoutMs,
        error: () => new MemRequestTimeout({ phase: "embedding", timeoutMs }),
      },
    },
  );
}

/**
 * Asks an endpoint with the interface of
 * https://platform.openai.com/docs/api-reference/embeddings.
 */
async function askEndpoint(
  text: string,
  { choice, fetch, signal }: {
    readonly choice: Extract<EmbeddingChoice, { readonly kind: "endpoint" }>;
    readonly fetch: MemFetch;
    readonly signal: AbortSignal;
  },
): Promise<readonly number[]> {
  const { baseUrl, apiKey, model } = choice;
  const response = await reached(() =>
    fetch(`${baseUrl}/embeddings`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        authorization: `Bearer ${apiKey}`,
      },
      body: JSON.stringify({ model, input: text, encoding_format: "float" }),
      credentials: "omit",
      // A redirect would send the API key to another endpoint.
      redirect: "error",
      signal,
    }), { baseUrl, signal });
  const { bytes, isCut } = await reached(
    () => readBody(response, { maxBytes: MAX_ANSWER_BYTES, signal }),
    { baseUrl, signal },
  );
  if (!response.ok) {
    // The answer's text is left out: it may repeat the user's text or the API
    // key.
    const { status } = response;
    throw new MemEmbeddingError(
      `Cannot embed a text: the endpoint answers ${status}`,
      { status },
    );
  }
  const vector = isCut ? undefined : readVector(bytes);
  if (vector !== undefined) return vector;
  throw new MemEmbeddingError(
    "Cannot embed a text: the endpoint's answer has no vector",
  );
}

async function reached<T>(
  work: () => Promise<T>,
  { baseUrl, signal }: {
    readonly baseUrl: string;
    readonly signal: AbortSignal;
  },
): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    throwIfEnded(signal);
    throw new MemEmbeddingError(
      `Cannot embed a text: no answer from "${new URL(baseUrl).origin}"`,
      { status: 0, cause },
    );
  }
}

function readVector(bytes: Uint8Array): readonly number[] | undefined {
  let json: unknown;
  try {
    json = JSON.parse(readableUtf8(bytes));
  } catch {
    return undefined;
  }
  const data = isObject(json) ? json["data"] : undefined;
  const first: unknown = Array.isArray(data) ? data[0] : undefined;
  const vector = isObject(first) ? first["embedding"] : undefined;
  const isVector = Array.isArray(vector) && vector.length > 0 &&
    vector.every((value) => Number.isFinite(value));
  return isVector ? vector : undefined;
}
