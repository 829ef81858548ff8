/**
 * Answers in the form that clients of key servers read.
 *
 * @module
 */

import type { HttpRequest, HttpResponse } from "../shared/http/exchange.ts";
import type { KeyErrorName } from "./key_request.ts";

/**
 * The version of the protocol, which the public client reads; from 0.4.1 on it takes
 * answers.
 */
const PROTOCOL_VERSION = "0.5.0";
const RETRY_SECONDS = 1;

const ALWAYS: Readonly<Record<string, string>> = {
  "cache-control": "no-store",
  "x-content-type-options": "nosniff",
  "x-keyserver-version": PROTOCOL_VERSION,
  // Requests carry signatures and no cookies: any page may send them.
  "access-control-allow-origin": "*",
  "access-control-expose-headers": "x-keyserver-version, retry-after",
};

/** Statuses of errors; those of the public servers, but for malformed requests. */
const STATUSES: Readonly<Record<KeyErrorName, number>> = {
  InvalidPTB: 403,
  NoAccess: 403,
  InvalidCertificate: 403,
  InvalidSignature: 403,
  InvalidSessionSignature: 403,
  InvalidMVRName: 403,
  InvalidParameter: 400,
  InvalidServiceId: 400,
  UnsupportedPackageId: 400,
  Failure: 503,
};

/** A JSON value. */
export function jsonAnswer(status: number, value: unknown): HttpResponse {
  return {
    status,
    headers: { ...ALWAYS, "content-type": "application/json" },
    body: JSON.stringify(value),
  };
}

/** A refusal, by the name that the public client knows. */
export function failure(
  error: KeyErrorName,
  message: string,
  status = STATUSES[error],
): HttpResponse {
  const response = jsonAnswer(status, { error, message });
  if (status !== 503) return response;
  const headers = { ...response.headers, "retry-after": String(RETRY_SECONDS) };
  return { ...response, headers };
}

/** A refusal of who has asked too often. */
export function tooMany(waitMs: number): HttpResponse {
  const message = "Cannot take request: there were too many; wait";
  const response = jsonAnswer(429, { error: "Failure", message });
  const seconds = String(Math.ceil(waitMs / 1_000));
  return {
    ...response,
    headers: { ...response.headers, "retry-after": seconds },
  };
}

/**
 * The answer where no route fits: which methods the path has, for browsers that ask
 * before they call, too.
 *
 * @param options.routes Methods with their paths, a space between them.
 */
export function notThere(
  { method }: HttpRequest,
  { path, routes }: {
    readonly path: string;
    readonly routes: readonly string[];
  },
): HttpResponse {
  const allowed = routes
    .map((route) => route.split(" ", 2))
    .filter(([, known]) => known === path)
    .map(([known]) => known ?? "");
  if (allowed.length === 0) {
    return jsonAnswer(404, {
      error: "InvalidParameter",
      message: `Cannot find path: there are ${routes.join(", ")}`,
    });
  }
  const allow = [...allowed, "OPTIONS"].join(", ");
  if (method === "OPTIONS") {
    return {
      status: 204,
      headers: {
        ...ALWAYS,
        allow,
        "access-control-allow-methods": allow,
        // Clients may send a key of theirs under any name.
        "access-control-allow-headers": "*",
        "access-control-max-age": "7200",
      },
    };
  }
  const response = jsonAnswer(405, {
    error: "InvalidParameter",
    message: `Cannot use this method here: ${allow} are taken`,
  });
  return { ...response, headers: { ...response.headers, allow } };
}
