/**
 * Problems of HTTP itself: what a request looks like on the wire, whatever it
 * asks for.
 *
 * @module
 */

import type { ProblemKind } from "../problem_kind.ts";

/** What any request can be refused for, whatever it asks for. */
export const HTTP_PROBLEMS = {
  bad_request: {
    status: 400,
    title: "The request is no HTTP",
    description:
      "The request line or the framing of the body is malformed. Nothing was done.",
    example: { detail: "Cannot read request: its first line is malformed" },
  },
  malformed_json: {
    status: 400,
    title: "The body is no JSON",
    description: "The body is empty, not in UTF-8, or no JSON text.",
    example: {
      detail:
        'Cannot read body: line 1, column 14 holds "}" where a value is expected',
    },
  },
  bad_host: {
    status: 400,
    title: "The Host header is not usable",
    description: "The Host header is missing, doubled or names no host.",
    example: { detail: "Cannot tell the tenant: the Host header is missing" },
  },
  bad_header: {
    status: 400,
    title: "A header is malformed",
    description: "A header has a value that cannot be read.",
    example: {
      detail:
        'Cannot read header "Idempotency-Key": it has more than 255 characters',
      extensions: { header: "Idempotency-Key" },
    },
  },
  method_not_allowed: {
    status: 405,
    title: "The method is not offered here",
    description: "The path is known; the Allow header names its methods.",
    example: { detail: "Cannot use PUT here: GET, HEAD and POST are offered" },
  },
  not_acceptable: {
    status: 406,
    title: "No acceptable form is offered",
    description: "The Accept header excludes every form that is offered.",
    example: { detail: "Cannot answer in a form that Accept allows" },
  },
  request_timeout: {
    status: 408,
    title: "The request came too slowly",
    description: "The body did not arrive in time; send it again.",
    example: { detail: "Cannot read body: it did not arrive in time" },
  },
  too_large: {
    status: 413,
    title: "The body is too large",
    description: "The body, or a part of it, is larger than the plan allows.",
    example: {
      detail: "Cannot read body: it has more than 65536 bytes",
      extensions: { limit: 65_536 },
    },
  },
  uri_too_long: {
    status: 414,
    title: "The request target is too long",
    description:
      "The path and the query are longer than the head of a request may be.",
    example: { detail: "Cannot read request: its target is too long" },
  },
  unsupported_media_type: {
    status: 415,
    title: "The body is of another type",
    description: "A body needs `Content-Type: application/json`, in UTF-8.",
    example: {
      detail:
        'Cannot read body: its type is "text/plain", not application/json',
    },
  },
  expectation_failed: {
    status: 417,
    title: "An expectation is not met",
    description:
      "The Expect header asks for something other than 100-continue.",
    example: {
      detail:
        "Cannot meet expectation: 100-continue is the only one that is met",
    },
  },
  request_header_fields_too_large: {
    status: 431,
    title: "The headers are too large",
    description: "There are too many headers, or they are too long.",
    example: { detail: "Cannot read request: its headers are too large" },
  },
  not_implemented: {
    status: 501,
    title: "The method is unknown",
    description: "The method or the transfer coding is none the service knows.",
    example: { detail: "Cannot answer: the method is unknown" },
  },
  http_version_not_supported: {
    status: 505,
    title: "The version of HTTP is not spoken here",
    description: "The port speaks HTTP/1.1 and HTTP/1.0.",
    example: {
      detail: "Cannot answer: the protocol must be HTTP/1.1 or HTTP/1.0",
    },
  },
} as const satisfies Readonly<Record<string, ProblemKind>>;
