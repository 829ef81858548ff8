import { experimental, logVerbosity, setLogVerbosity } from "@grpc/grpc-js";
import { assertEquals } from "@std/assert";
import { RecordingLogger } from "../../../tests/support/recording_logger.ts";
import { GRPC_JS_ENVIRONMENT } from "./grpc_js_environment.ts";
import { forwardGrpcJsLog } from "./grpc_js_log.ts";

Deno.test("forwardGrpcJsLog() sends the library's lines to the last logger given", () => {
  const first = new RecordingLogger();
  const second = new RecordingLogger();
  setLogVerbosity(logVerbosity.DEBUG);
  try {
    forwardGrpcJsLog(first);
    forwardGrpcJsLog(second);
    experimental.log(logVerbosity.ERROR, "it", 1);
    experimental.log(logVerbosity.INFO, "told");
    experimental.log(logVerbosity.DEBUG, "details");
    // Nowhere to send them: nothing may fail.
    forwardGrpcJsLog(undefined);
    experimental.log(logVerbosity.ERROR, "lost");
  } finally {
    setLogVerbosity(logVerbosity.ERROR);
  }
  const fields = { source: "grpc-js" };
  assertEquals(first.lines, []);
  assertEquals(second.lines, [
    { level: "error", message: "it 1", fields },
    { level: "info", message: "told", fields },
    { level: "debug", message: "details", fields },
  ]);
});

Deno.test("GRPC_JS_ENVIRONMENT names each variable once, in order", () => {
  assertEquals(
    GRPC_JS_ENVIRONMENT,
    [...new Set(GRPC_JS_ENVIRONMENT)].sort(),
  );
});
