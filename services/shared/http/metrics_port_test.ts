import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { FakeClock } from "../../../tests/support/fake_clock.ts";
import { RecordingLogger } from "../../../tests/support/recording_logger.ts";
import { RawClient } from "../http1/testing/raw_client.ts";
import { metricsPart } from "./metrics_port.ts";

const TEXT = "answers_total 3\n";

/** Runs the port on a free one while `use` runs. */
async function withMetrics(
  use: (port: number, logger: RecordingLogger) => Promise<void>,
): Promise<void> {
  const logger = new RecordingLogger();
  const part = metricsPart({
    service: "tasks",
    host: "127.0.0.1",
    port: 0,
    text: () => TEXT,
    logger,
    clock: new FakeClock(0),
  });
  await part.start();
  try {
    const [line] = logger.lines;
    const url = new URL(/http:\S+/.exec(line?.message ?? "")?.[0] ?? "");
    await use(Number(url.port), logger);
  } finally {
    await part.stop(1_000);
  }
}

Deno.test("metricsPart() answers GET /metrics in the text format, and nothing else", async () => {
  await withMetrics(async (port) => {
    const base = `http://127.0.0.1:${port}`;
    const answer = await fetch(`${base}/metrics?x=1`);
    assertEquals([answer.status, await answer.text()], [200, TEXT]);
    assertEquals(
      answer.headers.get("content-type"),
      "text/plain; version=0.0.4; charset=utf-8",
    );
    assertEquals(answer.headers.get("cache-control"), "no-store");
    const head = await fetch(`${base}/metrics`, { method: "HEAD" });
    assertEquals([head.status, await head.text()], [200, ""]);
    const cases = [["GET", "/", 404], ["POST", "/metrics", 405]] as const;
    for (const [method, path, status] of cases) {
      const other = await fetch(`${base}${path}`, { method });
      assertEquals([other.status, (await other.text()).includes(TEXT)], [
        status,
        false,
      ]);
    }
  });
});

Deno.test("metricsPart() refuses a page whose name was turned to this machine", async () => {
  await withMetrics(async (port) => {
    const client = await RawClient.connect(port);
    try {
      await client.send(
        `GET /metrics HTTP/1.1\r\nhost: evil.example:${port}\r\n\r\n`,
      );
      const answer = await client.answer();
      assertEquals(answer.status, 403);
      assertStringIncludes(answer.body, '"evil.example"');
    } finally {
      client.close();
    }
  });
});

Deno.test("metricsPart() names METRICS_PORT when the port is taken", async () => {
  using taken = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = taken.addr;
  const part = metricsPart({
    service: "tasks",
    host: "127.0.0.1",
    port,
    text: () => TEXT,
    logger: new RecordingLogger(),
    clock: new FakeClock(0),
  });
  await assertRejects(
    () => part.start(),
    Error,
    `Cannot open the metrics port of tasks, 127.0.0.1:${port}: it is taken; ` +
      "free it, or set METRICS_PORT to another one",
  );
  await part.stop(0);
});
