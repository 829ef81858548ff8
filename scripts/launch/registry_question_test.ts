import { assertEquals, assertStringIncludes } from "@std/assert";
import { askRegistry } from "./registry_question.ts";

const PACKAGES = ["@std/yaml", "@std/assert"];

/** A registry on a free port that answers every question with `respond`. */
function startRegistry(
  respond: (path: string) => Response | Promise<Response>,
): { url: string } & AsyncDisposable {
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    (request) => respond(new URL(request.url).pathname),
  );
  return {
    url: `http://127.0.0.1:${server.addr.port}`,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

Deno.test("askRegistry() says available when every package has a version list", async () => {
  const asked: string[] = [];
  await using registry = startRegistry((path) => {
    asked.push(path);
    return Response.json({ latest: "1.0.0", versions: {} });
  });
  const answer = await askRegistry({
    registryUrl: `${registry.url}/mirror`,
    packages: PACKAGES,
  });
  assertEquals(answer, {
    kind: "available",
    reason: `${registry.url}/mirror has them`,
  });
  assertEquals(asked.sort(), [
    "/mirror/@std/assert/meta.json",
    "/mirror/@std/yaml/meta.json",
  ]);
});

Deno.test("askRegistry() says unavailable when one package is missing", async () => {
  await using registry = startRegistry((path) =>
    path.includes("yaml")
      ? new Response("no", { status: 404 })
      : Response.json({ versions: {} })
  );
  const answer = await askRegistry({
    registryUrl: registry.url,
    packages: PACKAGES,
  });
  assertEquals(answer, {
    kind: "unavailable",
    reason: `${registry.url} answered 404 for /@std/yaml/meta.json`,
  });
});

Deno.test("askRegistry() says unavailable when a gateway answers with a page", async () => {
  await using registry = startRegistry(() => new Response("<p>Sign in</p>"));
  const answer = await askRegistry({
    registryUrl: registry.url,
    packages: ["@std/yaml"],
  });
  assertEquals(answer, {
    kind: "unavailable",
    reason: `${registry.url} gave no version list for /@std/yaml/meta.json`,
  });
});

Deno.test("askRegistry() gives up when there is no answer in time", async () => {
  const gate = Promise.withResolvers<void>();
  await using registry = startRegistry(async () => {
    await gate.promise;
    return new Response();
  });
  const answer = await askRegistry({
    registryUrl: registry.url,
    packages: ["@std/yaml"],
    timeoutMs: 50,
  });
  gate.resolve();
  assertEquals(answer, {
    kind: "unavailable",
    reason: `${registry.url} did not answer within 0.05 s`,
  });
});

Deno.test("askRegistry() gives up when an answer begins and never ends", async () => {
  const gate = Promise.withResolvers<void>();
  await using registry = startRegistry(() =>
    new Response(
      new ReadableStream({
        async start(controller) {
          controller.enqueue(new TextEncoder().encode("{"));
          await gate.promise;
          controller.close();
        },
      }),
    )
  );
  const answer = await askRegistry({
    registryUrl: registry.url,
    packages: ["@std/yaml"],
    timeoutMs: 50,
  });
  gate.resolve();
  assertEquals(answer.kind, "unavailable");
  assertStringIncludes(answer.reason, "did not answer within 0.05 s");
});

Deno.test("askRegistry() names the cause when nobody listens", async () => {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr;
  listener.close();
  const answer = await askRegistry({
    registryUrl: `http://user:secret@127.0.0.1:${port}/`,
    packages: ["@std/yaml"],
  });
  assertEquals(answer.kind, "unavailable");
  assertStringIncludes(
    answer.reason,
    `http://127.0.0.1:${port}/ cannot be reached (`,
  );
  assertStringIncludes(answer.reason, "refused");
  assertEquals(answer.reason.includes("secret"), false);
});

Deno.test("askRegistry() reads a folder when the address is one", async () => {
  const folder = await Deno.makeTempDir();
  try {
    await Deno.mkdir(`${folder}/@std/yaml`, { recursive: true });
    await Deno.writeTextFile(
      `${folder}/@std/yaml/meta.json`,
      `{"versions":{"1.0.0":{}}}`,
    );
    const registryUrl = `file://${folder}`;
    assertEquals(
      await askRegistry({ registryUrl, packages: ["@std/yaml"] }),
      { kind: "available", reason: `${registryUrl} has them` },
    );
    const missing = await askRegistry({ registryUrl, packages: PACKAGES });
    assertEquals(missing.kind, "unavailable");
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("askRegistry() says unavailable when the address is none", async () => {
  assertEquals(
    await askRegistry({ registryUrl: "jsr.io", packages: PACKAGES }),
    {
      kind: "unavailable",
      reason: '"jsr.io" is not an address of a registry',
    },
  );
});
