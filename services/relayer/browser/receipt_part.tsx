/**
 * A receipt, and whether the relayer has signed it, which is checked here.
 *
 * @module
 */

import type { VNode } from "preact";
import type { Receipt, ReceiptCheck } from "../../../mod.ts";
import { Badge, Code, FactList } from "../../shared/console/parts.tsx";
import type { Session } from "./session.ts";
import { Instant, Outcome, useLoaded } from "./view.tsx";

/** Why a receipt proves nothing. */
const REASONS = {
  malformed: "it does not have the form of a receipt",
  unknown_key: "the relayer names no such key",
  bad_signature: "the signature is not that of the key",
  other_owner: "it is for another owner",
  other_content: "it is for another text",
} as const;

/** Shows a receipt, checked; says so where there is none. */
export function ReceiptPart(
  { session, of: { receipt, content_salt }, text }: {
    readonly session: Session;
    /** What came with the receipt. */
    readonly of: {
      readonly receipt?: Receipt;
      readonly content_salt?: string;
    };
    /** The text that it is compared with. @default it is not compared */
    readonly text?: string | undefined;
  },
): VNode {
  if (receipt === undefined) {
    return <p class="dim">The relayer has no receipt of it any longer.</p>;
  }
  return (
    <CheckedReceipt
      session={session}
      receipt={receipt}
      salt={content_salt}
      text={text}
    />
  );
}

function CheckedReceipt(
  { session: { mem, owner }, receipt, salt, text }: {
    readonly session: Session;
    readonly receipt: Receipt;
    readonly salt: string | undefined;
    readonly text: string | undefined;
  },
): VNode {
  const isCompared = text !== undefined && salt !== undefined;
  const call = useLoaded<ReceiptCheck>(
    `${receipt.signature} ${isCompared}`,
    () =>
      mem.verifyReceipt(receipt, {
        owner,
        ...(isCompared ? { text, contentSalt: salt } : {}),
      }),
  );
  return (
    <div class="section">
      <Outcome call={call} busy="Checking the receipt…">
        {(check) => (
          <FactList
            facts={[
              [
                "Receipt",
                check.kind === "ok"
                  ? (
                    <Badge tone="good">
                      {isCompared
                        ? "genuine, and of this text"
                        : "genuine; the text was not compared"}
                    </Badge>
                  )
                  : (
                    <Badge tone="bad">
                      {`proves nothing: ${REASONS[check.reason]}`}
                    </Badge>
                  ),
              ],
              ["For", receipt.kind],
              ["At", <Instant at={receipt.time_ms} />],
            ]}
          />
        )}
      </Outcome>
      <details class="more">
        <summary>The receipt as it is</summary>
        <Code
          id={`receipt-${receipt.kind}`}
          name="receipt"
          text={JSON.stringify(receipt, null, 2)}
          wraps
        />
        {salt === undefined ? null : (
          <Code
            id={`salt-${receipt.kind}`}
            name="content salt"
            text={salt}
            wraps
          />
        )}
      </details>
    </div>
  );
}
