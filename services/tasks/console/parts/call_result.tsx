/**
 * What came of a test call to a worker or a webhook.
 *
 * @module
 */

import type { VNode } from "preact";
import {
  Badge,
  Code,
  FactList,
  formatLength,
  Note,
  type Tone,
} from "../../../shared/console/parts.tsx";

/** What came of a call, as the API shows it. */
export interface ShownResult {
  /** The `webhook-id` of a call to a webhook. */
  readonly id?: string;
  /** How many secrets a call to a webhook was signed with. */
  readonly signatures?: number;
  /** What was called, for a worker. */
  readonly call?: {
    /** The method. */
    readonly method: string;
    /** Where it was called. */
    readonly url: string;
    /** The `webhook-id`. */
    readonly id: string | null;
    /** How many secrets it was signed with. */
    readonly signatures: number;
  };
  /** Whether it was taken. */
  readonly outcome: "succeeded" | "accepted" | "delivered" | "failed";
  /** Milliseconds; null when nothing was called. */
  readonly duration: number | null;
  /** What came back; null when nothing did. */
  readonly answer: {
    /** The HTTP status. */
    readonly status: number;
    /** The headers; those of webhooks are not shown. */
    readonly headers?: Readonly<Record<string, string>>;
    /** The beginning of the body. */
    readonly body: string;
    /** Whether the body is longer. */
    readonly truncated: boolean;
  } | null;
  /** Why it failed; null when it did not. */
  readonly error: { readonly code: string; readonly message: string } | null;
}

const TONES: Readonly<Record<ShownResult["outcome"], Tone>> = {
  succeeded: "good",
  delivered: "good",
  accepted: "busy",
  failed: "bad",
};

/** Shows what came of a call. */
export function CallResult(
  { result: { call, outcome, duration, answer, error, ...sent } }: {
    readonly result: ShownResult;
  },
): VNode {
  const { id, signatures } = call ?? sent;
  return (
    <div>
      <Note tone={TONES[outcome]}>
        <p class="lead" role="status">
          <Badge tone={TONES[outcome]}>{outcome}</Badge>
          {duration === null ? null : ` after ${formatLength(duration)}`}
        </p>
        {error === null ? null : <p>{`${error.code}: ${error.message}`}</p>}
      </Note>
      <section aria-labelledby="test-request">
        <h2 id="test-request">Request</h2>
        <FactList
          facts={[
            ["Called", call && <code>{`${call.method} ${call.url}`}</code>],
            ["webhook-id", id && <code>{id}</code>],
            ["Signatures", signatures],
          ]}
        />
      </section>
      <section aria-labelledby="test-answer">
        <h2 id="test-answer">Answer</h2>
        {answer === null ? <p class="dim">Nothing came back.</p> : (
          <>
            <FactList facts={[["Status", answer.status]]} />
            {answer.headers === undefined ? null : (
              <Code
                id="test-headers"
                name="Headers"
                text={Object.entries(answer.headers)
                  .map(([name, value]) => `${name}: ${value}`).join("\n")}
              />
            )}
            {answer.body === "" ? <p class="dim">It had no body.</p> : (
              <Code
                id="test-body"
                name={answer.truncated ? "Body, its beginning" : "Body"}
                text={answer.body}
                wraps
              />
            )}
          </>
        )}
      </section>
    </div>
  );
}
