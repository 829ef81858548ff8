import { assertEquals } from "@std/assert";
import { RecordingLogger } from "../../../tests/support/recording_logger.ts";
import { StoreBusyError } from "../store/store.ts";
import { StoreFailedError } from "../../shared/store_failed.ts";
import { problemOfError } from "./problem_answer.ts";

Deno.test("problemOfError() asks to try again when the store is busy or failed", () => {
  const logger = new RecordingLogger();
  const told = [
    new StoreBusyError(250),
    new StoreFailedError("Cannot write: database or disk is full"),
    new TypeError("x is not a function"),
  ].map((error) => {
    const { code, retryAfterMs } = problemOfError(error, {
      requestId: "req_1",
      logger,
    });
    return [code, retryAfterMs];
  });
  assertEquals(told, [
    ["overloaded", 250],
    ["store_unavailable", 5_000],
    ["internal", undefined],
  ]);
  assertEquals(logger.lines.map(({ level }) => level), ["error", "error"]);
});
