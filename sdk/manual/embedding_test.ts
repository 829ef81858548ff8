import { assert, assertEquals, assertRejects } from "@std/assert";
import { isTimeoutError } from "../memory/errors.ts";
import { InstantClock } from "../memory/testing/instant_clock.ts";
import { MemEmbeddingError } from "./manual_errors.ts";
import { MemManual } from "./mem_manual.ts";
import { ManualWorld, wordVector } from "./testing/manual_world.ts";

const TEXT = "Ada drinks tea";
const KEY = "sk-celandine";

interface SeenCall {
  readonly url: string;
  readonly authorization: string | null;
  readonly body: unknown;
}

/**
 * Creates a client whose vectors come from an endpoint with the given answer.
 */
async function createClient(
  answer: () => Response | Promise<Response>,
  more: Parameters<ManualWorld["clientConfig"]>[0] = {},
) {
  const world = await ManualWorld.open();
  const seen: SeenCall[] = [];
  const mem = MemManual.create(world.clientConfig({
    embed: undefined,
    embeddingApiKey: KEY,
    fetch: async (url, init) => {
      if (!url.endsWith("/embeddings")) return await world.fetch(url, init);
      seen.push({
        url,
        authorization: new Headers(init.headers).get("authorization"),
        body: JSON.parse(String(init.body)),
      });
      return await answer();
    },
    ...more,
  }));
  return { mem, seen, world };
}

const vectorAnswer = () =>
  Response.json({ data: [{ index: 0, embedding: wordVector(TEXT) }] });

Deno.test("an endpoint is asked as OpenAI's, and its vector goes to the relayer", async () => {
  const { mem, seen, world } = await createClient(vectorAnswer);
  await mem.rememberManual(TEXT);
  assertEquals(seen, [{
    url: "https://api.openai.com/v1/embeddings",
    authorization: `Bearer ${KEY}`,
    body: {
      model: "text-embedding-3-small",
      input: TEXT,
      encoding_format: "float",
    },
  }]);
  assertEquals(world.memories[0]?.vector, wordVector(TEXT));
  assert(!world.seen.some((one) => one.includes(KEY)));
  mem.destroy();
});

Deno.test("embeddingApiBase and embeddingModel choose endpoint and model, a router's with its vendor", async () => {
  const cases = [
    ["https://models.test/v1/", undefined, "text-embedding-3-small"],
    ["https://models.test/v1", "nomic", "nomic"],
    [
      "https://openrouter.ai/api/v1",
      undefined,
      "openai/text-embedding-3-small",
    ],
    ["https://openrouter.ai/api/v1", "qwen/embed", "qwen/embed"],
  ] as const;
  for (const [embeddingApiBase, embeddingModel, model] of cases) {
    const { mem, seen } = await createClient(vectorAnswer, {
      embeddingApiBase,
      embeddingModel,
    });
    await mem.rememberManual(TEXT);
    const base = embeddingApiBase.replace(/\/$/, "");
    assertEquals(seen[0]?.url, `${base}/embeddings`);
    assertEquals(Reflect.get(Object(seen[0]?.body), "model"), model);
    mem.destroy();
  }
});

Deno.test("an endpoint that fails is an error with neither text nor key, and nothing is stored", async () => {
  const answers: readonly (readonly [() => Response, string])[] = [
    [() => Response.json({ error: `${KEY} ${TEXT}` }, { status: 401 }), "401"],
    [() => new Response("<html>"), "no vector"],
    [() => Response.json({ data: [] }), "no vector"],
    [() => Response.json({ data: [{ embedding: [1, null] }] }), "no vector"],
    [() => new Response(new Uint8Array(5_000_000)), "no vector"],
    [
      () => {
        throw new TypeError(`refused ${KEY}`);
      },
      'no answer from "https://api.openai.com"',
    ],
  ];
  for (const [answer, words] of answers) {
    const { mem, world } = await createClient(answer);
    const error = await assertRejects(
      () => mem.rememberManual(TEXT),
      MemEmbeddingError,
      words,
    );
    assert(!error.message.includes(KEY) && !error.message.includes(TEXT));
    assertEquals(world.memories, []);
    mem.destroy();
  }
});

Deno.test("a model that stalls ends with the deadline of a request", async () => {
  for (const kind of ["endpoint", "function"] as const) {
    const aborted: boolean[] = [];
    const silence = (signal?: AbortSignal) =>
      new Promise<never>(() =>
        signal?.addEventListener("abort", () => aborted.push(true))
      );
    const { mem } = await createClient(() => silence(), {
      clock: new InstantClock(),
      ...(kind === "function"
        ? {
          embeddingApiKey: undefined,
          embed: (_text, { signal }) => silence(signal),
        }
        : {}),
    });
    const error = await assertRejects(() => mem.recallManual("tea"));
    assert(isTimeoutError(error), String(error));
    if (kind === "function") assertEquals(aborted, [true]);
    mem.destroy();
  }
});

Deno.test("embedWithRelayer shows the relayer the text, which nothing else does", async () => {
  const world = await ManualWorld.open();
  await using mem = MemManual.create(world.clientConfig({
    embed: undefined,
    embedWithRelayer: true,
    fetch: async (url, init) => {
      if (!url.endsWith("/api/embed")) return await world.fetch(url, init);
      assertEquals(
        JSON.parse(new TextDecoder().decode(init.body as Uint8Array)),
        {
          text: TEXT,
        },
      );
      return Response.json({ vector: wordVector(TEXT) });
    },
  }));
  await mem.rememberManual(TEXT);
  assertEquals(world.memories[0]?.vector, wordVector(TEXT));
});
