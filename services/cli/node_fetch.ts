/**
 * A `fetch` over `node:http`, for what the built-in one cannot do: another host
 * than the header's, a unix socket, and errors that tell whether the server was
 * reached.
 *
 * @module
 */

import { request, type RequestOptions } from "node:http";
import { Buffer } from "node:buffer";
import { Readable } from "node:stream";

/** Where a request is sent, whatever its URL says. */
type Place =
  | Required<Pick<RequestOptions, "host" | "port">>
  | Required<Pick<RequestOptions, "socketPath">>;

/**
 * Sends a request with a text or bytes as its body over a connection of its
 * own.
 *
 * @throws {Error} When no answer comes; `code` is `ECONNREFUSED` or `ENOENT`
 * when no server listens there.
 * @throws {unknown} The signal's reason, when it aborts.
 */
export async function nodeFetch(
  url: URL,
  init: RequestInit,
  place: Place,
): Promise<Response> {
  const { signal } = init;
  signal?.throwIfAborted();
  const body = readBody(init.body);
  return await new Promise((resolve, reject) => {
    const call = request({
      ...place,
      method: init.method ?? "GET",
      path: url.pathname + url.search,
      headers: {
        ...Object.fromEntries(new Headers(init.headers)),
        host: url.host,
        ...(body.length === 0 ? {} : { "content-length": body.length }),
      },
      agent: false,
    }, (answer) => {
      const status = answer.statusCode ?? 0;
      const fields = Object.entries(answer.headers).map(([name, value]) =>
        [name, String(value)] as [string, string]
      );
      const body = status === 204
        ? null
        // The stream is one of bytes, which node's types do not say.
        : Readable.toWeb(answer) as ReadableStream<Uint8Array<ArrayBuffer>>;
      resolve(new Response(body, { status, headers: fields }));
    });
    const abort = (): void => {
      reject(signal?.reason);
      call.destroy();
    };
    signal?.addEventListener("abort", abort, { once: true });
    call.on("close", () => signal?.removeEventListener("abort", abort));
    call.on("error", reject);
    call.end(body);
  });
}

function readBody(body: RequestInit["body"]): Uint8Array {
  if (body instanceof Uint8Array) return body;
  return Buffer.from(typeof body === "string" ? body : "");
}
