import { assert, assertEquals } from "@std/assert";
import { PROJECT } from "./pages.ts";

const PAGE = "docs/explanation/architecture.md";
const SERVICES = ["ratelimit", "tasks", "relayer"];

Deno.test("architecture.md names ten steps for each service, and only files of its program", async () => {
  const page = await Deno.readTextFile(PROJECT + PAGE);
  for (const service of SERVICES) {
    const start = page.indexOf(`\n## ${service}: `);
    assert(start >= 0, `there is no section on ${service}`);
    const section = page.slice(start, page.indexOf("\n## ", start + 1));
    assertEquals(section.match(/^\d+\. /gm)?.length, 10, service);
    const named = [...section.matchAll(/\(\.\.\/\.\.\/([\w/]+\.ts)\)/g)]
      .map(([, path = ""]) => path);
    const program = await programFiles(`services/${service}/main.ts`);
    assertEquals(named.filter((path) => !program.has(path)), [], service);
  }
});

/** The files that a program imports or starts as threads, itself included. */
async function programFiles(main: string): Promise<ReadonlySet<string>> {
  const found = new Set([main]);
  for (const path of found) {
    const text = await Deno.readTextFile(PROJECT + path);
    for (const [, target = ""] of text.matchAll(/"(\.\.?\/[\w./]+\.ts)"/g)) {
      const { pathname } = new URL(target, `file:///${path}`);
      found.add(decodeURIComponent(pathname.slice(1)));
    }
  }
  return found;
}
