/**
 * A `fetch` for tests that answers as it is told and remembers what it was sent.
 *
 * @module
 */

import type { MemFetch } from "../config.ts";

/** A request as it arrived. */
export interface SeenRequest {
  /** The method. */
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  /** What it was made with. */
  readonly init: RequestInit;
  /** The header fields. */
  readonly headers: Headers;
  /** The body's bytes. */
  readonly body: Uint8Array<ArrayBuffer>;
}

/** A script and what it has seen. */
export interface ScriptedFetch {
  /** To be given to a client. */
  readonly fetch: MemFetch;
  /** Every request so far. */
  readonly seen: SeenRequest[];
}

/** What a relayer that fits says of itself. */
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

/** Like {@linkcode scriptedFetch}; the relayer fits, the rest is the script's. */
export function fittingFetch(
  script: (request: SeenRequest) => Response | Promise<Response>,
): ScriptedFetch {
  return scriptedFetch((request) =>
    request.path === "/version"
      ? Response.json(FITTING_CONTRACT)
      : script(request)
  );
}

/** An answer that never comes, as a transport that knows no signals gives it. */
export function silence(): Promise<Response> {
  return new Promise(() => {});
}
