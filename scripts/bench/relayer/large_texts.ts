/**
 * Remembers and recalls large texts for an owner, in a thread of its own, so that
 * what it takes to read them does not count for the other owner.
 *
 * @module
 */

import { Mem } from "../../../mod.ts";
import type { BenchAccount } from "./bench_relayer.ts";
import { memoryText, question } from "./memory_texts.ts";

/** What is to be done. */
export interface LargeTextsJob extends BenchAccount {
  /** Where the relayer listens. */
  readonly url: string;
  /** What is called. */
  readonly call: "remember" | "recall";
  /** How many calls are under way at a time. */
  readonly parallel: number;
  /** How long calls are begun, in milliseconds; 0 for one round of them. */
  readonly forMs: number;
}

/** What came of it. */
export interface LargeTextsResult {
  /** Calls that were answered. */
  readonly calls: number;
  /** Bytes of text that were sent or came back. */
  readonly chars: number;
  /** How long it took, in milliseconds. */
  readonly tookMs: number;
}

/** What the thread answers. */
export type LargeTextsReply =
  | { readonly kind: "ok"; readonly result: LargeTextsResult }
  | { readonly kind: "failed"; readonly message: string };

const TEXT_CHARS = 1_048_000;

/** What a thread knows of the one that started it. */
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

/** A diary of a megabyte. */
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
