/**
 * A thread that remembers and recalls large texts for one owner. It is a thread
 * of its own so that the client's work on these texts does not count in the
 * times measured for the other owner.
 *
 * @module
 */

import { Mem } from "../../../mod.ts";
import type { BenchAccount } from "./bench_relayer.ts";
import { memoryText, question } from "./memory_texts.ts";

/** Describes the calls that the thread makes. */
export interface LargeTextsJob extends BenchAccount {
  /** Where the relayer listens. */
  readonly url: string;
  /** The call that is made. */
  readonly call: "remember" | "recall";
  /** How many calls are under way at a time. */
  readonly parallel: number;
  /**
   * For how long new calls are begun, in milliseconds; 0 for a single round of
   * them.
   */
  readonly forMs: number;
}

/** The result of a job. */
export interface LargeTextsResult {
  /** Calls that were answered. */
  readonly calls: number;
  /** Characters of text that were sent or received. */
  readonly chars: number;
  /** How long the job took, in milliseconds. */
  readonly tookMs: number;
}

/** The message with which the thread answers a job. */
export type LargeTextsReply =
  | { readonly kind: "ok"; readonly result: LargeTextsResult }
  | { readonly kind: "failed"; readonly message: string };

const TEXT_CHARS = 1_048_000;

/** The part of a worker's global scope that this thread uses. */
interface WorkerScope {
  onmessage: ((event: MessageEvent<LargeTextsJob>) => void) | null;
  postMessage(reply: LargeTextsReply): void;
}

serve(self as unknown as WorkerScope);

function serve(scope: WorkerScope): void {
  scope.onmessage = ({ data }) => {
    void run(data).then(
      (result) => scope.postMessage({ kind: "ok", result }),
      (error) => scope.postMessage({ kind: "failed", message: String(error) }),
    );
  };
}

async function run(job: LargeTextsJob): Promise<LargeTextsResult> {
  const { url: serverUrl, key, accountId, call, parallel, forMs } = job;
  const mem = Mem.create({
    ...{ serverUrl, key, accountId },
    recallTimeoutMs: 60_000,
    requestTimeoutMs: 60_000,
  });
  const texts = call === "remember"
    ? Array.from({ length: parallel }, (_, at) => largeText(at))
    : [];
  const startedMs = performance.now();
  let [calls, chars] = [0, 0];
  const work = async (at: number): Promise<void> => {
    do {
      if (call === "remember") {
        await mem.remember(texts[at] ?? "");
        chars += TEXT_CHARS;
      } else {
        const { results } = await mem.recall({ query: question(at) });
        for (const { text } of results) chars += text.length;
      }
      calls++;
    } while (performance.now() - startedMs < forMs);
  };
  await Promise.all(Array.from({ length: parallel }, (_, at) => work(at)));
  mem.destroy();
  return { calls, chars, tookMs: performance.now() - startedMs };
}

/** A text of about a megabyte: many notes in a row. */
function largeText(number: number): string {
  const notes: string[] = [];
  let chars = 0;
  for (let at = 100_000 * number; chars < TEXT_CHARS; at++) {
    const note = `${memoryText(at)}${at % 8 === 0 ? "\n" : " "}`;
    notes.push(note);
    chars += note.length;
  }
  return notes.join("").slice(0, TEXT_CHARS);
}
