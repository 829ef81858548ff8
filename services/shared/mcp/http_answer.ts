/**
 * Answers requests over HTTP with one body of JSON when the answer comes soon
 * and alone, and else with a stream of events.
 *
 * @module
 */

import type { Clock } from "../clock.ts";
import type { HttpResponse } from "../http/exchange.ts";
import type { EventStream } from "./event_stream.ts";
import { ACCEPTED, type Accepted, jsonResponse } from "./http_messages.ts";
import type { RpcAnswer, SentNotification } from "./messages.ts";

/** Options of {@linkcode answerSoonOrStream}. */
interface SoonOrStreamOptions {
  /**
   * Carries out the requests; never rejects. `notify` takes notifications that
   * come before the answers.
   */
  readonly work: (
    notify: (notification: SentNotification) => void,
  ) => Promise<readonly RpcAnswer[]>;
  /** Which forms the client takes. */
  readonly accepted: Accepted;
  /** Whether several answers go back as one list. */
  readonly isBatch: boolean;
  /** Opens the stream. */
  readonly openStream: () => EventStream;
  /** The status of an answer that comes alone. */
  readonly status: (answer: RpcAnswer) => number;
  /** Header fields of the response. */
  readonly headers: Readonly<Record<string, string>>;
  /** Sets the timer of `slowMs`. */
  readonly clock: Clock;
  /**
   * After how many milliseconds a stream begins, so that comments keep the
   * connection open.
   */
  readonly slowMs: number;
}

/** Carries out requests and answers them; see the module's description. */
export async function answerSoonOrStream(
  options: SoonOrStreamOptions,
): Promise<HttpResponse> {
  const { accepted, isBatch, openStream, headers, clock } = options;
  const opened = Promise.withResolvers<"stream">();
  let stream: EventStream | undefined;
  let isAnswered = false;
  const open = (): EventStream => {
    stream ??= openStream();
    opened.resolve("stream");
    return stream;
  };
  const working = options.work((notification) => {
    if (accepted.events && !isAnswered) open().notify(notification);
  });
  if (!accepted.json) open();
  const timer = accepted.events
    ? clock.setTimer(open, options.slowMs)
    : undefined;
  const first = await Promise.race([working, opened.promise]);
  timer?.cancel();
  if (first !== "stream" && stream === undefined) {
    isAnswered = true;
    const [answer] = first;
    if (answer === undefined) return ACCEPTED;
    return isBatch
      ? jsonResponse(200, first, headers)
      : jsonResponse(options.status(answer), answer, headers);
  }
  const streaming = open();
  void working.then((answers) => {
    for (const answer of answers) streaming.answer(answer);
    streaming.end();
  });
  return streaming.response({ headers });
}
