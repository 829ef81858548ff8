/**
 * Reads the encrypted bytes of memories, from aggregators of a blob store or
 * from the relayer.
 *
 * @module
 */

import { type EndSignal, throwIfEnded } from "../memory/life.ts";
import { readString } from "../memory/answer_reader.ts";
import { pause, runWithin } from "../memory/client_clock.ts";
import type { ClientParts } from "../memory/client_parts.ts";
import type { MemFetch } from "../memory/round_trip.ts";
import { decodeBase64 } from "../memory/encodings.ts";
import {
  isPassingTrouble,
  MemError,
  MemRequestTimeout,
} from "../memory/errors.ts";
import type { RecallManualHit } from "../memory/manual.ts";
import { readBody } from "../memory/round_trip.ts";

/** The outcome of getting a blob. */
export type BlobRead =
  | { readonly kind: "ok"; readonly bytes: Uint8Array }
  /** The blob could not be read; the reason is shown to the application. */
  | { readonly kind: "failed"; readonly reason: string };

/** Options of {@linkcode readBlob}. */
interface BlobReaderOptions {
  /** Addresses of aggregators; when empty, the relayer is asked. */
  readonly aggregatorUrls: readonly string[];
  /** What the client works with. */
  readonly parts: ClientParts;
  /** Makes the requests to aggregators. */
  readonly fetch: MemFetch;
  /** Aborts the read. */
  readonly signal: EndSignal;
}

/**
 * Largest blob that is read. The relayer takes no more bytes in one request, so
 * no blob that its clients stored is larger.
 */
const MAX_BLOB_BYTES = 4 * 1024 * 1024;
/** Milliseconds after which the next aggregator is asked as well. */
const HEDGE_MS = 150;
const NOT_FOUND = 404;

/**
 * Reads the blob of a memory that was found. The aggregators are asked in
 * order, each a short while after the one before or as soon as that one fails,
 * and the first good answer counts.
 *
 * @throws {unknown} The signal's reason, when it aborts.
 */
export async function readBlob(
  hit: RecallManualHit,
  options: BlobReaderOptions,
): Promise<BlobRead> {
  const { aggregatorUrls, parts, signal } = options;
  if (aggregatorUrls.length === 0) {
    return await readFromRelayer(hit, { parts, signal });
  }
  const timeoutMs = parts.requestTimeoutMs;
  try {
    return await runWithin((signal) => race(hit.blob_id, options, signal), {
      signals: [signal],
      deadline: {
        clock: parts.clock,
        timeoutMs,
        error: () => new MemRequestTimeout({ phase: "GET blob", timeoutMs }),
      },
    });
  } catch (error) {
    throwIfEnded(signal);
    return failed(error instanceof Error ? error.message : String(error));
  }
}

async function readFromRelayer(
  { id, encrypted_data }: RecallManualHit,
  { parts, signal }: Pick<BlobReaderOptions, "parts" | "signal">,
): Promise<BlobRead> {
  if (encrypted_data !== undefined) return decodeBlob(encrypted_data);
  if (id === undefined) {
    return failed("this relayer gives no blobs: set blobAggregatorUrl");
  }
  try {
    const { json } = await parts.exchange.send({
      method: "GET",
      path: `/api/memories/${encodeURIComponent(id)}/blob`,
      timeoutMs: parts.requestTimeoutMs,
      signal,
    });
    return decodeBlob(readString(json, "data"));
  } catch (error) {
    throwIfEnded(signal);
    if (!(error instanceof MemError)) throw error;
    return failed(
      error.status === NOT_FOUND && !isPassingTrouble(error)
        ? "the relayer does not have its blob"
        : error.message,
    );
  }
}

function decodeBlob(data: string): BlobRead {
  const bytes = decodeBase64(data, { maxBytes: MAX_BLOB_BYTES });
  return bytes === undefined
    ? failed("the relayer's answer is no blob")
    : { kind: "ok", bytes };
}

/**
 * Asks the aggregators in order; the first good answer cancels the other
 * requests.
 */
async function race(
  blobId: string,
  { aggregatorUrls, parts, fetch }: BlobReaderOptions,
  signal: AbortSignal,
): Promise<BlobRead> {
  const ending = new AbortController();
  const end = () => ending.abort(signal.reason);
  signal.addEventListener("abort", end, { once: true });
  try {
    const reasons: string[] = [];
    const tries: Promise<BlobRead>[] = [];
    for (const [at, url] of aggregatorUrls.entries()) {
      const earlier = tries.at(-1);
      tries.push(
        tryAggregator(`${url}/v1/blobs/${encodeURIComponent(blobId)}`, {
          earlier,
          fetch,
          hedge: () =>
            pause(HEDGE_MS * at, { clock: parts.clock, signal: ending.signal }),
          signal: ending.signal,
        }),
      );
    }
    return await Promise.any(tries.map(async (one) => {
      const read = await one;
      if (read.kind === "ok") return read;
      reasons.push(read.reason);
      throw new Error(read.reason);
    })).catch(() => failed([...new Set(reasons)].join("; ")));
  } finally {
    signal.removeEventListener("abort", end);
    ending.abort();
  }
}

/**
 * Asks an aggregator once the one before it has failed or its time has passed.
 */
async function tryAggregator(
  url: string,
  { earlier, hedge, fetch, signal }: {
    readonly earlier: Promise<BlobRead> | undefined;
    readonly hedge: () => Promise<void>;
    readonly fetch: MemFetch;
    readonly signal: AbortSignal;
  },
): Promise<BlobRead> {
  if (earlier !== undefined) {
    // The pause is aborted when the race ends; its rejection is ignored.
    const waited = hedge().then(() => undefined, () => undefined);
    const read = await Promise.race([earlier, waited]);
    if (read?.kind === "ok") return read;
  }
  return await fetchBlob(url, { fetch, signal });
}

async function fetchBlob(
  url: string,
  { fetch, signal }: {
    readonly fetch: MemFetch;
    readonly signal: AbortSignal;
  },
): Promise<BlobRead> {
  const { host } = new URL(url);
  try {
    throwIfEnded(signal);
    const response = await fetch(url, {
      method: "GET",
      credentials: "omit",
      referrerPolicy: "no-referrer",
      signal,
    });
    if (!response.ok) {
      await response.body?.cancel();
      return failed(`${host} answers ${response.status}`);
    }
    const { bytes, isCut } = await readBody(response, {
      maxBytes: MAX_BLOB_BYTES,
      signal,
    });
    return isCut
      ? failed(`${host} answers with more than ${MAX_BLOB_BYTES} bytes`)
      : { kind: "ok", bytes };
  } catch {
    return failed(`${host} cannot be reached`);
  }
}

function failed(reason: string): BlobRead {
  return { kind: "failed", reason };
}
