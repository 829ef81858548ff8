/**
 * Takes the pictures of the consoles in docs/pictures/: starts each service with
 * believable data, and shows its pages to Chromium in light and dark.
 * `deno task pictures` runs it; behind `--`, names of services.
 *
 * @module
 */

import { exitWith, print } from "../../../scripts/terminal.ts";
import { Browser, type View } from "../browser.ts";
import { firstView } from "../first_view.ts";
import { SCENES, type Shot } from "./scenes.ts";

const TARGET = new URL("../../../docs/pictures/", import.meta.url);
const MAX_BYTES = 100_000;
const PAINTS = 10;

if (import.meta.main) await exitWith(main);

async function main(args: readonly string[]): Promise<number> {
  const names = args.filter((arg) => arg !== "--");
  for (const name of names.length > 0 ? names : Object.keys(SCENES)) {
    const withScene = SCENES[name];
    if (withScene === undefined) {
      throw new RangeError(
        `Cannot take pictures of "${name}": there are ${
          Object.keys(SCENES).join(", ")
        }`,
      );
    }
    await withScene(async ({ first, signIn, shots }) => {
      await using browser = await Browser.open();
      await browser.look({ width: 1_280, height: 800, scheme: "light" });
      await signIn?.(browser);
      print(await describeFirst(browser, first));
      for (const shot of shots) await take(browser, shot);
    });
  }
  return 0;
}

/** The size of the first page, and the median of its first paints. */
async function describeFirst(browser: Browser, url: string): Promise<string> {
  const views = [];
  for (let time = 0; time < PAINTS; time++) {
    views.push(await firstView(browser, url));
  }
  const paints = views.map(({ paintMs }) => paintMs).sort((a, b) => a - b);
  return `${new URL(url).pathname}: ${views[0]?.bytes} bytes, painted after ${
    Math.round(paints[PAINTS / 2] ?? 0)
  } ms (${Math.round(paints[0] ?? 0)} to ${Math.round(paints.at(-1) ?? 0)})`;
}

async function take(
  browser: Browser,
  { name, open, onPhone = false }: Shot,
): Promise<void> {
  for (const scheme of ["light", "dark"] as const) {
    await save(browser, `${name}_${scheme}`, {
      open,
      view: { width: 1_280, height: 800, scheme },
    });
    if (!onPhone) continue;
    await save(browser, `${name}_phone_${scheme}`, {
      open,
      view: { width: 390, height: 800, scheme },
    });
  }
}

async function save(
  browser: Browser,
  name: string,
  { open, view }: {
    readonly open: Shot["open"];
    readonly view: View;
  },
): Promise<void> {
  await browser.look(view);
  await open(browser);
  const picture = await browser.picture();
  if (picture.length > MAX_BYTES) {
    throw new Error(
      `Cannot keep ${name}: it has ${picture.length} bytes, and ` +
        `${MAX_BYTES} are the most`,
    );
  }
  await Deno.writeFile(new URL(`${name}.webp`, TARGET), picture);
  print(`docs/pictures/${name}.webp: ${picture.length} bytes`);
}
