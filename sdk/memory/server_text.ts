/**
 * What the relayer says of its own trouble, made fit for an error's message.
 *
 * @module
 */

import { isObject } from "./answer_reader.ts";

/** The parts of an error body that the client knows. */
export interface ServerText {
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
export function readServerText(body: string): ServerText {
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
export function wordOf(value: unknown): string | undefined {
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
