/**
 * Uses the page of an API in a browser, as people do.
 *
 * @module
 */

import { assertEquals } from "@std/assert";
import { apiPageHtml } from "../services/shared/openapi/page.ts";
import { SAMPLE } from "../services/shared/openapi/testing/sample_document.ts";
import { openPage } from "./sdk/chromium.ts";
import { TempFolder } from "./sdk/temp_folder.ts";
import { serviceTest } from "./support/services.ts";

/** Filters the page, goes to the first place and tells what is seen. */
const PROGRAM = `
export async function run({ html, filters }) {
  const frame = document.createElement("iframe");
  const loaded = new Promise((resolve) => frame.addEventListener("load", resolve));
  frame.srcdoc = html;
  document.body.append(frame);
  await loaded;
  const page = frame.contentDocument;
  const box = page.getElementById("find");
  return filters.map((filter) => {
    box.value = filter;
    box.dispatchEvent(new Event("input"));
    const seen = [...page.querySelectorAll("main details:not([hidden])")];
    const places = [...page.querySelectorAll(".where")];
    const all = seen.length === page.querySelectorAll("main details").length;
    places[0]?.querySelector("button").click();
    return {
      seen: all ? "all" : seen.map((one) => one.id),
      places: places.map((one) => one.textContent.trim()),
      at: page.activeElement.tagName === "DT" && seen.some((one) =>
          one.open && one.contains(page.activeElement))
        ? page.activeElement.firstElementChild.textContent
        : "",
    };
  });
}
`;

serviceTest(["chromium"], {
  name:
    "the page of an API finds fields by name and by text, and leads to them",
  fn: async () => {
    await using folder = await TempFolder.make();
    await Deno.writeTextFile(`${folder.path}/program.mjs`, PROGRAM);
    const report = await openPage({
      folder: folder.path,
      optionsAt: () => ({
        html: apiPageHtml(SAMPLE),
        filters: ["makes", "make color", "says", ""],
      }),
    });
    assertEquals(report, [
      { seen: [], places: [], at: "" },
      { seen: ["op-makeNote"], places: ["in color"], at: "color" },
      { seen: ["op-makeNote"], places: ["in text"], at: "text" },
      { seen: "all", places: [], at: "text" },
    ]);
  },
});
