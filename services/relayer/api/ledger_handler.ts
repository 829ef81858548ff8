/**
 * The HTTP handler of a ledger that runs as a process of its own: JSON-RPC at
 * `/` and `/rpc` for everybody, with the methods of the catalogue of blobs for
 * callers that send the credential, and `/health`.
 *
 * @module
 */

import { createHash, timingSafeEqual } from "node:crypto";
import { toClientGroup } from "../../shared/http/client_address.ts";
import type { FairTurns } from "../../shared/fair_turns.ts";
import type {
  HttpHandler,
  HttpHeaders,
  HttpRequest,
  HttpResponse,
} from "../../shared/http/exchange.ts";
import type { Network } from "../../shared/ip_network.ts";
import type { Logger } from "../../shared/logger.ts";
import type { AnswerRpc } from "../ledger/embedded_rpc.ts";
import type { StorageWatch } from "../store/storage_watch.ts";
import {
  type Answer,
  failureAnswer,
  NO_PATH,
  noBody,
  notAllowed,
  noTurn,
  ok,
  refused,
  renderAnswer,
} from "./answer.ts";
import { isPreflight, preflightHeaders, withCors } from "./cors.ts";
import { jsonRpcAnswer } from "./json_body.ts";
import { MAX_BODY_BYTES, MAX_SMALL_BODY_BYTES } from "./route.ts";

/** Parts and values of {@linkcode createLedgerHandler}. */
interface LedgerHandlerParts {
  /** Answers JSON-RPC; a caller with the credential is trusted. */
  readonly answerRpc: AnswerRpc;
  /**
   * The secret that relayers send as a bearer token; when it is empty, no call
   * is trusted.
   */
  readonly credential: string;
  /** Shares the thread between clients, by address. */
  readonly turns: Pick<FairTurns, "begin">;
  /** Proxies whose X-Forwarded-For header is trusted. */
  readonly trustedProxies: readonly Network[];
  /** Origins whose pages may call; `*` stands for all. */
  readonly corsOrigins: readonly string[];
  /** Takes note of storage failures, and logs them once. */
  readonly storage: Pick<StorageWatch, "note">;
  /** Logs what goes wrong. */
  readonly logger: Logger;
  /** The version that `/health` answers. */
  readonly version: string;
}

const RPC_PATHS: ReadonlySet<string> = new Set(["/", "/rpc"]);
const HEALTH_PATH = "/health";

/** Makes the handler of the ledger's port. */
export function createLedgerHandler(parts: LedgerHandlerParts): HttpHandler {
  return async (request) => {
    const response = await respond(request, parts);
    return withCors(response, request, parts.corsOrigins);
  };
}

async function respond(
  request: HttpRequest,
  parts: LedgerHandlerParts,
): Promise<HttpResponse> {
  const { method, target } = request;
  if (isPreflight(request)) {
    return renderAnswer({ status: 204, headers: preflightHeaders() });
  }
  const [path = ""] = target.split("?", 1);
  const isHealth = path === HEALTH_PATH;
  if (!isHealth && !RPC_PATHS.has(path)) {
    return renderAnswer(NO_PATH);
  }
  const allow = isHealth ? "GET, HEAD" : "POST";
  if (!allow.split(", ").includes(method)) {
    return renderAnswer(notAllowed(allow));
  }
  if (isHealth) {
    return renderAnswer(ok({ status: "ok", version: parts.version }));
  }
  return renderAnswer(await answerInTurn(request, parts));
}

async function answerInTurn(
  request: HttpRequest,
  parts: LedgerHandlerParts,
): Promise<Answer> {
  const { logger, storage } = parts;
  const isTrusted = isCredential(request.headers, parts.credential);
  if (isTrusted === "wrong") {
    return refused(401, "Cannot answer: the credential is wrong");
  }
  const client = toClientGroup(request, parts.trustedProxies);
  // Relayers have a group of their own, so that they do not wait for strangers.
  const group = isTrusted === "yes" ? "relayers" : "strangers";
  const begun = await parts.turns.begin({ group, member: client }, request);
  if (begun.kind !== "ok") return noTurn(begun);
  const maxBytes = isTrusted === "yes" ? MAX_BODY_BYTES : MAX_SMALL_BODY_BYTES;
  const caller = { from: client, isTrusted: isTrusted === "yes" };
  try {
    const body = await request.body(maxBytes);
    return body.kind === "ok"
      ? await jsonRpcAnswer(
        body.bytes,
        (json) => parts.answerRpc(json, caller),
      )
      : noBody(body, maxBytes);
  } catch (error) {
    return failureAnswer(error, { logger, storage, route: "POST /rpc" });
  }
}

/**
 * Checks the credential of a request. "no" means that none was sent, which is
 * fine for the public methods.
 */
function isCredential(
  headers: HttpHeaders,
  credential: string,
): "yes" | "no" | "wrong" {
  const sent = headers.get("authorization");
  if (sent === undefined) return "no";
  if (credential === "") return "wrong";
  // Both digests have the same length, so the comparison reveals nothing.
  return timingSafeEqual(hashText(sent), hashText(`Bearer ${credential}`))
    ? "yes"
    : "wrong";
}

function hashText(text: string): Uint8Array {
  return createHash("sha256").update(text).digest();
}
