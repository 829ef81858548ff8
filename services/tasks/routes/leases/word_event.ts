/**
 * From what the holder of a lease says to what happens to the task.
 *
 * @module
 */

import { beginningOf } from "../../engine/json_beginning.ts";
import { cutWith, keptResult } from "../../engine/result.ts";
import type { LeaseProof, TaskEvent } from "../../domain/task_event.ts";
import type { Scrubber } from "../../secrets/scrub.ts";
import type { Word, WordBodies } from "./word_schema.ts";

/** Most characters of an error's message and of a reason. */
const MAX_MESSAGE_CHARS = 2_000;
/** Most characters of a log line. */
const MAX_LINE_CHARS = 1_000;
/** Most characters of an error's detail as JSON text. */
const MAX_DETAIL_CHARS = 8_192;
/**
 * How much of what may be longer is looked at, in characters. A secret may be as
 * long, and what is left of one at the cut is taken out.
 */
const MAX_READ_CHARS = 65_536;

/** The code of failures that have none of their own. */
const DEFAULT_CODE = "failed";
const DEFAULT_MESSAGE = "The worker said no more than that it failed";

/**
 * Makes the event of a word. Secrets are taken out of all that is kept, and only
 * then is it cut to its length: what was cut would not be found.
 */
export function eventOfWord(
  word: Word,
  scrubber: Scrubber | undefined,
): (lease: LeaseProof) => TaskEvent {
  switch (word.action) {
    case "heartbeat":
      return heartbeat(word, scrubber);
    case "complete": {
      const { result } = word;
      const kept = result === undefined || result === null
        ? {}
        : keptResult(result, scrubber === undefined ? {} : { scrubber });
      return (lease) => ({ kind: "complete", lease, ...kept });
    }
    case "fail":
      return fail(word, scrubber);
    case "release": {
      const { delay, reason } = word;
      const kept = {
        ...(delay === undefined ? {} : { delayMs: delay }),
        ...(reason === undefined
          ? {}
          : { reason: cut(beginning(reason, scrubber), MAX_MESSAGE_CHARS) }),
      };
      return (lease) => ({ kind: "release", lease, ...kept });
    }
    case "log": {
      // Together: a secret with line ends, such as a key, fills several lines.
      const lines = clean(word.lines.join("\n"), scrubber).split("\n")
        .map((line) => cut(line, MAX_LINE_CHARS));
      return (lease) => ({ kind: "log", lease, lines });
    }
  }
}

function heartbeat(
  { extend, progress }: WordBodies["heartbeat"],
  scrubber: Scrubber | undefined,
): (lease: LeaseProof) => TaskEvent {
  const said = progress === undefined || progress === null ? {} : {
    progressJson: JSON.stringify(scrubber?.scrubJson(progress) ?? progress),
  };
  const kept = extend === undefined ? said : { ...said, extendMs: extend };
  return (lease) => ({ kind: "heartbeat", lease, ...kept });
}

function fail(
  { error, retry, retry_after: retryAfterMs }: WordBodies["fail"],
  scrubber: Scrubber | undefined,
): (lease: LeaseProof) => TaskEvent {
  const { code, message, detail } = typeof error === "string"
    ? { message: error }
    : error ?? { message: "" };
  const said = beginning(message, scrubber);
  const kept = {
    failure: {
      code: code === undefined ? DEFAULT_CODE : clean(code, scrubber),
      ...(retry ? {} : { isFinal: true }),
    },
    message: said === "" ? DEFAULT_MESSAGE : cut(said, MAX_MESSAGE_CHARS),
    ...(detail === undefined || detail === null
      ? {}
      : { detailJson: keptDetail(detail, scrubber) }),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  };
  return (lease) => ({ kind: "fail", lease, ...kept });
}

/** The detail as JSON text; of a long one the beginning of that text as a string. */
function keptDetail(detail: unknown, scrubber: Scrubber | undefined): string {
  const { value } = beginningOf(detail, {
    maxChars: MAX_READ_CHARS,
    ...(scrubber === undefined ? {} : { cut: cutWith(scrubber) }),
  });
  const cleaned = scrubber === undefined ? value : scrubber.scrubJson(value);
  const json = JSON.stringify(cleaned);
  return json.length <= MAX_DETAIL_CHARS
    ? json
    : JSON.stringify(cut(json, MAX_DETAIL_CHARS));
}

/** The beginning of a text that may be long, without secrets. */
function beginning(text: string, scrubber: Scrubber | undefined): string {
  if (text.length <= MAX_READ_CHARS) return clean(text, scrubber);
  return scrubber === undefined
    ? text.slice(0, MAX_READ_CHARS)
    : cutWith(scrubber)(text, MAX_READ_CHARS);
}

function clean(text: string, scrubber: Scrubber | undefined): string {
  return scrubber === undefined ? text : scrubber.scrubText(text);
}

/** The beginning of a text; no half of a character is left at its end. */
function cut(text: string, maxChars: number): string {
  return text.length <= maxChars
    ? text
    : `${text.slice(0, maxChars - 1).toWellFormed()}…`;
}
