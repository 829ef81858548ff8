/**
 * Reads an answer's body, never more of it than allowed.
 *
 * @module
 */

/** Options of {@linkcode readBody}. */
interface ReadBodyOptions {
  /** Most bytes that are kept. */
  readonly maxBytes: number;
  /** Ends the reading. */
  readonly signal: AbortSignal;
}

/** A body, or its beginning. */
export interface BodyBytes {
  /** The bytes. */
  readonly bytes: Uint8Array;
  /** Whether there was more than was allowed. */
  readonly isCut: boolean;
}

/**
 * Reads a body up to `maxBytes` and lets go of the rest.
 *
 * @throws {Error} When the body breaks off, or the reason of the signal.
 */
export async function readBody(
  response: Response,
  options: ReadBodyOptions,
): Promise<BodyBytes> {
  const { body } = response;
  if (body === null) return { bytes: new Uint8Array(0), isCut: false };
  // Some runtimes' answers have no stream.
  if (body === undefined) return await readWhole(response, options);
  const reader = body.getReader();
  const cancel = (): void => letGo(reader, options.signal.reason);
  options.signal.addEventListener("abort", cancel, { once: true });
  try {
    return await readChunks(reader, options.maxBytes);
  } finally {
    options.signal.removeEventListener("abort", cancel);
  }
}

async function readWhole(
  response: Response,
  options: ReadBodyOptions,
): Promise<BodyBytes> {
  const { maxBytes } = options;
  const announced = Number(response.headers.get("content-length") ?? 0);
  if (announced > maxBytes) return { bytes: new Uint8Array(0), isCut: true };
  const bytes = new Uint8Array(await response.arrayBuffer());
  return {
    bytes: bytes.subarray(0, maxBytes),
    isCut: bytes.length > maxBytes,
  };
}

async function readChunks(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  maxBytes: number,
): Promise<BodyBytes> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  while (true) {
    const { done, value } = await reader.read();
    if (done) return { bytes: joined(chunks, length), isCut: false };
    const kept = value.subarray(0, maxBytes - length);
    chunks.push(kept);
    length += kept.length;
    if (kept.length < value.length) {
      letGo(reader, undefined);
      return { bytes: joined(chunks, length), isCut: true };
    }
  }
}

/** A body that is let go of has nothing more to say, not even that it broke. */
function letGo(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  reason: unknown,
): void {
  reader.cancel(reason).catch(() => {});
}

function joined(chunks: readonly Uint8Array[], length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, at);
    at += chunk.length;
  }
  return bytes;
}
