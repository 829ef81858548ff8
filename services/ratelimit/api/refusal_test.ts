import { assertEquals } from "@std/assert";
import { FakeClock } from "../../../tests/support/fake_clock.ts";
import { RecordingLogger } from "../../../tests/support/recording_logger.ts";
import { RefusalLog } from "./refusal.ts";

Deno.test("RefusalLog.note() warns once a minute for each kind when requests are refused in a flood", () => {
  const logger = new RecordingLogger();
  const clock = new FakeClock();
  const log = new RefusalLog(logger, clock);
  for (let i = 0; i < 100; i++) log.note("malformed", "bad bytes");
  log.note("invalid", "no domain");
  assertEquals(logger.listMessages("warning").length, 2);
  assertEquals(logger.listMessages("debug").length, 99);
  clock.advance(60_000);
  log.note("malformed", "bad bytes");
  const warnings = logger.lines.filter(({ level }) => level === "warning");
  assertEquals(warnings.length, 3);
  assertEquals(warnings[2]!.fields, {
    why: "malformed",
    reason: "bad bytes",
    sinceLastWarning: 99,
  });
});
