import {
  assertEquals,
  assertNotEquals,
  assertStringIncludes,
} from "@std/assert";
import { serviceTest } from "../support/services.ts";
import { bundle } from "./bundle.ts";
import { Chromium } from "./chromium.ts";
import {
  MOVED_PATH,
  PageServer,
  type PageServerOptions,
} from "./page_server.ts";
import { checkRoundTrip, startTriedRelayer } from "./round_trip_check.ts";
import { TempFolder } from "./temp_folder.ts";

/** Long enough for the first start of a browser on a busy machine. */
const PAGE_MS = 60_000;

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
      await reportOf({ folder: folder.path, optionsAt: () => options }),
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
      await reportOf({ folder: folder.path, optionsAt: () => options }),
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
      await reportOf({
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

/** What the page tells, or an error with what the browser said. */
async function reportOf(parts: PageServerOptions): Promise<unknown> {
  await bundle("mod.ts", { into: `${parts.folder}/sdk.js` });
  await bundle("tests/sdk/round_trip.ts", {
    into: `${parts.folder}/round_trip.js`,
  });
  await using server = new PageServer(parts);
  const chromium = await Chromium.open(server.origin);
  const { promise: late, resolve } = Promise.withResolvers<undefined>();
  const timer = setTimeout(() => resolve(undefined), PAGE_MS);
  try {
    const report = await Promise.race([server.report, chromium.ended(), late]);
    if (report !== undefined) return report;
  } finally {
    clearTimeout(timer);
    await chromium[Symbol.asyncDispose]();
  }
  throw new Error(`Cannot get a report of the page: ${await chromium.said}`);
}
