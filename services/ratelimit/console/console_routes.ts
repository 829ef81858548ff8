/**
 * The routes of the console. Its pages only read: clients that may use the debug
 * port may see them without a sign-in.
 *
 * @module
 */

import type { Clock } from "../../shared/clock.ts";
import type { Route } from "../api/router.ts";
import { problem } from "../api/problem.ts";
import {
  CONSOLE_PAGES,
  CONSOLE_PATH,
  type ConsoleSource,
  type PageName,
} from "./page.ts";

/** Makes the routes; what renders pages is loaded with the first of them. */
export function consoleRoutes(
  source: ConsoleSource,
  clock: Pick<Clock, "nowMs">,
): readonly Route[] {
  const names = Object.keys(CONSOLE_PAGES) as readonly PageName[];
  return [
    ...names.map((name): Route => ({
      method: "GET",
      path: CONSOLE_PAGES[name].path,
      async handle(request) {
        const { answerPage } = await import("./answer_page.tsx");
        return await answerPage(request, {
          name,
          source,
          nowMs: clock.nowMs(),
        });
      },
    })),
    {
      method: "GET",
      path: `${CONSOLE_PATH}/assets/:name`,
      async handle({ target, headers }) {
        const { ASSET_HEADERS, findAsset } = await import(
          "../../shared/console/assets.ts"
        );
        const asset = findAsset(target.slice(target.lastIndexOf("/") + 1));
        if (asset === undefined) return problem({ status: 404 });
        const form = await asset.text.formFor(headers.get("accept-encoding"));
        return {
          status: 200,
          headers: {
            ...ASSET_HEADERS,
            ...form.headers,
            "content-type": asset.contentType,
            etag: form.etag,
          },
          body: form.bytes,
        };
      },
    },
  ];
}
