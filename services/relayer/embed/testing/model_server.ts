/**
 * A model endpoint on loopback whose answers a test gives.
 *
 * @module
 */

/** A request that the server received. */
export interface ModelRequest {
  /** The path, without the query. */
  readonly path: string;
  /** The header fields. */
  readonly headers: Headers;
  /** The body as text. */
  readonly body: string;
}

/** A server that runs. */
export interface ModelServer extends AsyncDisposable {
  /** The server's address, with the path `/v1` as endpoints have. */
  readonly baseUrl: string;
  /** All requests so far. */
  readonly requests: readonly ModelRequest[];
}

/** Starts a server on a free port; it stops when it is disposed of. */
export function modelServer(
  answer: (request: ModelRequest) => Response | Promise<Response>,
): ModelServer {
  const requests: ModelRequest[] = [];
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    async (incoming) => {
      const request: ModelRequest = {
        path: new URL(incoming.url).pathname,
        headers: incoming.headers,
        body: await incoming.text(),
      };
      requests.push(request);
      return await answer(request);
    },
  );
  return {
    baseUrl: `http://127.0.0.1:${server.addr.port}/v1`,
    requests,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}
