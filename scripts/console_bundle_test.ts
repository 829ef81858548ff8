import { assert } from "@std/assert";
import { bundleConsole, bundleText } from "./console_bundle.ts";

Deno.test("the bundle of the relayer's console is that of its source", async () => {
  const kept = await Deno.readTextFile(
    new URL("../services/relayer/console/bundle.json", import.meta.url),
  );
  assert(
    kept === bundleText(await bundleConsole()),
    "The page of the console has changed: run `deno task console`",
  );
});
