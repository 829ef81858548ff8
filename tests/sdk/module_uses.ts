/**
 * The first things that an application does with each module of the SDK,
 * without a relayer. The program also runs in Node, Bun and browsers: it uses
 * nothing of Deno and imports only types.
 *
 * @module
 */

/** The modules of the SDK, by their paths in the package. */
interface Modules {
  readonly ".": typeof import("../../mod.ts");
  readonly "./account": typeof import("../../sdk/account.ts");
  readonly "./ai": typeof import("../../sdk/ai.ts");
  readonly "./manual": typeof import("../../sdk/manual.ts");
  readonly "./ratelimit": typeof import("../../sdk/ratelimit.ts");
  readonly "./ratelimit/middleware":
    typeof import("../../sdk/ratelimit/middleware.ts");
  readonly "./tasks": typeof import("../../sdk/tasks.ts");
  readonly "./testing": typeof import("../../sdk/testing.ts");
}

/** The path of a module in the package. */
export type ModulePath = keyof Modules;

const KEY = "07".repeat(32);
/**
 * The URL of a port on which no server listens and to which browsers refuse to
 * connect.
 */
const NOWHERE = "http://127.0.0.1:9";
const TEXT = "Ada drinks tea";

async function useBase(
  { Mem, MemError, RateLimitClient }: Modules["."],
): Promise<unknown> {
  const mem = Mem.create({
    key: KEY,
    accountId: "0xa11ce",
    fetch: () => Promise.reject(new Error("no network")),
  });
  const error = await mem.recall("tea").catch((cause: unknown) => cause);
  // A browser's own `fetch` throws when it is called as a method of another
  // object.
  const other = Mem.create({
    ...{ key: KEY, accountId: "0xa11ce", serverUrl: NOWHERE },
    fetch: globalThis.fetch,
  });
  const { cause } = await other.health().catch((reason: unknown) =>
    Object(reason)
  );
  const publicKey = await mem.getPublicKeyHex();
  mem.destroy();
  return {
    publicKey,
    isMemError: error instanceof MemError && error.status === 0,
    hasLimits: typeof RateLimitClient === "function",
    isCalledRightly: !String(cause).includes("Illegal invocation"),
  };
}

/**
 * Calls a function that needs the ledger's package, which is not installed, so
 * that the error names the missing package.
 */
async function useAccount(
  { createAccount, generateDelegateKey }: Modules["./account"],
): Promise<unknown> {
  const { privateKey, publicKey, suiAddress } = await generateDelegateKey();
  const failure = await createAccount({
    key: privateKey,
    packageId: "0x1",
    registryId: "0x2",
  }).catch((error: unknown) => Object(error));
  const { name, code, message } = failure;
  return {
    lengths: [privateKey.length, publicKey.length, suiAddress.length],
    ...{ name, code },
    tellsCommand: String(message).includes("npm install @mysten/sui"),
  };
}

/**
 * Wraps a model of version 4 of the interface, which records what it was asked.
 */
async function useAi({ withMem }: Modules["./ai"]): Promise<unknown> {
  let asked = "";
  const saved: string[] = [];
  const model = withMem({
    specificationVersion: "v4",
    provider: "test",
    modelId: "test",
    supportedUrls: {},
    doGenerate: (options: { readonly prompt: unknown }) => {
      asked = JSON.stringify(options.prompt);
      return Promise.resolve({
        content: [],
        finishReason: { unified: "stop", raw: "stop" },
        usage: { inputTokens: { total: 1 }, outputTokens: { total: 1 } },
        warnings: [],
      });
    },
    doStream: () => Promise.reject(new Error("not asked for")),
  }, {
    mem: {
      recall: () =>
        Promise.resolve({
          results: [{ blob_id: "b", text: TEXT, distance: 0.1 }],
          total: 1,
        }),
      analyze: (text) => {
        saved.push(text);
        return Promise.resolve({
          ...{ job_ids: [], facts: [], fact_count: 0 },
          ...{ status: "pending", owner: "0x1" },
        });
      },
    },
  });
  const content = [{ type: "text", text: "What does Ada drink?" }];
  await model.doGenerate({ prompt: [{ role: "user", content }] });
  await model.flush();
  return { isTold: asked.includes(TEXT), saved };
}

async function useManual(
  { MemManual, MemError, MemKeyServerError }: Modules["./manual"],
): Promise<unknown> {
  const mem = MemManual.create({
    key: KEY,
    accountId: "0xa11ce",
    ledgerNetwork: "localnet",
    keyServers: ["0xb0b"],
    embed: () => [1],
    fetch: () => Promise.reject(new Error("no network")),
  });
  const error = await mem.rememberManual(TEXT).catch((cause: unknown) => cause);
  mem.destroy();
  const end = await mem.recallManual("tea").catch((cause: unknown) => cause);
  return {
    isMemError: error instanceof MemError,
    end: Object(end).name,
    isError: new MemKeyServerError({
      failures: [],
      isPassing: true,
      ...{ answered: 0, total: 1, threshold: 1 },
    }) instanceof Error,
  };
}

async function useRatelimit(
  { RateLimitClient, RateLimitError }: Modules["./ratelimit"],
): Promise<unknown> {
  const answers = [Response.json({ overallCode: "OK" })];
  const limits = new RateLimitClient({
    url: "http://127.0.0.1:8080",
    fetch: () => Promise.resolve(answers.pop() ?? Response.error()),
  });
  const request = {
    domain: "edge",
    descriptors: [{ entries: [{ key: "login", value: "ada" }] }],
  };
  const { allowed } = await limits.check(request);
  const error = await limits.check(request).catch((cause: unknown) => cause);
  const other = new RateLimitClient({ url: NOWHERE, fetch: globalThis.fetch });
  const { cause } = await other.check(request).catch((reason: unknown) =>
    Object(reason)
  );
  return {
    allowed,
    isError: error instanceof RateLimitError,
    isCalledRightly: !String(cause).includes("Illegal invocation"),
  };
}

async function useMiddleware(
  { limitFetch }: Modules["./ratelimit/middleware"],
): Promise<unknown> {
  const handler = limitFetch((request: Request) => fetchedFrom(request), {
    client: {
      check: () =>
        Promise.resolve({
          allowed: true,
          statuses: [{
            ...{ allowed: true, rule: "limit", name: "login", limit: 3 },
            ...{ remaining: 2, windowSeconds: 60, resetSeconds: 17 },
          }],
        }),
    },
    domain: "edge",
    descriptors: ({ method }) => [{
      entries: [{ key: "method", value: method }],
    }],
    onError: () => {},
  });
  const response = await handler(new Request("http://127.0.0.1/"));
  return {
    text: await response.text(),
    fields: ["ratelimit-policy", "ratelimit"].map((name) =>
      response.headers.get(name)
    ),
  };
}

/** Returns an answer whose fields may not change. */
async function fetchedFrom({ method }: Request): Promise<Response> {
  return await fetch(`data:text/plain,${method}`);
}

async function useTasks(
  { TasksClient, TasksError, verifyWebhook, Worker }: Modules["./tasks"],
): Promise<unknown> {
  const answers = [
    Response.json({ id: "tsk_1", status: "waiting" }, { status: 201 }),
    Response.json({ code: "not_found", title: "Not found", status: 404 }, {
      status: 404,
    }),
  ];
  const connection = { url: "http://127.0.0.1:8070/t/acme", key: "dk_1" };
  const tasks = new TasksClient({
    ...connection,
    fetch: () => Promise.resolve(answers.shift() ?? Response.error()),
  });
  const { id } = await tasks.create({ worker: "mailer" });
  const error = await tasks.get(id).catch((cause: unknown) => cause);
  const other = new TasksClient({
    ...connection,
    url: NOWHERE,
    maxRetries: 0,
    fetch: globalThis.fetch,
  });
  const { cause, code } = await other.me().catch((reason: unknown) =>
    Object(reason)
  );
  let leases = 0;
  const worker = new Worker({
    ...connection,
    worker: "mailer",
    handlers: () => "done",
    onError: () => {},
    fetch: (input) => {
      if (String(input).endsWith("/leases/batch")) {
        worker.stop();
        return Promise.resolve(Response.json({ results: [{ status: 200 }] }));
      }
      return Promise.resolve(Response.json({
        leases: leases++ > 0 ? [] : [{
          ...{ id: "lse_1", token: "lt_1", fence: 1, run: 0, attempt: 1 },
          task: { id, job: "default", data: 1, metadata: {} },
        }],
      }));
    },
  });
  worker.start();
  await worker.ended;
  const verdict = await verifyWebhook(
    new Request("http://127.0.0.1/", { method: "POST", body: "{}" }),
    `whsec_${btoa("0".repeat(32))}`,
  );
  return {
    id,
    isError: error instanceof TasksError,
    code,
    isCalledRightly: !String(cause).includes("Illegal invocation"),
    hasLeased: leases > 0,
    verdict,
  };
}

async function useTesting({ MemMock }: Modules["./testing"]): Promise<unknown> {
  const mock = MemMock.create();
  const { mem } = mock;
  await mem.rememberBulkAndWait([{ text: TEXT }, { text: "Ben runs" }]);
  mock.holdJobs();
  const { job_id } = await mem.remember("Carla swims");
  mock.fail("GET /api/remember/:id", { kind: "status", status: 503 });
  const held = mem.waitForRememberJob(job_id, { pollIntervalMs: 100 });
  mock.releaseJobs();
  const { id } = await held;
  const { results } = await mem.recall({ query: "What does Ada drink?" });
  mem.destroy();
  return {
    found: results[0]?.text,
    distance: results[0]?.distance,
    isSame: id === job_id,
    memories: mock.memories().length,
  };
}

const USES: {
  readonly [Path in ModulePath]: (module: Modules[Path]) => Promise<unknown>;
} = {
  ".": useBase,
  "./account": useAccount,
  "./ai": useAi,
  "./manual": useManual,
  "./ratelimit": useRatelimit,
  "./ratelimit/middleware": useMiddleware,
  "./tasks": useTasks,
  "./testing": useTesting,
};

/** Uses a module and returns a description of the results. */
export async function useModule<Path extends ModulePath>(
  path: Path,
  module: Modules[Path],
): Promise<unknown> {
  return await USES[path](module);
}

/** The expected results of using each module, the same in every runtime. */
export const WANTED: Readonly<Record<ModulePath, unknown>> = {
  ".": {
    publicKey:
      "ea4a6c63e29c520abef5507b132ec5f9954776aebebe7b92421eea691446d22c",
    isMemError: true,
    hasLimits: true,
    isCalledRightly: true,
  },
  "./account": {
    lengths: [64, 32, 66],
    name: "AccountError",
    code: "PACKAGE_MISSING",
    tellsCommand: true,
  },
  "./ai": { isTold: true, saved: ["What does Ada drink?"] },
  "./manual": { isMemError: true, end: "MemDestroyedError", isError: true },
  "./ratelimit": { allowed: true, isError: true, isCalledRightly: true },
  "./ratelimit/middleware": {
    text: "GET",
    fields: ['"login";q=3;w=60', '"login";r=2;t=17'],
  },
  "./tasks": {
    id: "tsk_1",
    isError: true,
    code: "unreachable",
    isCalledRightly: true,
    hasLeased: true,
    verdict: { kind: "invalid", reason: "missing_header" },
  },
  "./testing": {
    found: TEXT,
    distance: 0.3891527782184738,
    isSame: true,
    memories: 3,
  },
};
