import { assertEquals } from "@std/assert";
import { FakeClock } from "../../tests/support/fake_clock.ts";
import { RecordingLogger } from "../../tests/support/recording_logger.ts";
import { RateLimitedLog } from "./rate_limited_log.ts";

Deno.test("RateLimitedLog.warn() warns once a minute at most", () => {
  const logger = new RecordingLogger();
  const clock = new FakeClock();
  const warning = new RateLimitedLog(logger, clock);
  for (const passedMs of [0, 59_999, 1, 30_000, 30_000]) {
    clock.advance(passedMs);
    warning.warn("Full", { passedMs });
  }
  assertEquals(
    logger.lines.map(({ level, fields }) => [level, fields["passedMs"]]),
    [["warning", 0], ["warning", 1], ["warning", 30_000]],
  );
});
