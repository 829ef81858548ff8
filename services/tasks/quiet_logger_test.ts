import { assertEquals } from "@std/assert";
import { FakeClock } from "../../tests/support/fake_clock.ts";
import { RecordingLogger } from "../../tests/support/recording_logger.ts";
import { quietLogger } from "./quiet_logger.ts";

Deno.test("quietLogger() tells the same fault once in ten seconds, and how often it was", () => {
  const clock = new FakeClock();
  const recording = new RecordingLogger();
  const logger = quietLogger(recording, clock);
  for (let second = 0; second < 25; second++) {
    for (let index = 0; index < 4; index++) {
      logger.error("Cannot write", {
        request: `${second} ${index}`,
        error: "full",
      });
    }
    clock.advance(1_000);
  }
  assertEquals(
    recording.lines.map(({ fields }) => [
      fields?.["request"],
      fields?.["repeated"],
    ]),
    [["0 0", undefined], ["10 0", 39], ["20 0", 39]],
  );
});

Deno.test("quietLogger() passes on what differs, and all that is no fault", () => {
  const recording = new RecordingLogger();
  const logger = quietLogger(recording, new FakeClock());
  logger.error("Cannot write", { error: "full" });
  logger.error("Cannot write", { error: "broken" });
  logger.warn("Cannot write", { error: "full" });
  logger.error("Cannot read", { error: "full" });
  for (let index = 0; index < 3; index++) {
    logger.info("started");
    logger.debug("looked");
  }
  assertEquals(recording.lines.length, 10);
});
