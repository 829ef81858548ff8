import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { runHealth } from "./health.ts";

async function play(
  args: readonly string[],
  variables: Readonly<Record<string, string>> = {},
) {
  const texts = { out: "", err: "" };
  const code = await runHealth(args, {
    out: (text) => texts.out += text,
    err: (text) => texts.err += text,
    readVariable: (name) => variables[name],
  });
  return { code, ...texts };
}

/** A service that answers on a port of its own. */
async function withService<T>(
  answer: (path: string) => Response | Promise<Response>,
  use: (port: number) => Promise<T>,
): Promise<T> {
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    (request) => answer(new URL(request.url).pathname),
  );
  try {
    return await use(server.addr.port);
  } finally {
    await server.shutdown();
  }
}

Deno.test("runHealth() asks each service at its own path, on loopback when it listens on all addresses", async () => {
  const asked: string[] = [];
  const codes = await withService((path) => {
    asked.push(path);
    return new Response("fine");
  }, async (port) => {
    const codes: number[] = [];
    for (const service of ["ratelimit", "tasks", "relayer", "keyserver"]) {
      const { code } = await play([service], {
        HOST: "0.0.0.0",
        PORT: String(port),
      });
      codes.push(code);
    }
    return codes;
  });
  assertEquals(codes, [0, 0, 0, 0]);
  assertEquals(asked, ["/healthcheck", "/readyz", "/readyz", "/health"]);
});

Deno.test("runHealth() says what came when the service is not healthy", async () => {
  const { code, err } = await withService(
    () => new Response("", { status: 503 }),
    (port) => play(["tasks", "--url", `http://127.0.0.1:${port}/readyz`]),
  );
  assertEquals(code, 1);
  assertMatch(err, /^Cannot find tasks healthy: .*\/readyz answered 503$/);
});

Deno.test("runHealth() says so when there is no answer in time", async () => {
  const over = Promise.withResolvers<Response>();
  const { code, err } = await withService(() => over.promise, async (port) => {
    const played = await play(["relayer", "--timeout", "50ms"], {
      PORT: String(port),
    });
    over.resolve(new Response());
    return played;
  });
  assertEquals(code, 1);
  assertStringIncludes(err, "it took too long");
});

Deno.test("runHealth() refuses an unknown service, an invalid address and a port that cannot be read", async () => {
  const services = await play(["toString"]);
  assertEquals(services.code, 2);
  assertStringIncludes(services.err, "ratelimit, tasks, relayer, keyserver");
  assertEquals((await play(["tasks", "--url", "tasks"])).code, 2);
  assertEquals((await play(["tasks"], { PORT: "many" })).code, 2);
});
