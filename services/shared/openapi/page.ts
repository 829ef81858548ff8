/**
 * Renders the HTML page of an API from its OpenAPI document. The page loads
 * nothing: style and script are inline, and its content security policy names
 * them by their hashes.
 *
 * @module
 */

import { createHash } from "node:crypto";
import { htmlDocument } from "../http/html_page.ts";
import type { JsonValue } from "../schema/schema.ts";
import {
  type OpenApiDocument,
  type OpenApiExample,
  type OpenApiMedia,
  type OpenApiOperation,
  type OpenApiResponse,
  type OpenApiSecurityScheme,
  type OpenApiServer,
  resolved,
} from "./document.ts";
import {
  codeHtml,
  lineHtml,
  paragraphsHtml,
  textHtml,
  toAnchor,
} from "../http/html.ts";
import {
  codeBlock,
  exampleAnchor,
  exampleHtml,
  operationAnchor,
  operationHtml,
  type PlacedOperation,
} from "./operation_html.ts";
import { SCRIPT, STYLE } from "./page_parts.ts";
import { ADDRESS, sampleText, serverAddress } from "./samples.ts";
import {
  detailHtml,
  findComponent,
  schemaAnchor,
  typeHtml,
} from "./schema_html.ts";

/** The headers that go with the page, their names in lower case. */
export function apiPageHeaders(): Readonly<Record<string, string>> {
  return {
    "content-security-policy": "default-src 'none'; " +
      `style-src '${hashText(STYLE)}'; script-src '${hashText(SCRIPT)}'; ` +
      "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
  };
}

function hashText(text: string): string {
  return `sha256-${createHash("sha256").update(text).digest("base64")}`;
}

/** Makes the page. */
export function apiPageHtml(document: OpenApiDocument): string {
  const { info, components } = document;
  const groups = groupOperations(document);
  const links = [
    ...groups.map(({ name }) => [toAnchor("tag", name), name] as const),
    ...hasAny(components.securitySchemes) ? [["auth", "Credentials"]] : [],
    ...hasAny(components.examples) ? [["examples", "Problems"]] : [],
    ...hasAny(components.schemas) ? [["schemas", "Schemas"]] : [],
  ];
  return htmlDocument({
    title: `${info.title}: API`,
    style: STYLE,
    body: `<a class="skip" href="#main">Skip to the operations</a>
<div class="all">
<header>
<h1>${textHtml(info.title)}</h1>
${paragraphsHtml(info.description ?? "")}
<p class="facts">Version ${
      textHtml(info.version)
    }. For programs: <a href="/openapi.json">/openapi.json</a></p>
${document.servers.map(serverHtml).join("\n")}
</header>
<nav aria-label="Parts of the API">
<div hidden><label for="find">Find operations and fields</label>
<input id="find" type="search" autocomplete="off" spellcheck="false">
<p class="facts" id="found" role="status"></p></div>
<ul>
${
      links.map(([anchor, text]) =>
        `<li><a href="#${anchor}">${textHtml(text ?? "")}</a></li>`
      ).join("\n")
    }
</ul>
</nav>
<main id="main">
${groups.map((group) => groupHtml(document, group)).join("\n")}
${credentialsHtml(components.securitySchemes)}
${problemsHtml(components.examples ?? {})}
${schemasHtml(document)}
</main>
</div>
<script>${SCRIPT}</script>`,
  });
}

interface Group {
  readonly name: string;
  readonly description?: string | undefined;
  readonly operations: readonly PlacedOperation[];
}

/** The operations by the first of their tags, in the order of the tags. */
function groupOperations({ paths, tags }: OpenApiDocument): readonly Group[] {
  const all = Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({
      path,
      method: method.toUpperCase(),
      operation,
    }))
  );
  return tags.map((tag) => ({
    ...tag,
    operations: all.filter(({ operation }) => operation.tags[0] === tag.name),
  })).filter(({ operations }) => operations.length > 0);
}

function serverHtml(server: OpenApiServer): string {
  const address = serverAddress(server);
  if (address === ADDRESS) {
    return `<p class="facts" id="address">In examples ${
      codeHtml(ADDRESS)
    } stands for the address of this service.</p>`;
  }
  const variables = Object.entries(server.variables ?? {}).map(
    ([name, { description = "" }]) =>
      `${codeHtml(`{${name}}`)}: ${lineHtml(description)}`,
  );
  return `<p>At ${codeHtml(server.url)}</p>
${variables.map((line) => `<p class="facts">${line}</p>`).join("\n")}`;
}

function groupHtml(
  document: OpenApiDocument,
  { name, description, operations }: Group,
): string {
  return `<section>
<h2 id="${toAnchor("tag", name)}">${textHtml(name)}</h2>
${paragraphsHtml(description ?? "")}
${operations.map((one) => operationHtml(document, one)).join("\n")}
</section>`;
}

function credentialsHtml(
  schemes: Readonly<Record<string, OpenApiSecurityScheme>>,
): string {
  if (!hasAny(schemes)) return "";
  const rows = Object.entries(schemes).map(([name, scheme]) => {
    const header = scheme.type === "apiKey"
      ? `${scheme.name}: …`
      : `authorization: ${scheme.scheme === "bearer" ? "Bearer" : "Basic"} …`;
    return `<dt id="${toAnchor("auth", name)}"><b>${textHtml(name)}</b> ${
      codeHtml(header)
    }</dt><dd>${lineHtml(scheme.description)}</dd>`;
  });
  return `<section>
<h2 id="auth">Credentials</h2>
<dl>
${rows.join("\n")}
</dl>
</section>`;
}

function problemsHtml(
  examples: Readonly<Record<string, OpenApiExample>>,
): string {
  if (!hasAny(examples)) return "";
  const items = Object.entries(examples).map(
    ([name, { summary, description = "", value }]) =>
      `<details id="${exampleAnchor(name)}">
<summary>${codeHtml(name)} <span>${lineHtml(summary)}</span></summary>
<div class="in">
${paragraphsHtml(description)}
${codeBlock(sampleText(value, { indent: 2 }))}
</div>
</details>`,
  );
  return `<section>
<h2 id="examples">Problems</h2>
${items.join("\n")}
</section>`;
}

function schemasHtml(document: OpenApiDocument): string {
  const { schemas } = document.components;
  if (!hasAny(schemas)) return "";
  const { homes, examples } = findPlaces(document);
  const items = Object.entries(schemas).map(([name, schema]) => {
    const home = homes.get(name);
    const content = home === undefined
      ? [detailHtml(schema), exampleHtml(examples.get(name))].join("\n")
      : `<p>The body of <a href="#${operationAnchor(home)}">${
        lineHtml(home.summary)
      }</a></p>`;
    return `<details id="${schemaAnchor(name)}">
<summary><b>${textHtml(name)}</b> <span>${
      plainType(typeHtml(schema))
    }</span></summary>
<div class="in">
${content}
</div>
</details>`;
  });
  return `<section>
<h2 id="schemas">Schemas</h2>
${items.join("\n")}
</section>`;
}

/** Removes links: in a `summary`, which opens its details, they disturb. */
function plainType(html: string): string {
  return html.replaceAll(/<\/?a\b[^>]*>/g, "");
}

function hasAny(record: Readonly<Record<string, unknown>> = {}): boolean {
  return Object.keys(record).length > 0;
}

/**
 * Where the page shows a schema with a name: one that a single operation takes
 * stands there, all others stand in the list of schemas, with an example.
 */
interface Places {
  /** The operation whose body is the only use of a schema, by schema name. */
  readonly homes: ReadonlyMap<string, OpenApiOperation>;
  /** An example of a schema, by its name. */
  readonly examples: ReadonlyMap<string, JsonValue>;
}

/** Finds the place of every schema with a name. */
function findPlaces(document: OpenApiDocument): Places {
  const all = new Map<string, number>();
  countReferences(document, all);
  const homes = new Map<string, OpenApiOperation>();
  const examples = new Map<string, JsonValue>();
  for (const item of Object.values(document.paths)) {
    for (const operation of Object.values(item)) {
      const bodies = Object.values(operation.requestBody?.content ?? {});
      for (const name of bodies.map(findName)) {
        if (name === undefined) continue;
        const own = bodies.filter((media) => findName(media) === name).length;
        if (all.get(name) === own) homes.set(name, operation);
      }
      const answers = Object.values(operation.responses).flatMap((answer) =>
        Object.values(
          resolved<OpenApiResponse>(document, answer).content ?? {},
        )
      );
      for (const media of [...answers, ...bodies]) {
        const name = findName(media);
        if (name === undefined || media.example === undefined) continue;
        if (!examples.has(name)) examples.set(name, media.example);
      }
    }
  }
  return { homes, examples };
}

function findName({ schema }: OpenApiMedia): string | undefined {
  return schema && findComponent(schema);
}

function countReferences(value: unknown, counts: Map<string, number>): void {
  if (typeof value !== "object" || value === null) return;
  for (const [key, inner] of Object.entries(value)) {
    const name = key === "$ref" && typeof inner === "string"
      ? findComponent({ $ref: inner })
      : undefined;
    if (name !== undefined) counts.set(name, (counts.get(name) ?? 0) + 1);
    countReferences(inner, counts);
  }
}
