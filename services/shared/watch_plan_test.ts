import { assertEquals, assertNotEquals } from "@std/assert";
import { planWatch, type WatchPlan } from "./watch_plan.ts";

async function withDirectory(
  use: (directory: string) => Promise<void>,
): Promise<void> {
  const directory = await Deno.realPath(await Deno.makeTempDir());
  try {
    await use(directory);
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

/** The plan as `directory: entries`, relative to `base`. */
function shown(plan: WatchPlan, base: string): Record<string, string> {
  const entries = [...plan].map(([directory, { names }]) => {
    const name = directory.replace(base, "") || ".";
    return [
      name,
      names === "all" ? "all" : [...names].sort().join(" "),
    ] as const;
  });
  return Object.fromEntries(entries);
}

Deno.test("planWatch() watches a directory and its place", async () => {
  await withDirectory(async (base) => {
    await Deno.mkdir(`${base}/config`);
    assertEquals(shown(await planWatch([`${base}/config`]), base), {
      ".": "config",
      "/config": "all",
    });
  });
});

Deno.test("planWatch() watches a file in its directory", async () => {
  await withDirectory(async (base) => {
    await Deno.writeTextFile(`${base}/tls.crt`, "");
    await Deno.writeTextFile(`${base}/all`, "");
    const plan = await planWatch([
      `${base}/tls.crt`,
      `${base}/tls.key`,
      `${base}/all`,
    ]);
    assertEquals(shown(plan, base), { ".": "all tls.crt tls.key" });
    assertNotEquals(plan.get(base)?.names, "all");
  });
});

Deno.test("planWatch() watches each link on the way", async () => {
  await withDirectory(async (base) => {
    await Deno.mkdir(`${base}/releases/v1/config`, { recursive: true });
    await Deno.mkdir(`${base}/links`);
    await Deno.symlink("../releases/v1", `${base}/links/current`);
    await Deno.symlink(`${base}/links`, `${base}/entry`);
    const plan = await planWatch([`${base}/entry/current/config`]);
    assertEquals(shown(plan, base), {
      ".": "entry",
      "/links": "current",
      "/releases/v1": "config",
      "/releases/v1/config": "all",
    });
  });
});

Deno.test("planWatch() watches the nearest directory there is", async () => {
  await withDirectory(async (base) => {
    const missing = `${base}/a/b/config`;
    assertEquals(shown(await planWatch([missing]), base), { ".": "a" });
    await Deno.mkdir(`${base}/a`);
    assertEquals(shown(await planWatch([missing]), base), { "/a": "b" });
    await Deno.writeTextFile(`${base}/a/b`, "in the way");
    assertEquals(shown(await planWatch([missing]), base), { "/a": "b" });
  });
});

Deno.test("planWatch() ends when links go round or lead nowhere", async () => {
  await withDirectory(async (base) => {
    await Deno.symlink("loop", `${base}/loop`);
    await Deno.symlink("gone/away", `${base}/dangling`);
    const plan = await planWatch([`${base}/loop`, `${base}/dangling/config`]);
    assertEquals(shown(plan, base), { ".": "dangling gone loop" });
  });
});

Deno.test("planWatch() gives a directory made again another identity", async () => {
  await withDirectory(async (base) => {
    const directory = `${base}/config`;
    await Deno.mkdir(directory);
    const before = (await planWatch([directory])).get(directory)?.identity;
    await Deno.writeTextFile(`${directory}/a.yaml`, "");
    const edited = (await planWatch([directory])).get(directory)?.identity;
    assertEquals(edited, before);
    await Deno.mkdir(`${base}/next`);
    await Deno.rename(directory, `${base}/old`);
    await Deno.rename(`${base}/next`, directory);
    const after = (await planWatch([directory])).get(directory)?.identity;
    assertNotEquals(after, before);
  });
});
