/**
 * What the relayer says of its own trouble, made fit for a message, and which error
 * an answer becomes that is no good one.
 *
 * @module
 */

import { isObject } from "./answer_reader.ts";
import {
  MemCompatibilityError,
  MemError,
  MemRequestTimeout,
  RateLimitError,
} from "./errors.ts";

/** An answer that is no good one, and what it was to. */
interface FailedAnswer {
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

/**
 * To which relayer a redirect leads; not its path and query, which may hold
 * secrets.
 */
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

/** The parts of an error body that the client knows. */
interface ServerText {
  /** What it says, cut and masked; undefined when it says nothing. */
  readonly message: string | undefined;
  /** Its word for what is wrong. */
  readonly code: string | undefined;
  /** Where it was when it gave up. */
  readonly stage: string | undefined;
  /** Which rate limit was met. */
  readonly layer: string | undefined;
  /** Seconds after which it wants to be asked again. */
  readonly retryAfterSeconds: number | undefined;
}

const MAX_CHARS = 200;
const MAX_WORD_CHARS = 64;

/**
 * A URL, or a host and port, on the machine itself: where a relayer's own parts
 * listen is no business of its clients.
 */
const LOOPBACK =
  /(?:\b[a-z][a-z+.-]{0,15}:\/\/(?:[^\s"'<>@/]{0,64}@)?(?:localhost|127\.[\d.]+|0\.0\.0\.0|\[::1?\])|(?:\blocalhost|\b127\.[\d.]+|\b0\.0\.0\.0|\[::1?\])(?=:\d))(?::\d+)?[^\s"'<>]*/gi;

/** What a terminal or a reader of lines might act on. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu;

/** Reads an error body; one that is no JSON object says nothing. */
function readServerText(body: string): ServerText {
  const json = parse(body);
  const message = [json["message"], json["error"], json["code"]]
    .find(isText);
  const retryAfter = json["retry_after_seconds"];
  return {
    message: message === undefined ? undefined : presentable(message),
    code: wordOf(json["code"]),
    stage: wordOf(json["stage"]),
    layer: wordOf(json["layer"]),
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
function wordOf(value: unknown): string | undefined {
  if (typeof value !== "string" || value.length > MAX_WORD_CHARS) {
    return undefined;
  }
  return /^[\w.:-]+$/.test(value) ? value : undefined;
}

function parse(body: string): Readonly<Record<string, unknown>> {
  try {
    const json: unknown = JSON.parse(body);
    return isObject(json) ? json : {};
  } catch {
    return {};
  }
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value.trim() !== "";
}
