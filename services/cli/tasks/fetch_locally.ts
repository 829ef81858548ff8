/**
 * A `fetch` that connects to this machine for host names below `localhost`,
 * such as `acme.localhost`.
 *
 * @module
 */

import { request } from "node:http";
import { Buffer } from "node:buffer";
import { Readable } from "node:stream";

/**
 * Works as `fetch` does, except that host names below `localhost` mean this
 * machine, as RFC 6761 (6.3) defines; most resolvers do not know such names.
 * `fetch` itself cannot be used for them, as it can't send another `Host`
 * header than the host it connects to.
 */
export async function fetchLocally(
  input: RequestInfo | URL,
  init: RequestInit = {},
): Promise<Response> {
  const url = new URL(input instanceof Request ? input.url : input);
  const isLocal = url.protocol === "http:" &&
    url.hostname.endsWith(".localhost");
  if (!isLocal) return await fetch(input, init);
  const { signal } = init;
  const body = typeof init.body === "string" ? init.body : "";
  return await new Promise((resolve, reject) => {
    const call = request({
      host: "localhost",
      port: url.port === "" ? 80 : Number(url.port),
      method: init.method ?? "GET",
      path: url.pathname + url.search,
      headers: {
        ...Object.fromEntries(new Headers(init.headers)),
        host: url.host,
        ...(body === "" ? {} : { "content-length": Buffer.byteLength(body) }),
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
