/**
 * The page of the keys that are over their limits most often.
 *
 * @module
 */

import { Live } from "../../shared/console/parts.tsx";
import { KeyTable } from "./key_table.tsx";
import type { PageCall, PageContent } from "./page.ts";

/** Shows the keys. */
export async function keysPage({ source }: PageCall): Promise<PageContent> {
  return {
    title: "Keys over limit",
    content: (
      <>
        <p class="dim">
          The keys that were refused most often within about the last minute, by
          all threads; those of limits in shadow mode as well. Rates are
          estimates where there are many. A key leads to its explanation.
        </p>
        <Live id="keys">
          <KeyTable keys={await source.reports.keys()} />
        </Live>
      </>
    ),
  };
}
