import { assertEquals } from "@std/assert";
import { RecordingLogger } from "../../../tests/support/recording_logger.ts";
import type { ReadinessOutcome } from "./identity_provider.ts";
import { ProviderWatch } from "./provider_watch.ts";

Deno.test("ProviderWatch.check() logs the reason when it changes", async () => {
  const logger = new RecordingLogger();
  let outcome: ReadinessOutcome = { kind: "ok" };
  const watch = new ProviderWatch({
    provider: { check: () => Promise.resolve(outcome) },
    logger,
  });
  assertEquals(await watch.check(), outcome);
  assertEquals(logger.lines, []);
  outcome = { kind: "unavailable", reason: "the answer has status 503" };
  assertEquals(await watch.check(), outcome);
  assertEquals(await watch.check(), outcome);
  outcome = { kind: "refused", reason: "the access token is not taken" };
  assertEquals(await watch.check(), outcome);
  outcome = { kind: "ok" };
  await watch.check();
  await watch.check();
  assertEquals(
    logger.lines.map(({ level, fields }) => [level, fields["reason"]]),
    [
      ["warning", "the answer has status 503"],
      ["warning", "the access token is not taken"],
      ["info", undefined],
    ],
  );
});
