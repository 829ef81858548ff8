import {
  assertEquals,
  assertNotEquals,
  assertStringIncludes,
} from "@std/assert";
import { serviceTest } from "../support/services.ts";
import { bundle } from "./bundle.ts";
import { openPage } from "./chromium.ts";
import { MOVED_PATH, type PageServerOptions } from "./page_server.ts";
import { checkRoundTrip, startTriedRelayer } from "./round_trip_check.ts";
import { TempFolder } from "./temp_folder.ts";

/** The program that the page runs. */
const PROGRAM = `
import * as sdk from "./mod.js";
import { roundTrip } from "./tests/sdk/round_trip.js";
export async function run(options) {
  const report = await roundTrip(sdk, options);
  const copy = JSON.stringify(structuredClone(sdk.Mem.create(options)));
  return { origin: location.origin, report, copy };
}
`;

const NOBODY = {
  serverUrl: "http://127.0.0.1:9",
  key: "07".repeat(32),
  accountId: "0xa11ce",
  strangerKey: "08".repeat(32),
};

serviceTest(["chromium"], {
  name: "the SDK remembers, waits, recalls and deletes in a page of Chromium",
  fn: async () => {
    await using folder = await TempFolder.make();
    await using relayer = await startTriedRelayer(`${folder.path}/data`);
    const { options, account } = relayer;
    const { report, origin, ...rest } = Object(
      await runForReport({ folder: folder.path, optionsAt: () => options }),
    );
    assertNotEquals(origin, new URL(options.serverUrl).origin);
    assertEquals(rest, { copy: "{}" });
    checkRoundTrip(report, account);
  },
});

serviceTest(["chromium"], {
  name:
    "the SDK in a page gets no answer from a relayer that allows other origins only",
  fn: async () => {
    await using folder = await TempFolder.make();
    await using relayer = await startTriedRelayer(`${folder.path}/data`, {
      CORS_ORIGINS: "https://app.example",
    });
    const { options } = relayer;
    const { thrown } = Object(
      await runForReport({ folder: folder.path, optionsAt: () => options }),
    );
    assertStringIncludes(
      String(thrown),
      `no answer from "${options.serverUrl}"; is the relayer running there`,
    );
  },
});

serviceTest(["chromium"], {
  name: "the SDK in a page says that a redirect is not followed",
  fn: async () => {
    await using folder = await TempFolder.make();
    const { thrown } = Object(
      await runForReport({
        folder: folder.path,
        optionsAt: (origin) => ({ ...NOBODY, serverUrl: origin + MOVED_PATH }),
      }),
    );
    assertStringIncludes(
      String(thrown),
      "Cannot complete preflight GET /health: the relayer answered 3xx; " +
        "redirects are not followed",
    );
  },
});

/** Runs a round trip in a page; returns its report. */
async function runForReport(parts: PageServerOptions): Promise<unknown> {
  const { folder } = parts;
  await bundle(["mod.ts", "tests/sdk/round_trip.ts"], { into: folder });
  await Deno.writeTextFile(`${folder}/program.mjs`, PROGRAM);
  return await openPage(parts);
}
