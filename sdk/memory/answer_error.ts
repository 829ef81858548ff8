/**
 * Which error an answer becomes that is no good one.
 *
 * @module
 */

import {
  MemCompatibilityError,
  MemError,
  MemRequestTimeout,
  RateLimitError,
} from "./errors.ts";
import { readServerText, type ServerText, wordOf } from "./server_text.ts";

/** An answer that is no good one, and what it was to. */
export interface FailedAnswer {
  /** The status. */
  readonly status: number;
  /** The header fields. */
  readonly headers: Headers;
  /** The body, or its beginning. */
  readonly body: string;
  /** What was asked for, such as `POST /api/recall`. */
  readonly purpose: string;
  /** Whether the request was signed. */
  readonly isSigned: boolean;
  /** Milliseconds that the request was given. */
  readonly timeoutMs: number;
  /** The time, milliseconds since the Unix epoch. */
  readonly nowMs: number;
}

/** What a message about a redirect ends with. */
export const REDIRECT_HINT =
  "; redirects are not followed, set serverUrl to where the relayer is";

/** Returns the error that a failed answer becomes; its body is the cause. */
export function errorOfAnswer(answer: FailedAnswer): MemError {
  const { status, headers, body, purpose } = answer;
  const said = readServerText(body);
  const authError = wordOf(headers.get("x-auth-error"));
  const options = {
    status,
    serverCode: said.code,
    authError,
    retryAfterSeconds: retryAfterOf(headers, answer.nowMs) ??
      said.retryAfterSeconds,
    ...(body === "" ? {} : { cause: body }),
  };
  if (status === 401) {
    return new MemError(refusal(authError), {
      ...options,
      serverCode: "AUTH_REJECTED",
    });
  }
  const message = `Cannot complete ${purpose}: ${stateOf(answer, said)}`;
  if (status === 426 && answer.isSigned) {
    return new MemCompatibilityError(message, options);
  }
  if (status === 429) {
    return new RateLimitError(message, { ...options, layer: said.layer });
  }
  if (status === 504 && said.code === "RECALL_TIMEOUT") {
    return timeoutOf(answer, said);
  }
  return new MemError(message, options);
}

/** The relayer gives up a little before the client does, and says where. */
function timeoutOf(answer: FailedAnswer, said: ServerText): MemRequestTimeout {
  const { purpose, timeoutMs, body } = answer;
  return new MemRequestTimeout({
    phase: said.stage === undefined ? purpose : `${purpose} (${said.stage})`,
    timeoutMs,
    cause: body,
    serverCode: said.code,
  });
}

/** One text for every refusal: the status alone tells a stranger nothing. */
function refusal(authError: string | undefined): string {
  const reason = authError === undefined ? "" : ` (${authError})`;
  const hint = authError === "ERR_TIMESTAMP_OUT_OF_BOUNDS"
    ? "set this machine's clock"
    : "check key, accountId and serverUrl, and that the account has this " +
      "delegate key";
  return `Cannot authenticate: the relayer refused the request${reason}; ${hint}`;
}

function stateOf(answer: FailedAnswer, said: ServerText): string {
  const { status, headers } = answer;
  const told = said.message === undefined
    ? ""
    : `: ${JSON.stringify(said.message)}`;
  const state = `the relayer answered ${status}${told}`;
  if (status < 300 || status >= 400) return state;
  return state + leadOf(headers.get("location")) + REDIRECT_HINT;
}

/** To which relayer a redirect leads; not its path and query, which may hold secrets. */
function leadOf(location: string | null): string {
  const url = /^https?:\/\/[^/?#\s"@\\]{1,255}(?=[/?#]|$)/i.exec(
    location ?? "",
  );
  return url === null ? "" : ` to "${url[0]}"`;
}

/** Seconds or a date (RFC 9110, section 10.2.3). */
function retryAfterOf(headers: Headers, nowMs: number): number | undefined {
  const text = headers.get("retry-after")?.trim();
  if (text === undefined || text === "") return undefined;
  if (/^\d{1,9}$/.test(text)) return Number(text);
  const dateMs = /GMT$/.test(text) ? Date.parse(text) : NaN;
  if (Number.isNaN(dateMs)) return undefined;
  return Math.max(0, Math.ceil((dateMs - nowMs) / 1000));
}
