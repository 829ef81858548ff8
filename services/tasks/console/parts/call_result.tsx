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
  Section,
  type Tone,
} from "../../../shared/console/parts.tsx";
import { pairsText } from "./form.tsx";
import type { Texts } from "./page.ts";

/** A call that was made; its `id` is the `webhook-id`. */
type Call = Partial<Texts<never, "id">> & {
  /** How many secrets it was signed with. */
  readonly signatures?: number;
};

/** What came of a call, as the API shows it. */
export type ShownResult = Call & {
  /** What was called, for a worker; the result itself has it for a webhook. */
  readonly call?: Call & Texts<"method" | "url">;
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
  readonly error: Texts<"code" | "message"> | null;
};

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
      <Section id="test-request" title="Request">
        <FactList
          facts={[
            ["Called", call && <code>{`${call.method} ${call.url}`}</code>],
            ["webhook-id", id && <code>{id}</code>],
            ["Signatures", signatures],
          ]}
        />
      </Section>
      <Section id="test-answer" title="Answer">
        {answer === null ? <p class="dim">Nothing came back.</p> : (
          <>
            <FactList facts={[["Status", answer.status]]} />
            {answer.headers === undefined ? null : (
              <Code
                id="test-headers"
                name="Headers"
                text={pairsText(answer.headers, ": ")}
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
      </Section>
    </div>
  );
}
