import { assertEquals, assertRejects } from "@std/assert";
import { MADE_FILES, README_PARTS, updatedReadme } from "./parts.ts";

for (const { path, parts } of README_PARTS) {
  Deno.test(`updatedReadme() finds nothing to change in ${path}`, async () => {
    const url = new URL(`../../${path}`, import.meta.url);
    const text = await Deno.readTextFile(url);
    assertEquals(
      await updatedReadme(text, parts),
      text,
      "run deno task readme",
    );
  });
}

for (const [path, make] of Object.entries(MADE_FILES)) {
  Deno.test(`${path} is up to date`, async () => {
    const url = new URL(`../../${path}`, import.meta.url);
    const text = await Deno.readTextFile(url);
    assertEquals(await make(), text, "run deno task readme");
  });
}

Deno.test("updatedReadme() replaces what stands between the marks", async () => {
  const marks = "<!-- begin a -->old<!-- end a -->";
  const updated = await updatedReadme(`x ${marks} y`, { a: () => "new\n" });
  assertEquals(
    updated,
    "x <!-- begin a -->\n\n<!-- deno-fmt-ignore-start -->\n\nnew\n\n" +
      "<!-- deno-fmt-ignore-end -->\n\n<!-- end a --> y",
  );
});

Deno.test("updatedReadme() refuses a text without the marks", async () => {
  await assertRejects(
    () => updatedReadme("text", { a: () => "" }),
    Error,
    '"a"',
  );
});

Deno.test("READMEs name the pinned version of Deno, and this is it", async () => {
  const read = async (path: string): Promise<string> =>
    await Deno.readTextFile(new URL(`../../${path}`, import.meta.url));
  const pinned = (await read(".deno-version")).trim();
  for (const path of ["README.md", "docs/tutorials/ratelimit.md"]) {
    const named = (await read(path)).matchAll(/deno@(\d+\.\d+\.\d+)/g);
    assertEquals(
      new Set([...named].map((match) => match[1])),
      new Set([pinned]),
    );
  }
  assertEquals(Deno.version.deno, pinned);
});
