import { assert, assertEquals } from "@std/assert";
import { SERVICE_NAMES } from "../../scripts/permissions.ts";
import {
  namesIn,
  readText,
  readTree,
  toList,
  toTexts,
  toTree,
  type Tree,
} from "./yaml_tree.ts";

const FOLDER = ".github/ISSUE_TEMPLATE";
const TYPES = ["markdown", "textarea", "input", "dropdown", "checkboxes"];

async function readForms(): Promise<readonly (readonly [string, Tree])[]> {
  const files = (await namesIn(FOLDER)).filter((file) => file !== "config.yml");
  return await Promise.all(
    files.map(async (file) => [file, await readTree(`${FOLDER}/${file}`)]),
  );
}

function readParts(form: Tree, file: string): readonly Tree[] {
  return toList(form.body, file).map((part) => toTree(part, file));
}

Deno.test("issue forms have what the forge asks for", async () => {
  const forms = await readForms();
  assertEquals(forms.map(([file]) => file), ["bug.yml", "feature.yml"]);
  for (const [file, form] of forms) {
    assert(typeof form.name === "string" && form.name !== "", file);
    assert(typeof form.description === "string", file);
    const parts = readParts(form, file);
    const asking = parts.filter(({ type }) => type !== "markdown");
    assert(asking.length > 0, file);
    const ids = asking.map(({ id }) => String(id));
    assertEquals(ids.length, new Set(ids).size, file);
    for (const part of parts) {
      const { type, attributes } = part;
      assert(TYPES.includes(String(type)), `${file}: ${type}`);
      const { label, value, options } = toTree(attributes, file);
      assert(type === "markdown" ? value : label, `${file}: ${part.id}`);
      assertEquals(Array.isArray(options), type === "dropdown", file);
      if (type === "markdown") continue;
      const { required } = toTree(part.validations, file);
      assertEquals(typeof required, "boolean", `${file}: ${part.id}`);
    }
  }
});

Deno.test("the form for faults names every service", async () => {
  const form = await readTree(`${FOLDER}/bug.yml`);
  const parts = readParts(form, "bug.yml").map(({ attributes }) =>
    toTexts(toTree(attributes, "bug.yml").options, "options")
  ).flat();
  for (const service of SERVICE_NAMES) assert(parts.includes(service), service);
});

Deno.test("who opens an issue is told where vulnerabilities are reported", async () => {
  const config = await readTree(`${FOLDER}/config.yml`);
  assertEquals(config.blank_issues_enabled, false);
  const links = toList(config.contact_links, "config.yml")
    .map((link) => toTree(link, "config.yml"));
  for (const { name, url, about } of links) {
    assert(name && about);
    assertEquals(URL.parse(String(url))?.protocol, "https:");
  }
  assert(links.some(({ about }) => String(about).includes("SECURITY.md")));
  const policy = await readText("SECURITY.md");
  assert(policy.includes("Report a vulnerability"));
});
