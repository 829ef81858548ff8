import { assert, assertMatch } from "@std/assert";
import { serviceTest } from "../support/services.ts";
import { aiRoundTrip } from "./ai_round_trip.ts";
import { bundle } from "./bundle.ts";
import { openPage } from "./chromium.ts";
import { startTriedRelayer } from "./round_trip_check.ts";
import { runProgram } from "./run_program.ts";
import { TempFolder } from "./temp_folder.ts";

/**
 * A chat completions server that answers with the system message it received.
 */
class ChatServer implements AsyncDisposable {
  readonly #server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    answer,
  );

  /** The base URL of the API. */
  get url(): string {
    return `http://127.0.0.1:${this.#server.addr.port}/v1`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.shutdown();
  }
}

interface ChatRequest {
  readonly stream?: boolean;
  readonly messages: readonly {
    readonly role: string;
    readonly content: string;
  }[];
}

/** Headers that allow pages of other origins to make requests. */
const CORS = {
  "access-control-allow-origin": "*",
  "access-control-allow-headers": "*",
};

async function answer(request: Request): Promise<Response> {
  if (request.method === "OPTIONS") {
    return new Response(null, { status: 204, headers: CORS });
  }
  const { stream, messages }: ChatRequest = await request.json();
  const content = messages.find(({ role }) => role === "system")?.content ??
    "nothing";
  const base = { id: "1", created: 0, model: "echo" };
  if (stream !== true) {
    return Response.json({
      ...base,
      choices: [{
        index: 0,
        finish_reason: "stop",
        message: { role: "assistant", content },
      }],
    }, { headers: CORS });
  }
  const parts = [...content.matchAll(/[^]{1,20}/g)].map(([part]) => ({
    ...base,
    choices: [{ index: 0, delta: { content: part } }],
  }));
  const end = {
    ...base,
    choices: [{ index: 0, finish_reason: "stop", delta: {} }],
  };
  const lines = [...parts, end].map((part) => `data: ${JSON.stringify(part)}`);
  return new Response([...lines, "data: [DONE]", ""].join("\n\n"), {
    headers: { ...CORS, "content-type": "text/event-stream" },
  });
}

function check(
  { system, streamed }: { readonly system: string; readonly streamed: string },
): void {
  assertMatch(system, /\{"text":"[^"\n]*Bello[^"\n]*","relevance":0\.\d+\}\n/);
  assert(streamed.includes("Bello"));
}

Deno.test("a model with memory is told by default what was said before, in Deno", async () => {
  await using folder = await TempFolder.make();
  await using relayer = await startTriedRelayer(folder.path);
  await using chat = new ChatServer();
  check(await aiRoundTrip({ ...relayer.options, chatUrl: chat.url }));
});

/** The program that other runtimes run. */
const PROGRAM = `
import { aiRoundTrip } from "./ai_round_trip.mjs";
export const run = aiRoundTrip;
`;

/**
 * Runs a test with a folder that contains the program, and the servers that the
 * program calls.
 */
async function withProgram(
  use: (folder: string, options: unknown) => Promise<unknown>,
): Promise<void> {
  await using folder = await TempFolder.make();
  const { path } = folder;
  await bundle("tests/sdk/ai_round_trip.ts", {
    into: `${path}/ai_round_trip.mjs`,
  });
  await Deno.writeTextFile(`${path}/program.mjs`, PROGRAM);
  await using relayer = await startTriedRelayer(`${path}/data`);
  await using chat = new ChatServer();
  const { system, streamed } = Object(
    await use(path, { ...relayer.options, chatUrl: chat.url }),
  );
  check({ system, streamed });
}

for (const runtime of ["node", "bun"] as const) {
  serviceTest([runtime], {
    name:
      `a model with memory is told by default what was said before, in ${runtime}`,
    fn: () =>
      withProgram((folder, options) =>
        runProgram(runtime, { folder, options })
      ),
  });
}

serviceTest(["chromium"], {
  name:
    "a model with memory is told by default what was said before, in a page of Chromium",
  fn: () =>
    withProgram((folder, options) =>
      openPage({ folder, optionsAt: () => options })
    ),
});
