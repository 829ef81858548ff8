/**
 * The program of the worker thread that encrypts and opens owners' keys; the
 * relayer's side of it is key_thread.ts.
 *
 * @module
 */

import { describeError } from "../../shared/settled.ts";
import { DirectKeyOpening, type KeyOpening } from "./key_opening.ts";
import type { KeyThreadAnswer, KeyThreadRequest } from "./key_thread.ts";

/** The part of the worker's global scope that passes messages. */
interface KeyThreadScope {
  /** Receives a request. */
  onmessage: ((event: MessageEvent<KeyThreadRequest>) => void) | null;
  /** Sends the answer to a request. */
  postMessage(answer: KeyThreadAnswer): void;
}

serveKeys(globalThis as unknown as KeyThreadScope);

function serveKeys(scope: KeyThreadScope): void {
  let opening: KeyOpening | undefined;
  scope.onmessage = async ({ data }) => {
    if (data.kind === "servers") {
      opening = new DirectKeyOpening(data.servers);
      return;
    }
    scope.postMessage(await answerRequest(data, opening));
  };
}

async function answerRequest(
  asked: Exclude<KeyThreadRequest, { readonly kind: "servers" }>,
  opening: KeyOpening | undefined,
): Promise<KeyThreadAnswer> {
  const { number } = asked;
  try {
    if (opening === undefined) throw new Error("there are no key servers");
    if (asked.kind === "encrypt") {
      const bytes = await opening.encrypt(asked.request);
      return { kind: "encrypted", number, bytes };
    }
    const outcome = await opening.open(asked.request);
    return { kind: "opened", number, outcome };
  } catch (error) {
    return { kind: "failed", number, reason: describeError(error) };
  }
}
