/**
 * Every operation of a client that sends something.
 *
 * @module
 */

import type { Mem } from "../mem.ts";

/** A call, by the name of its operation. */
export type Call = readonly [
  name: string,
  call: (mem: Mem) => Promise<unknown>,
];

/** One call of each operation that sends something. */
export const ALL_CALLS: readonly Call[] = [
  ["remember", (mem) => mem.remember("t")],
  ["rememberAsync", (mem) => mem.rememberAsync("t")],
  ["rememberAndWait", (mem) => mem.rememberAndWait("t")],
  ["getRememberStatus", (mem) => mem.getRememberStatus("j1")],
  ["waitForRememberJob", (mem) => mem.waitForRememberJob("j1")],
  ["rememberBulk", (mem) => mem.rememberBulk([{ text: "t" }])],
  ["rememberBulkAsync", (mem) => mem.rememberBulkAsync([{ text: "t" }])],
  ["rememberBulkAndWait", (mem) => mem.rememberBulkAndWait([{ text: "t" }])],
  ["getRememberBulkStatus", (mem) => mem.getRememberBulkStatus(["j1"])],
  ["waitForRememberJobs", (mem) => mem.waitForRememberJobs(["j1", "j2"])],
  ["recall", (mem) => mem.recall({ query: "q" })],
  ["analyze", (mem) => mem.analyze("t")],
  ["analyzeAndWait", (mem) => mem.analyzeAndWait("t")],
  ["ask", (mem) => mem.ask("q")],
  ["restore", (mem) => mem.restore("n")],
  ["forget", (mem) => mem.forget("n")],
  ["deleteMemory", (mem) => mem.deleteMemory("m")],
  ["stats", (mem) => mem.stats()],
  ["whoami", (mem) => mem.whoami()],
  ["listNamespaces", (mem) => mem.listNamespaces()],
  ["listMemories", (mem) => mem.listMemories()],
  ["health", (mem) => mem.health()],
  ["compatibility", (mem) => mem.compatibility()],
  [
    "rememberManual",
    (mem) =>
      mem.rememberManual({ encryptedData: Uint8Array.of(1), vector: [1] }),
  ],
  ["recallManual", (mem) => mem.recallManual({ vector: [1] })],
  ["embed", (mem) => mem.embed("t")],
];
