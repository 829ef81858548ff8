import { assert, assertEquals } from "@std/assert";
import { FakeClock } from "../../tests/support/fake_clock.ts";
import { RecordingLogger } from "../../tests/support/recording_logger.ts";
import {
  createLogger,
  type LogFields,
  type Logger,
  RateLimitedLog,
} from "./logger.ts";

const TIME_MS = Date.UTC(2026, 10, 21, 1, 2, 3, 45);

type LogLevel = Parameters<typeof createLogger>[0]["level"];

Deno.test("createLogger() writes the text form", () => {
  const line = logLine("text", "config loaded", {
    domain: "edge",
    rules: 12,
    ok: true,
    path: "/srv/a b.yaml",
    empty: "",
    missing: undefined,
  });
  assertEquals(
    line,
    'time="2026-11-21T01:02:03.045Z" level=info msg="config loaded" ' +
      'domain=edge rules=12 ok=true path="/srv/a b.yaml" empty=""',
  );
});

Deno.test("createLogger() writes the JSON form", () => {
  const line = logLine("json", "config loaded", {
    domain: "edge",
    rules: 12,
    ok: true,
    ratio: NaN,
    missing: undefined,
  });
  assertEquals(
    line,
    '{"@timestamp":"2026-11-21T01:02:03.045000000Z","level":"info",' +
      '"@message":"config loaded","domain":"edge","rules":12,"ok":true,' +
      '"ratio":"NaN"}',
  );
});

Deno.test("createLogger() lets no input forge a line or a key", () => {
  const evil = 'x" level=error\r\ntime="2000"\u2028\u0085\x1b[2J\u202e';
  for (const format of ["text", "json"] as const) {
    const line = logLine(format, evil, {
      value: evil,
      [evil]: 1,
      "a b=c": "d",
      "": "e",
    });
    assert(!/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(line), line);
  }
  const text = logLine("text", evil, { value: evil, "a b=c": "d", "": "e" });
  const outside = text.replace(/"(?:[^"\\]|\\.)*"/g, '""');
  assertEquals(outside, 'time="" level=info msg="" value="" a_b_c=d _=e');
});

Deno.test("createLogger() never lets a field replace a key of the line", () => {
  const fields = {
    "@message": "m",
    "@timestamp": "t",
    level: "error",
    time: 1,
    msg: "x",
  };
  assertEquals(JSON.parse(logLine("json", "real", fields)), {
    "@message": "real",
    "@timestamp": "2026-11-21T01:02:03.045000000Z",
    level: "info",
    "fields.@message": "m",
    "fields.@timestamp": "t",
    "fields.level": "error",
    time: 1,
    msg: "x",
  });
  assertEquals(
    logLine("text", "real", { level: "error", msg: "x", time: 1 }),
    'time="2026-11-21T01:02:03.045Z" level=info msg="real" ' +
      "fields.level=error fields.msg=x fields.time=1",
  );
});

Deno.test("createLogger() writes JSON that gives back what was logged", () => {
  let message = "";
  for (let code = 0; code < 0x2100; code++) {
    message += String.fromCharCode(code);
  }
  const fields = { [message.slice(0, 300)]: message };
  const parsed: unknown = JSON.parse(
    logLine("json", message, fields, message.length),
  );
  assertEquals(parsed, {
    "@timestamp": "2026-11-21T01:02:03.045000000Z",
    level: "info",
    "@message": message,
    ...fields,
  });
});

Deno.test("createLogger() cuts what is too long", () => {
  for (const format of ["text", "json"] as const) {
    const line = logLine(format, "m".repeat(100_000), {
      v: "v".repeat(100_000),
    });
    assert(line.length < 17_000);
    assert(line.includes("(91808 more characters)"));
  }
});

Deno.test("createLogger() drops lines below its level", () => {
  const kept: readonly (readonly [LogLevel, readonly string[]])[] = [
    ["debug", ["debug", "info", "warning", "error"]],
    ["info", ["info", "warning", "error"]],
    ["warning", ["warning", "error"]],
    ["error", ["error"]],
  ];
  for (const [level, expected] of kept) {
    const { logger, lines } = collect("text", { level });
    logger.debug("");
    logger.info("");
    logger.warn("");
    logger.error("");
    const written = lines.map((line) => /level=(\w+)/.exec(line)?.[1] ?? line);
    assertEquals(written, [...expected]);
  }
});

interface Collected {
  readonly logger: Logger;
  readonly lines: string[];
}

interface CollectOptions {
  readonly level?: LogLevel;
  readonly maxChars?: number;
}

function collect(
  format: "text" | "json",
  options: CollectOptions = {},
): Collected {
  const lines: string[] = [];
  const logger = createLogger({
    format,
    level: "debug",
    clock: { nowMs: () => TIME_MS },
    write: (line) => lines.push(line),
    ...options,
  });
  return { logger, lines };
}

function logLine(
  format: "text" | "json",
  message: string,
  fields: LogFields,
  maxChars = 8192,
): string {
  const { logger, lines } = collect(format, { maxChars });
  logger.info(message, fields);
  assertEquals(lines.length, 1);
  return lines[0] ?? "";
}

Deno.test("RateLimitedLog.warn() warns again when the time of day was set back", () => {
  const logger = new RecordingLogger();
  const clock = new FakeClock();
  let offsetMs = 0;
  const warning = new RateLimitedLog(logger, {
    nowMs: () => clock.nowMs() + offsetMs,
    monotonicMs: () => clock.nowMs(),
    setTimer: clock.setTimer.bind(clock),
  });
  warning.warn("Full", {});
  offsetMs = -3_600_000;
  clock.advance(60_000);
  warning.warn("Full", {});
  assertEquals(logger.lines.length, 2);
});

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
