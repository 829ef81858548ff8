/**
 * Makes the relayer's error texts safe to show, and turns a failed answer into
 * an error of the client.
 *
 * @module
 */

import { isObject } from "./answer_reader.ts";
import {
  MemCompatibilityError,
  MemError,
  type MemErrorOptions,
  MemRequestTimeout,
  RateLimitError,
  UNEXPECTED_ANSWER,
} from "./errors.ts";

/** An answer whose status is not accepted, and the request that it answers. */
interface FailedAnswer {
  /** The status. */
  readonly status: number;
  /** The header fields. */
  readonly headers: Headers;
  /** The body, or its beginning. */
  readonly body: string;
  /** The request, such as `POST /api/recall`. */
  readonly purpose: string;
  /** Whether the request was signed. */
  readonly isSigned: boolean;
  /** Timeout of the request in milliseconds. */
  readonly timeoutMs: number;
  /** The time, milliseconds since the Unix epoch. */
  readonly nowMs: number;
}

/** The end of an error message about a redirect. */
export const REDIRECT_HINT =
  "; redirects are not followed, set serverUrl to where the relayer is";

/**
 * Returns the error for a failed answer; the answer's body is the error's
 * cause.
 */
export function errorOfAnswer(answer: FailedAnswer): MemError {
  const { status, headers, body, purpose } = answer;
  const said = readServerText(body);
  const authError = readWord(headers.get("x-auth-error"));
  const options = {
    status,
    serverCode: said.code,
    authError,
    retryAfterSeconds: parseRetryAfter(headers, answer.nowMs) ??
      said.retryAfterSeconds,
    ...(body === "" ? {} : { cause: body }),
  };
  const message = `Cannot complete ${purpose}: ${describeState(answer, said)}`;
  if (status === 429) {
    return new RateLimitError(message, { ...options, layer: said.layer });
  }
  // Older relayers refuse a signature without a body.
  if (status >= 400 && status < 500 && body !== "" && !said.isJson) {
    return unexpectedAnswer(purpose, options);
  }
  if (status === 401) {
    const isToken = /\berror="invalid_token"/.test(
      headers.get("www-authenticate") ?? "",
    );
    return new MemError(
      refusal(authError, isToken ? said.message : undefined),
      {
        ...options,
        serverCode: "AUTH_REJECTED",
      },
    );
  }
  if (status === 426 && answer.isSigned) {
    return new MemCompatibilityError(message, options);
  }
  if (status === 504 && said.code === "RECALL_TIMEOUT") {
    return toTimeout(answer, said);
  }
  return new MemError(message, options);
}

/**
 * Returns the error for an answer that is not the relayer's. A proxy answers so
 * while a relayer is replaced.
 */
export function unexpectedAnswer(
  purpose: string,
  options: MemErrorOptions,
): MemError {
  return new MemError(
    `Cannot complete ${purpose}: something else than a relayer answered ` +
      `${options.status}; check serverUrl`,
    { ...options, serverCode: UNEXPECTED_ANSWER },
  );
}

/**
 * The relayer's deadline is a little before the client's, and its answer says
 * at which stage it passed.
 */
function toTimeout(answer: FailedAnswer, said: ServerText): MemRequestTimeout {
  const { purpose, timeoutMs, body } = answer;
  return new MemRequestTimeout({
    phase: said.stage === undefined ? purpose : `${purpose} (${said.stage})`,
    timeoutMs,
    cause: body,
    serverCode: said.code,
  });
}

/**
 * Returns the message for a refused signature. All refusals share one message,
 * because the status alone does not tell a stranger the reason; the bearer of
 * an access token is told by the relayer.
 */
function refusal(
  authError: string | undefined,
  told: string | undefined,
): string {
  const reason = authError === undefined ? "" : ` (${authError})`;
  if (told !== undefined) {
    return `Cannot authenticate: the relayer refused the request${reason}: ` +
      JSON.stringify(told);
  }
  const hint = authError === "ERR_TIMESTAMP_OUT_OF_BOUNDS"
    ? "set this machine's clock"
    : "check key, accountId and serverUrl, and that the account has this " +
      "delegate key";
  return `Cannot authenticate: the relayer refused the request${reason}; ${hint}`;
}

function describeState(answer: FailedAnswer, said: ServerText): string {
  const { status, headers } = answer;
  const told = said.message === undefined
    ? ""
    : `: ${JSON.stringify(said.message)}`;
  const state = `the relayer answered ${status}${told}`;
  if (status < 300 || status >= 400) return state;
  return state + formatRedirect(headers.get("location")) + REDIRECT_HINT;
}

/**
 * Returns the URL of the relayer that a redirect points to, without path and
 * query, which may hold secrets.
 */
function formatRedirect(location: string | null): string {
  const url = /^https?:\/\/[^/?#\s"@\\]{1,255}(?=[/?#]|$)/i.exec(
    location ?? "",
  );
  return url === null ? "" : ` to "${url[0]}"`;
}

/**
 * Reads `Retry-After`, which holds seconds or a date (RFC 9110, section
 * 10.2.3), as seconds.
 */
function parseRetryAfter(headers: Headers, nowMs: number): number | undefined {
  const text = headers.get("retry-after")?.trim();
  if (text === undefined || text === "") return undefined;
  if (/^\d{1,9}$/.test(text)) return Number(text);
  const dateMs = /GMT$/.test(text) ? Date.parse(text) : NaN;
  if (Number.isNaN(dateMs)) return undefined;
  return Math.max(0, Math.ceil((dateMs - nowMs) / 1000));
}

/** The parts of an error body that the client knows. */
interface ServerText {
  /** Whether the body is a JSON object, as those of relayers are. */
  readonly isJson: boolean;
  /**
   * The error's message, shortened and masked; undefined when it has no message.
   */
  readonly message: string | undefined;
  /** The relayer's error code. */
  readonly code: string | undefined;
  /** The stage that the relayer was at when its deadline passed. */
  readonly stage: string | undefined;
  /** The rate limit that was exceeded. */
  readonly layer: string | undefined;
  /** Seconds after which the relayer allows another request. */
  readonly retryAfterSeconds: number | undefined;
}

const MAX_CHARS = 200;
const MAX_WORD_CHARS = 64;

/**
 * Matches a URL, or a host and port, on the machine itself. They are masked,
 * because the addresses of a relayer's internal services are no concern of its
 * clients.
 */
const LOOPBACK =
  /(?:\b[a-z][a-z+.-]{0,15}:\/\/(?:[^\s"'<>@/]{0,64}@)?(?:localhost|127\.[\d.]+|0\.0\.0\.0|\[::1?\])|(?:\blocalhost|\b127\.[\d.]+|\b0\.0\.0\.0|\[::1?\])(?=:\d))(?::\d+)?[^\s"'<>]*/gi;

/**
 * Matches control and format characters that a terminal or a line-based reader
 * might act on: Unicode's categories Cc, Cf, Zl and Zp. They are listed, since
 * older versions of React Native read no module that has `\p` in a pattern.
 */
const UNSEEN =
  // deno-lint-ignore no-control-regex -- they are what it looks for
  /[\0-\x1f\x7f-\x9f\xad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u180e\u200b-\u200f\u2028-\u202e\u2060-\u2064\u2066-\u206f\ufeff\ufff9-\ufffb\u{110bd}\u{110cd}\u{13430}-\u{1343f}\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0001}\u{e0020}-\u{e007f}]+/gu;

/**
 * Reads an error body; the result is empty when the body is not a JSON object.
 */
function readServerText(body: string): ServerText {
  const parsed = parse(body);
  const json = parsed ?? {};
  const message = [json["message"], json["error"], json["code"]]
    .find(isText);
  const retryAfter = json["retry_after_seconds"];
  return {
    isJson: parsed !== undefined,
    message: message === undefined ? undefined : presentable(message),
    code: readWord(json["code"]),
    stage: readWord(json["stage"]),
    layer: readWord(json["layer"]),
    retryAfterSeconds: typeof retryAfter === "number" && retryAfter >= 0 &&
        Number.isFinite(retryAfter)
      ? retryAfter
      : undefined,
  };
}

/**
 * Returns a text in one line of at most 200 characters, addresses on the
 * relayer's own machine masked.
 */
export function presentable(text: string): string {
  const line = text.replace(LOOPBACK, "[internal address]")
    .replace(UNSEEN, " ").trim();
  const characters = [...line.slice(0, 2 * MAX_CHARS + 2)];
  return characters.length <= MAX_CHARS
    ? line
    : `${characters.slice(0, MAX_CHARS - 1).join("")}…`;
}

/** Returns any value as a quoted text for a message: one line, not too long. */
export function quote(value: unknown): string {
  return JSON.stringify(presentable(String(value)));
}

/** Returns a word that names something; undefined when it is not a word. */
function readWord(value: unknown): string | undefined {
  if (typeof value !== "string" || value.length > MAX_WORD_CHARS) {
    return undefined;
  }
  return /^[\w.:-]+$/.test(value) ? value : undefined;
}

function parse(body: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const json: unknown = JSON.parse(body);
    return isObject(json) ? json : undefined;
  } catch {
    return undefined;
  }
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value.trim() !== "";
}
