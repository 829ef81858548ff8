import { assertEquals } from "@std/assert";
import { RecordingLogger } from "../../../tests/support/recording_logger.ts";
import type { EmbedOutcome } from "./embedder.ts";
import { WatchedEmbedder } from "./watched_embedder.ts";

/** Makes a watched embedder that answers with these outcomes in turn. */
function watched(...outcomes: readonly EmbedOutcome[]): WatchedEmbedder {
  const left = [...outcomes];
  return new WatchedEmbedder({
    width: 3,
    model: "m",
    embed: () => Promise.resolve(left.shift()!),
  });
}

const OK: EmbedOutcome = { kind: "ok", vectors: [Float32Array.of(1, 0, 0)] };
const AWAY = { kind: "unavailable", reason: "down", isPassing: true } as const;

Deno.test("WatchedEmbedder.state tells whether vectors were made the last time", async () => {
  const embedder = watched(AWAY, { ...AWAY, isMisfit: true }, OK);
  assertEquals(embedder.state, { state: "ready" });
  const states: string[] = [];
  for (let i = 0; i < 3; i++) {
    await embedder.embed(["a"]);
    states.push(embedder.state.state);
  }
  assertEquals(states, ["away", "misfit", "ready"]);
});

Deno.test("WatchedEmbedder.state stays as it is when a text is refused or a call is ended", async () => {
  const embedder = watched({ ...AWAY, isPassing: false }, AWAY);
  await embedder.embed(["a"]);
  await embedder.embed(["a"], { signal: AbortSignal.abort() });
  assertEquals(embedder.state, { state: "ready" });
});

Deno.test("WatchedEmbedder.probe() logs why no vectors are made, once, and nothing when they are", async () => {
  const logger = new RecordingLogger();
  const { signal } = new AbortController();
  await watched(OK).probe({ logger, signal });
  assertEquals(logger.lines, []);
  await watched(AWAY).probe({ logger, signal });
  assertEquals(logger.lines.map(({ level, fields }) => [level, fields]), [
    ["error", { reason: "down" }],
  ]);
});
