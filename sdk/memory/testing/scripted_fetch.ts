/**
 * A `fetch` for tests that answers by script and records its requests.
 *
 * @module
 */

import type { MemFetch } from "../round_trip.ts";

/** A request as it arrived. */
export interface SeenRequest {
  /** The method. */
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  /** The options that `fetch` was called with. */
  readonly init: RequestInit;
  /** The header fields. */
  readonly headers: Headers;
  /** The body's bytes. */
  readonly body: Uint8Array<ArrayBuffer>;
}

/** A scripted `fetch` and its recorded requests. */
export interface ScriptedFetch {
  /** The function to give to a client. */
  readonly fetch: MemFetch;
  /** Every request so far. */
  readonly seen: SeenRequest[];
}

/** An answer to `/version` that is compatible with the client. */
export const FITTING_CONTRACT = {
  relayerVersion: "0.1.0",
  apiVersion: "1.0.0",
  minSupportedSdk: { typescript: "0.0.4" },
} as const;

/** Answers each request as `script` says. */
export function scriptedFetch(
  script: (request: SeenRequest) => Response | Promise<Response>,
): ScriptedFetch {
  const seen: SeenRequest[] = [];
  return {
    seen,
    fetch: async (address, init) => {
      const url = new URL(address);
      const request = {
        method: init.method ?? "GET",
        path: url.pathname + url.search,
        init,
        headers: new Headers(init.headers),
        body: new Uint8Array(
          await new Response(init.body ?? null).arrayBuffer(),
        ),
      };
      seen.push(request);
      return await script(request);
    },
  };
}

/**
 * Like {@linkcode scriptedFetch}, but answers the check of compatibility by
 * itself.
 */
export function fittingFetch(
  script: (request: SeenRequest) => Response | Promise<Response>,
): ScriptedFetch {
  return scriptedFetch((request) =>
    request.path === "/version"
      ? Response.json(FITTING_CONTRACT)
      : script(request)
  );
}

/** An answer that never arrives, even when the request is aborted. */
export function silence(): Promise<Response> {
  return new Promise(() => {});
}
