/**
 * What a page says about the action that led to it. The address has a code and
 * numbers, so that no link can make a page say anything else.
 *
 * @module
 */

import type { Tone } from "../../shared/console/parts.tsx";

const TEXTS: Readonly<Record<string, string>> = {
  signed_out: "You are signed out.",
  run: "The task runs as soon as its worker takes it.",
  retry: "The task is tried again.",
  cancel: "The task is canceled.",
  pause: "The task is paused.",
  resume: "The task goes on.",
  event: "The event is sent: the task goes on if it waits for it.",
  approve: "It is approved: the task goes on.",
  reject: "It is rejected: the task goes on with that.",
  remove: "The task and its history are removed.",
  skip: "The schedule leaves out that day.",
  created: "It is created.",
  removed: "It is removed.",
  revoked: "The key is revoked: it no longer works.",
  worker_pause: "The worker is paused: it is given nothing.",
  worker_resume: "The worker goes on.",
  saved: "The changes are saved.",
  redelivered: "The event is sent again.",
  bulk:
    "{changed} changed, {unchanged} needed no change, {failed} could not be " +
    "changed.",
};

/** The text for the code `done` of a query; undefined without a known code. */
export function flashText(
  query: URLSearchParams,
): { readonly text: string; readonly tone: Tone } | undefined {
  const text = TEXTS[query.get("done") ?? ""];
  if (text === undefined) return undefined;
  return {
    text: text.replaceAll(
      /\{([a-z]+)\}/g,
      (_, name: string) => String(Number(query.get(name) ?? 0) || 0),
    ),
    tone: Number(query.get("failed") ?? 0) > 0 ? "warn" : "good",
  };
}
