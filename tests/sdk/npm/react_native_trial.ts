/**
 * Uses the installed npm package as an application in React Native does:
 * bundled by Metro, in the engine Hermes. Nothing of a phone is needed.
 *
 * @module
 */

import {
  assert,
  assertEquals,
  assertMatch,
  assertStringIncludes,
} from "@std/assert";
import { bundle } from "../bundle.ts";
import {
  createSeed,
  DELEGATE,
  embed,
  withTrial,
} from "../../relayer/manual_trial.ts";
import {
  checkRoundTrip,
  startTriedRelayer,
  type TriedRelayer,
} from "../round_trip_check.ts";
import { TempFolder } from "../temp_folder.ts";
import { NpmProject } from "./npm_project.ts";

/**
 * Hermes as a command is published in this version alone, which is older than
 * every React Native that has `TextEncoder`.
 */
const PACKAGES: readonly string[] = [
  ...["react-native@0.88", "react@19", "hermes-engine-cli@0.12"],
  ...["@react-native/babel-preset@0.88", "@react-native/metro-config@0.88"],
  // The controller of React Native before it had one of its own.
  ...["abort-controller@3", "whatwg-fetch@3"],
];
const HERMES = "node_modules/hermes-engine-cli/linux64-bin/hermes";
/** The compiler of the version of Hermes that React Native 0.88 has. */
const COMPILER = "node_modules/hermes-compiler/hermesc/linux64-bin/hermesc";
const RANDOM_BYTES = 32_768;

const CONFIG = `
const { getDefaultConfig } = require("@react-native/metro-config");
module.exports = getDefaultConfig(__dirname);
`;

const MAIN = `
import "./react_native_globals.ts";
import {
  AbortController,
  AbortSignal,
} from "abort-controller/dist/abort-controller";
import { URL, URLSearchParams } from "react-native/Libraries/Blob/URL";
import { fetch, Headers, Request, Response } from "whatwg-fetch";

Object.assign(globalThis, {
  ...{ AbortController, AbortSignal, URL, URLSearchParams },
  ...{ fetch, Headers, Request, Response },
});
const { run } = require("./program.js");
globalThis.run = (options) => {
  const end = (report) => print("@" + JSON.stringify({ kind: "end", report }));
  run(options).then(end, ({ stack, cause }) => end({ stack, cause }));
};
`;

const PROGRAM = `
import * as base from "@tercet/sdk";
import * as account from "@tercet/sdk/account";
import { MemManual } from "@tercet/sdk/manual";
import { TasksClient } from "@tercet/sdk/tasks";
import { roundTrip } from "./round_trip.mjs";

${embed.toString().replace("embed", "embedText")}
const WIDTH = 1536;
const answering = (json) => () => Promise.resolve(
  new Response(JSON.stringify(json)),
);
const messageOf = (error) => error.message;

const manualTrip = async ({ key, ...options }) => {
  const mem = MemManual.create({
    ...options,
    key: Uint8Array.from(key),
    embed: embedText,
  });
  await mem.rememberManual("Ada drinks tea");
  const { results, dropped } = await mem.recallManual("tea?");
  mem.destroy();
  return { texts: results.map(({ text }) => text), dropped };
};

export const run = async ({ pool, manual, ...options }) => {
  const { serverUrl, key, accountId } = options;
  const mem = base.Mem.create({ serverUrl, key, accountId });
  const withoutRandom = await mem.recall("tea").catch(messageOf);
  installRandom(pool);
  const limits = new base.RateLimitClient({
    url: "http://127.0.0.1:8080/limits",
    fetch: answering({ overallCode: "OK" }),
  });
  const request = {
    domain: "edge",
    descriptors: [{ entries: [{ key: "login", value: "ada" }] }],
  };
  const ending = new AbortController();
  ending.abort();
  const connection = { url: "http://127.0.0.1:8070/t/acme", key: "dk_1" };
  const { publicKey } = await account.generateDelegateKey();
  return {
    withoutRandom,
    types: [typeof crypto.subtle, typeof TextDecoder, typeof ReadableStream],
    memories: await roundTrip(base, options),
    allowed: (await limits.check(request)).allowed,
    aborted: await limits.check(request, { signal: ending.signal })
      .catch(({ name }) => name),
    task: await new TasksClient({
      ...connection,
      fetch: answering({ id: "tsk_1" }),
    }).create({ worker: "mailer" }),
    unreachable: await new TasksClient({
      ...connection,
      ...{ url: "http://127.0.0.1:9", maxRetries: 0 },
    }).me().catch(({ code }) => code),
    keyBytes: publicKey.length,
    manual: await manualTrip(manual),
  };
};
`;

/**
 * Runs the program in Hermes with a real relayer and real key servers.
 *
 * @param tarball The path of the package's tarball.
 */
export async function tryReactNative(tarball: string): Promise<void> {
  await using project = await NpmProject.make();
  await project.install(tarball, ...PACKAGES);
  await bundle("tests/sdk/round_trip.ts", {
    into: `${project.folder}/round_trip.mjs`,
  });
  await Deno.copyFile(
    new URL("react_native_globals.ts", import.meta.url),
    `${project.folder}/react_native_globals.ts`,
  );
  await project.write("metro.config.cjs", CONFIG);
  await project.write("native.js", MAIN);
  await project.write("program.js", PROGRAM);
  await project.run("node_modules/.bin/metro", [
    ...["build", "native.js", "--config", "metro.config.cjs"],
    ...[
      "--platform",
      "android",
      "--dev",
      "false",
      "--minify",
      "false",
      "--out",
      "native.bundle.js",
    ],
  ]);
  // Newer versions of the engine can read the bundle as well.
  await project.run(COMPILER, [
    ...["-w", "-emit-binary", "-out", "native.hbc", "native.bundle.js"],
  ]);
  await using data = await TempFolder.make();
  await using relayer = await startTriedRelayer(data.path);
  await withTrial(async ({ config }) => {
    const { embed: _, ...rest } = config;
    const manual = { ...rest, key: [...createSeed(DELEGATE)] };
    const pool = [...crypto.getRandomValues(new Uint8Array(RANDOM_BYTES))];
    const options = { ...relayer.options, manual, pool };
    checkReport(await runInHermes(project, options), relayer.account);
  });
}

function checkReport(given: unknown, account: TriedRelayer["account"]): void {
  const { memories, withoutRandom, ...report } = Object(given);
  assert(memories !== undefined, JSON.stringify(given));
  const { appearance: [json, string, spread, names], ...rest } = memories;
  // Babel writes private members as others, whose names no loop finds.
  assertMatch(names, /^(?:__private_\d+_\w+,?)+$/);
  checkRoundTrip(
    { ...rest, appearance: [json, string, spread, ""] },
    account,
  );
  assertStringIncludes(
    withoutRandom,
    "npm install react-native-get-random-values",
  );
  assertEquals(report, {
    types: Array(3).fill("undefined"),
    allowed: true,
    aborted: "AbortError",
    task: { id: "tsk_1" },
    unreachable: "unreachable",
    keyBytes: 32,
    manual: { texts: ["Ada drinks tea"], dropped: [] },
  });
}

/** What the program asks of the process outside. */
type Question =
  | { readonly kind: "timer"; readonly id: number; readonly ms: number }
  | {
    readonly kind: "request";
    readonly id: number;
    readonly method: string;
    readonly url: string;
    readonly headers: [string, string][];
    readonly bytes: readonly number[] | null;
  }
  | { readonly kind: "end"; readonly report: unknown };

/**
 * Runs the bundled program and returns its report. Hermes reads lines of code
 * from stdin, by which it gets the program and answers.
 */
async function runInHermes(
  project: NpmProject,
  options: unknown,
): Promise<unknown> {
  const text = await Deno.readTextFile(`${project.folder}/native.bundle.js`);
  const process = new Deno.Command(`${project.folder}/${HERMES}`, {
    args: ["-prompt="],
    stdin: "piped",
    stdout: "piped",
    stderr: "null",
  }).spawn();
  const stdin = process.stdin.getWriter();
  const encoder = new TextEncoder();
  const evaluate = async (code: string) => {
    await stdin.write(encoder.encode(`(0, eval)(${ascii(code)})\n`));
  };
  const timers = new Set<ReturnType<typeof setTimeout>>();
  const underWay: Promise<void>[] = [];
  const answer = async (id: number, value?: unknown) => {
    await evaluate(`answer(${id}, ${JSON.stringify(value)})`);
  };
  try {
    await evaluate(text);
    await evaluate(`run(${JSON.stringify(options)})`);
    for await (const line of readLines(process.stdout)) {
      if (!line.startsWith("@{")) continue;
      const question: Question = JSON.parse(line.slice(1));
      if (question.kind === "end") return question.report;
      const { id } = question;
      if (question.kind === "request") {
        underWay.push(fetched(question).then((value) => answer(id, value)));
      } else {
        const timer = setTimeout(() => {
          timers.delete(timer);
          underWay.push(answer(id));
        }, question.ms);
        timers.add(timer);
      }
    }
    throw new Error("Hermes has ended without a report");
  } finally {
    for (const timer of timers) clearTimeout(timer);
    await Promise.allSettled(underWay);
    await stdin.close();
    await process.stdout.cancel();
    await process.status;
  }
}

/** Makes a request; undefined when there is no answer. */
async function fetched(
  { url, method, headers, bytes }: Extract<Question, { kind: "request" }>,
): Promise<unknown> {
  try {
    const body = bytes && Uint8Array.from(bytes);
    const response = await fetch(url, { method, headers, body });
    return {
      status: response.status,
      headers: [...response.headers],
      bytes: [...new Uint8Array(await response.arrayBuffer())],
    };
  } catch {
    return undefined;
  }
}

/** Writes a text as a literal on one line, without letters beyond ASCII. */
function ascii(text: string): string {
  return JSON.stringify(text).replace(
    /[^\x20-\x7e]/g,
    (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

async function* readLines(
  stream: ReadableStream<Uint8Array<ArrayBuffer>>,
): AsyncGenerator<string> {
  let rest = "";
  const texts = stream.pipeThrough(new TextDecoderStream(), {
    preventCancel: true,
  });
  for await (const text of texts) {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    yield* lines;
  }
}
