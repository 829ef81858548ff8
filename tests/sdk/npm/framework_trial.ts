/**
 * Uses the middleware of the installed npm package with the frameworks that it
 * is for, as npm has them, and a running rate limit service.
 *
 * @module
 */

import { assertEquals } from "@std/assert";
import { ConfigFolder } from "../../ratelimit/config_folder.ts";
import { dailyRule } from "../../ratelimit/requests.ts";
import { startRatelimit } from "../../support/ratelimit_process.ts";
import { runProgram } from "../run_program.ts";
import type { NpmProject } from "./npm_project.ts";

/** Packages of the frameworks, and of their types. */
const FRAMEWORKS: readonly string[] = [
  "express@5",
  "express-4@npm:express@4",
  "hono@4",
  "@types/express@5",
];

/** Serves a page in each framework, and asks for it four times. */
const PROGRAM = `
import express from "express";
import express4 from "express-4";
import { Hono } from "hono";
import { cors } from "hono/cors";
import { RateLimitClient } from "@tercet/sdk/ratelimit";
import {
  limitExpress,
  limitFetch,
  limitHono,
} from "@tercet/sdk/ratelimit/middleware";

interface Options {
  readonly url: string;
}

/** Limits by a field of a request, which has the framework's name in it. */
function limits<Args extends readonly unknown[]>(
  { url }: Options,
  userOf: (...args: Args) => string | undefined,
) {
  return {
    client: new RateLimitClient({ url, timeoutMs: 10_000, strict: true }),
    domain: "shop",
    descriptors: (...args: Args) => {
      const value = userOf(...args);
      if (value === "broken") throw new Error("no such user");
      const key = value === "unknown" ? "usr" : "user";
      return value === undefined ? [] : [{ entries: [{ key, value }] }];
    },
    onError: () => {},
  };
}

type Get = (user?: string) => Promise<Response>;

async function withExpress(
  make: typeof express,
  options: Options,
  use: (get: Get) => Promise<unknown>,
): Promise<unknown> {
  const app = make();
  app.use(limitExpress(limits(options, (request: express.Request) =>
    request.get("x-user")
  )));
  app.get("/", (_request, response) => {
    response.setHeader("x-page", "yes");
    response.send("hello");
  });
  app.use((
    error: Error,
    _request: express.Request,
    response: express.Response,
    _next: express.NextFunction,
  ) => {
    response.status(500).send(error.message);
  });
  const server = app.listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = Object(server.address());
  try {
    return await use((user) =>
      fetch(\`http://127.0.0.1:\${port}/\`, {
        headers: { connection: "close", ...user && { "x-user": user } },
      })
    );
  } finally {
    await new Promise((resolve) => server.close(resolve));
  }
}

function withHono(
  options: Options,
  use: (get: Get) => Promise<unknown>,
): Promise<unknown> {
  const app = new Hono();
  app.use(cors({ origin: "http://site.test" }));
  app.use(limitHono(limits(options, (context: import("hono").Context) =>
    context.req.header("x-user")
  )));
  app.get("/", (context) => {
    context.header("x-page", "yes");
    return context.text("hello");
  });
  app.onError((error, context) => context.text(error.message, 500));
  return use(async (user) =>
    await app.request("/", {
      headers: { origin: "http://site.test", ...user && { "x-user": user } },
    })
  );
}

function withFetch(
  options: Options,
  use: (get: Get) => Promise<unknown>,
): Promise<unknown> {
  const handler = limitFetch(
    (_request: Request) =>
      new Response("hello", { headers: { "x-page": "yes" } }),
    limits(options, (request: Request) =>
      request.headers.get("x-user") ?? undefined),
  );
  return use(async (user) => {
    const request = new Request("http://site.test/", {
      headers: user ? { "x-user": user } : {},
    });
    return await handler(request).catch((error: Error) =>
      new Response(error.message, { status: 500 })
    );
  });
}

/** The seconds at the end of a field. */
const TIME = /(?<=^|;t=)[0-9]+$/;

/** Returns what the page answers to users, each with its fields. */
const asked = (name: string) => async (get: Get): Promise<unknown> => {
  const told = [];
  for (const user of [name, name, name, undefined, "unknown", "broken"]) {
    const response = await get(user);
    const { status, headers } = response;
    const fields = [
      ...["x-page", "ratelimit-policy", "ratelimit", "retry-after"],
      "access-control-allow-origin",
    ].map((name) => headers.get(name)?.replace(TIME, "…") ?? "-");
    const text = await response.text();
    told.push([status, ...fields, status === 500 ? text : ""].join(" "));
  }
  return told;
};

export async function run(options: Options): Promise<unknown> {
  return {
    express: await withExpress(express, options, asked("express")),
    express4: await withExpress(express4, options, asked("express4")),
    hono: await withHono(options, asked("hono")),
    fetch: await withFetch(options, asked("fetch")),
  };
}
`;

/** The site that the middleware for CORS lets read answers. */
const SITE = "http://site.test";

const TYPES_OF_4 = `declare module "express-4" {
  export { default } from "express";
}`;

/** What each framework answers, with the times left out. */
const TOLD: readonly string[] = [
  '200 yes "user";q=2;w=86400 "user";r=1;t=… - - ',
  '200 yes "user";q=2;w=86400 "user";r=0;t=… - - ',
  '429 - "user";q=2;w=86400 "user";r=0;t=… … - ',
  "200 yes - - - - ",
  "503 - - - - - ",
  "500 - - - - - no such user",
];

/**
 * Runs a program in Node that limits requests in each framework.
 *
 * @param project A project in which the package and esbuild are installed.
 */
export async function tryFrameworks(project: NpmProject): Promise<void> {
  await project.install(...FRAMEWORKS);
  await project.write("frameworks.ts", PROGRAM);
  await project.write("express_4.d.ts", TYPES_OF_4);
  await project.run("node_modules/.bin/esbuild", [
    ...["--log-level=error", "frameworks.ts", "--outfile=program.mjs"],
  ]);
  await using rules = await ConfigFolder.make({
    "shop.yaml": dailyRule("shop", { key: "user", limit: 2 })
      .replace("unit: day", "unit: day\n      name: user"),
  });
  await using service = await startRatelimit({
    env: { RUNTIME_ROOT: rules.root },
  });
  const report = await runProgram("node", {
    folder: project.folder,
    options: { url: service.httpUrl },
  });
  assertEquals(report, {
    express: TOLD,
    express4: TOLD,
    // Fields that were set before stay, on a refusal, too.
    hono: TOLD.map((line) => line.replace(/- (?=[^-]*$)/, `${SITE} `)),
    fetch: TOLD,
  });
  assertEquals(await service.stop(), 0);
}

/** Checks the types of that program against those of the frameworks. */
export async function checkFrameworkTypes(
  project: NpmProject,
  compiler: string,
): Promise<void> {
  const compilerOptions = {
    ...{ module: "nodenext", moduleResolution: "nodenext", target: "es2022" },
    ...{ strict: true, noEmit: true, skipLibCheck: true, types: ["node"] },
    lib: ["es2022", "dom", "dom.iterable"],
  };
  await project.write(
    "tsconfig.json",
    JSON.stringify({
      compilerOptions,
      files: ["frameworks.ts", "express_4.d.ts"],
    }),
  );
  await project.run("node", [compiler, "--project", "."]);
}
