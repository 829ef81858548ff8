/**
 * A publisher and an aggregator for tests, which can be made to fail.
 *
 * @module
 */

/**
 * Makes a server's next response in place of the correct one; undefined leaves
 * the correct one.
 */
export type ServerFault = (
  request: Request,
) => Response | Promise<Response> | undefined;

/** A publisher and an aggregator that are running. */
export interface BlobServers extends AsyncDisposable {
  /** The URL of both. */
  readonly url: string;
  /** The fault to answer with; undefined for correct answers. */
  fault: ServerFault | undefined;
  /** Requests so far, as method and path. */
  readonly requests: readonly string[];
  /** Returns how many requests the client has aborted. */
  readonly ended: () => number;
}

/** Starts both on a port of this machine. */
export function startBlobServers(): BlobServers {
  const blobs = new Map<string, Uint8Array<ArrayBuffer>>();
  const requests: string[] = [];
  let ended = 0;
  const state: { fault: ServerFault | undefined } = { fault: undefined };
  const server = Deno.serve({
    hostname: "127.0.0.1",
    port: 0,
    onListen: () => {},
  }, async (request) => {
    const { pathname, search } = new URL(request.url);
    requests.push(`${request.method} ${pathname}${search}`);
    request.signal.addEventListener("abort", () => ended++);
    const fault = await state.fault?.(request);
    if (fault !== undefined) return fault;
    if (request.method === "PUT") {
      return await publish(request, blobs);
    }
    const bytes = blobs.get(pathname.slice("/v1/blobs/".length));
    return bytes === undefined ? noBlob() : new Response(bytes);
  });
  return {
    url: `http://127.0.0.1:${server.addr.port}`,
    get fault() {
      return state.fault;
    },
    set fault(fault) {
      state.fault = fault;
    },
    requests,
    ended: () => ended,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

/** The answer of an aggregator that has no such blob. */
export function noBlob(): Response {
  const error = { status: "NOT_FOUND", code: 404, message: "no such blob" };
  return Response.json({ error }, { status: 404 });
}

async function publish(
  request: Request,
  blobs: Map<string, Uint8Array<ArrayBuffer>>,
): Promise<Response> {
  const bytes = await request.bytes();
  const digest = await crypto.subtle.digest("SHA-256", bytes);
  const blobId = new Uint8Array(digest).toBase64({
    alphabet: "base64url",
    omitPadding: true,
  });
  if (blobs.has(blobId)) {
    return Response.json({ alreadyCertified: { blobId, endEpoch: 9 } });
  }
  blobs.set(blobId, bytes);
  return Response.json({
    newlyCreated: { blobObject: { id: "0x1", blobId, size: bytes.length } },
  });
}
