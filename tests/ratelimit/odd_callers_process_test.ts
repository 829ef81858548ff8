import { assert, assertEquals } from "@std/assert";
import { startRatelimit } from "../support/ratelimit_process.ts";
import { ConfigFolder } from "./config_folder.ts";
import { dailyRule } from "./requests.ts";
import { serveHere } from "./service_here.ts";

const FILES = { "rules.yaml": dailyRule("odd", { key: "user", limit: 5 }) };

Deno.test("ratelimit takes the path from the request line, whatever the host is", async () => {
  await using folder = await ConfigFolder.make(FILES);
  await using service = await serveHere({ RUNTIME_ROOT: folder.root });
  const port = Number(new URL(service.debugUrl).port);
  for (const host of ["a/rlconfig?", "a/rlconfig#", "a?/rlconfig"]) {
    const answer = await exchange(
      port,
      `GET /none HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`,
    );
    assert(/^HTTP\/1\.1 40[04] /.test(answer), `${host}: ${answer}`);
    assert(!answer.includes("odd.user"), `${host}: ${answer}`);
  }
});

Deno.test("ratelimit leaves a connection with half a request when the grace is over", async () => {
  await using folder = await ConfigFolder.make(FILES);
  await using service = await startRatelimit({
    env: {
      RUNTIME_ROOT: folder.root,
      LOG_LEVEL: "info",
      SHUTDOWN_GRACE: "200ms",
    },
  });
  const port = Number(new URL(service.httpUrl).port);
  using connection = await Deno.connect({ hostname: "127.0.0.1", port });
  await connection.write(new TextEncoder().encode(
    "POST /json HTTP/1.1\r\nhost: a\r\ncontent-length: 90\r\n\r\n{",
  ));
  // Once a complete request on another connection is answered, the incomplete
  // one has arrived, too.
  await exchange(
    port,
    "GET /healthcheck HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n",
  );
  service.signal("SIGTERM");
  await service.waitForExit();
  const { stderr } = service;
  // The listener closes the connection and logs that; no part of the service
  // counts as hanging.
  assertEquals(stderr.includes("did not stop in time"), false, stderr);
});

/** Sends a text as a request and reads until the connection ends. */
async function exchange(port: number, text: string): Promise<string> {
  using connection = await Deno.connect({ hostname: "127.0.0.1", port });
  await connection.write(new TextEncoder().encode(text));
  const timer = setTimeout(() => connection.close(), 5_000);
  try {
    return await new Response(connection.readable).text();
  } finally {
    clearTimeout(timer);
  }
}
