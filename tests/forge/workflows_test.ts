import { assert, assertEquals, assertMatch } from "@std/assert";
import { TARGETS } from "../../scripts/build/targets.ts";
import {
  namesIn,
  PROJECT,
  readText,
  readTree,
  toList,
  toTexts,
  toTree,
  toTrees,
  type Tree,
} from "./yaml_tree.ts";

const FOLDER = ".github/workflows";

/** The owners whose actions workflows may use. */
const OWNERS = ["actions", "denoland", "docker"];

/** All write permissions of jobs, by workflow and job. */
const WRITES: Readonly<Record<string, readonly string[]>> = {
  "image.yml image": ["packages"],
  "release.yml jsr": ["id-token"],
  "release.yml npm": ["id-token"],
  "release.yml release": ["contents"],
};

/** A job, and the workflow that it belongs to. */
interface Job {
  readonly file: string;
  readonly where: string;
  readonly job: Tree;
  readonly steps: readonly Tree[];
}

async function readWorkflows(): Promise<ReadonlyMap<string, Tree>> {
  const files = await namesIn(FOLDER);
  const trees = files.map(async (file) =>
    [file, await readTree(`${FOLDER}/${file}`)] as const
  );
  return new Map(await Promise.all(trees));
}

async function readJobs(): Promise<readonly Job[]> {
  return [...await readWorkflows()].flatMap(([file, { jobs }]) =>
    toTrees(jobs, file).map(([name, job]) => {
      const where = `${file} ${name}`;
      const steps = toList(job.steps, where).map((step) => toTree(step, where));
      return { file, where, job, steps };
    })
  );
}

function readScript({ steps }: Job): string {
  return steps.map(({ run }) => typeof run === "string" ? run : "").join("\n");
}

Deno.test("workflows take actions of owners we know, each by a version", async () => {
  const used = (await readJobs())
    .flatMap(({ steps }) => steps.map(({ uses }) => uses))
    .filter((uses) => uses !== undefined).map(String);
  assert(used.length > 0);
  for (const uses of used) {
    assertMatch(uses, /^[a-z]+\/[a-z-]+@v\d+$/);
    assert(OWNERS.includes(uses.split("/")[0] ?? ""), uses);
  }
});

Deno.test("workflows call workflows that are there, and that may be called", async () => {
  const workflows = await readWorkflows();
  for (const { where, job: { uses } } of await readJobs()) {
    if (uses === undefined) continue;
    const called = workflows.get(String(uses).replace(`./${FOLDER}/`, ""));
    assert(called !== undefined, where);
    assert("workflow_call" in toTree(called.on, where), where);
  }
});

Deno.test("workflows say what they may, read unless a job needs to write, and cannot hang", async () => {
  for (const [file, workflow] of await readWorkflows()) {
    assert("permissions" in workflow, file);
    const allowed = Object.entries(toTree(workflow.permissions, file));
    assert(allowed.every(([, access]) => access === "read"), file);
    assert("concurrency" in workflow, file);
  }
  const writes: Record<string, readonly string[]> = {};
  for (const { where, job, steps } of await readJobs()) {
    const allowed = Object.entries(toTree(job.permissions ?? {}, where));
    const written = allowed.filter(([, access]) => access !== "read");
    if (written.length > 0) writes[where] = written.map(([name]) => name);
    if (steps.length === 0) continue;
    const minutes = job["timeout-minutes"];
    assert(typeof minutes === "number" && minutes <= 90, where);
  }
  assertEquals(writes, WRITES);
});

Deno.test("workflows keep no secrets, leave no credentials, and put no text of others into scripts", async () => {
  for (const file of (await readWorkflows()).keys()) {
    const text = await readText(`${FOLDER}/${file}`);
    assert(!/\bsecrets\b/.test(text), file);
    assert(!text.includes("pull_request_target"), file);
  }
  for (const job of await readJobs()) {
    assert(!readScript(job).includes("${{"), job.where);
    for (const { uses, with: options } of job.steps) {
      if (!String(uses).startsWith("actions/checkout@")) continue;
      const { "persist-credentials": kept } = toTree(options, job.where);
      assertEquals(kept, false, job.where);
    }
  }
});

Deno.test("workflows run tasks that there are, with the Deno of .deno-version", async () => {
  const { tasks } = await readTree("deno.json");
  const known = Object.keys(toTree(tasks, "tasks"));
  for (const job of await readJobs()) {
    const script = readScript(job);
    for (const [, task = ""] of script.matchAll(/\bdeno task ([\w:]+)/g)) {
      assert(known.includes(task), `${job.where}: ${task}`);
    }
    const files = job.steps
      .filter(({ uses }) => String(uses).startsWith("denoland/setup-deno@"))
      .map((step) => toTree(step.with, job.where)["deno-version-file"]);
    if (/\bdeno (task|publish)\b/.test(script)) {
      assertEquals(files, [".deno-version"], job.where);
    }
  }
});

Deno.test("ok.yml runs what CI runs, on pushes and pull requests", async () => {
  const workflow = await readTree(`${FOLDER}/ok.yml`);
  const events = Object.keys(toTree(workflow.on, "ok.yml"));
  assertEquals(events, ["push", "pull_request", "workflow_call"]);
  const jobs = (await readJobs()).filter(({ file }) => file === "ok.yml");
  assertEquals(jobs.map(readScript).map((text) => text.trim()), [".ci/run"]);
  const { mode } = await Deno.stat(`${PROJECT}.ci/run`);
  assert(mode === null || (mode & 0o111) !== 0);
});

Deno.test("release.yml builds every program for every target, after the checks", async () => {
  const jobs = new Map(
    (await readJobs()).filter(({ file }) => file === "release.yml")
      .map((job) => [job.where.split(" ")[1], job.job]),
  );
  const executables = toTree(jobs.get("executables"), "executables");
  const { matrix } = toTree(executables.strategy, "strategy");
  assertEquals(toTexts(toTree(matrix, "matrix").target, "target"), TARGETS);
  const { PROGRAMS } = toTree(executables.env, "env");
  const tried = /for service in ([\w -]+); do/.exec(await readText(".ci/run"));
  assertEquals(PROGRAMS, tried?.[1]);
  for (const name of ["release", "jsr", "npm"]) {
    const needed = toTexts(toTree(jobs.get(name), name).needs, name);
    assertEquals(needed, ["ok", "executables"]);
  }
});
