import { assert, assertEquals } from "@std/assert";
import { bundle, loadedTexts } from "./bundle.ts";
import { TempFolder } from "./temp_folder.ts";

/**
 * Packages that only some applications have; the bundle must not import any of
 * them.
 */
const OPTIONAL_PEERS = ["@grpc/grpc-js", "ai", "redis", "protobufjs", "croner"];

/**
 * The most bytes of a bundle. The first one has the packages for runtimes
 * without WebCrypto, which bundlers that split leave for later.
 */
const MAX_BYTES = 255_000;
const MAX_MINIFIED_BYTES = 73_500;

Deno.test("the SDK is one file for browsers that needs no package and no runtime's own parts", async () => {
  await using folder = await TempFolder.make();
  const path = `${folder.path}/sdk.js`;
  await bundle("mod.ts", { into: path });
  const text = await Deno.readTextFile(path);
  assertEquals(text.match(/^\s*import\b.*/gm) ?? [], []);
  assertEquals(text.match(/\b(?:import|require)\s*\(\s*["'`][^)]*\)/g), null);
  assertEquals(text.match(/["'`]node:[^"'`]*["'`]/g), null);
  assertEquals(text.match(/\b(?:Deno|Bun|process)\s*[.[].*/g), null);
  for (const name of OPTIONAL_PEERS) {
    assertEquals(text.includes(`"${name}"`), false, name);
  }
  assert(/export\s*\{[^}]*\bMem\b/.test(text), "Mem is not exported");
  const { size } = await Deno.stat(path);
  tell(`the SDK's bundle has ${size} bytes`);
  assert(size <= MAX_BYTES, `${size} bytes are more than ${MAX_BYTES}`);
});

Deno.test("the SDK stays small when it is minified, apart from what it loads when needed", async () => {
  await using folder = await TempFolder.make();
  await bundle("mod.ts", {
    into: folder.path,
    isMinified: true,
    isSplit: true,
  });
  const texts = await loadedTexts(folder.path, "mod.js");
  const size = [...texts.values()].reduce((sum, text) => sum + text.length, 0);
  tell(`the SDK's minified bundle has ${size} bytes`);
  assert(
    size <= MAX_MINIFIED_BYTES,
    `${size} bytes are more than ${MAX_MINIFIED_BYTES}`,
  );
});

Deno.test("the SDK's bundle exports what mod.ts does", async () => {
  await using folder = await TempFolder.make();
  const path = `${folder.path}/sdk.js`;
  await bundle("mod.ts", { into: path });
  const [bundled, source] = await Promise.all([
    import(`file://${path}`),
    import("../../mod.ts"),
  ]);
  assertEquals(Object.keys(bundled).sort(), Object.keys(source).sort());
});

function tell(line: string): void {
  Deno.stderr.writeSync(new TextEncoder().encode(`${line}\n`));
}
