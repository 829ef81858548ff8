/**
 * Renders an API operation as HTML: who may call it, what it takes, what it
 * answers.
 *
 * @module
 */

import type { JsonValue } from "../schema/schema.ts";
import { ADDRESS, formatCurl, sampleText, serverAddress } from "./samples.ts";
import {
  type OpenApiDocument,
  type OpenApiMedia,
  type OpenApiOperation,
  type OpenApiParameter,
  type OpenApiResponse,
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
  detailHtml,
  findComponent,
  memberHtml,
  schemaAnchor,
  typeHtml,
} from "./schema_html.ts";

/** An operation and where it is. */
export interface PlacedOperation {
  /** The method, in upper case. */
  readonly method: string;
  /** The path, with `{name}` for parameters. */
  readonly path: string;
  /** The operation. */
  readonly operation: OpenApiOperation;
}

/** The anchor of an operation. */
export function operationAnchor({ operationId }: OpenApiOperation): string {
  return toAnchor("op", operationId);
}

/** Renders an operation as a `details` element, which is closed at first. */
export function operationHtml(
  document: OpenApiDocument,
  { method, path, operation }: PlacedOperation,
): string {
  const parameters = (operation.parameters ?? []).map((one) =>
    resolved<OpenApiParameter>(document, one)
  );
  const curl = formatCurl(document, { method, path, operation, parameters });
  const parts = [
    paragraphsHtml(operation.description ?? ""),
    serversHtml(operation),
    accessHtml(operation),
    parametersHtml(parameters),
    bodyHtml(document, operation),
    answersHtml(document, operation),
    `<h3>With curl</h3>\n${codeBlock(curl)}`,
  ];
  const verb = method.toLowerCase();
  return `<details class="op" id="${operationAnchor(operation)}">
<summary><b class="m ${toAnchor("m", verb)}">${textHtml(method)}</b> ${
    codeHtml(basePath(document, operation) + path)
  } <span>${lineHtml(operation.summary)}</span></summary>
<div class="in">
${parts.filter((part) => part !== "").join("\n")}
</div>
</details>`;
}

/** Text as it stands; `$URL` is the address of the service. */
export function codeBlock(text: string): string {
  const html = textHtml(text).replaceAll(
    ADDRESS,
    `<span class="url">${ADDRESS}</span>`,
  );
  return `<pre tabindex="0"><code>${html}</code></pre>`;
}

/** What stands before the path at the first server of an operation. */
function basePath(
  { servers }: OpenApiDocument,
  operation: OpenApiOperation,
): string {
  const url = (operation.servers ?? servers)[0]?.url ?? "";
  return url.replace(/^https?:\/\/[^/]*/, "").replace(/\/$/, "");
}

function serversHtml({ servers = [] }: OpenApiOperation): string {
  if (servers.length === 0) return "";
  return `<p>At ${
    servers.map((server) => codeHtml(serverAddress(server))).join(" or ")
  }</p>`;
}

function accessHtml({ security }: OpenApiOperation): string {
  if (security.length === 0) return "<p>Everyone may call it.</p>";
  const ways = security.map((way) =>
    Object.entries(way).map(([name, scopes]) => {
      const link = `<a href="#${toAnchor("auth", name)}">${textHtml(name)}</a>`;
      return scopes.length === 0
        ? link
        : `${link} with ${scopes.map(codeHtml).join(", ")}`;
    }).join(" and ")
  );
  return `<p>Needs ${ways.join("; or ")}.</p>`;
}

function parametersHtml(parameters: readonly OpenApiParameter[]): string {
  if (parameters.length === 0) return "";
  const rows = parameters.map(({ name, in: place, required, ...rest }) => {
    const { description, schema } = rest;
    return memberHtml(
      description === undefined ? schema : { ...schema, description },
      {
        name: `${codeHtml(name)} <span class="t">in ${place},</span>`,
        isRequired: required,
      },
    );
  });
  return `<h3>Parameters</h3>\n<dl>\n${rows.join("\n")}\n</dl>`;
}

function bodyHtml(
  document: OpenApiDocument,
  { requestBody }: OpenApiOperation,
): string {
  if (requestBody === undefined) return "";
  const types = Object.entries(requestBody.content);
  const [first] = types;
  if (first === undefined) return "";
  const [, media] = first;
  const schema = media.schema ?? {};
  const name = findComponent(schema);
  const shown = name === undefined
    ? schema
    : document.components.schemas[name] ?? {};
  return [
    `<h3>Body${
      requestBody.required ? ' <b class="req">required</b>' : ""
    }</h3>`,
    `<p>${typeHtml(schema)} as ${
      types.map(([type]) => codeHtml(type)).join(" or ")
    }</p>`,
    detailHtml(shown),
    exampleHtml(media.example),
  ].filter((part) => part !== "").join("\n");
}

/** Renders an example value, if there is one. */
export function exampleHtml(example: JsonValue | undefined): string {
  if (example === undefined) return "";
  const text = typeof example === "string"
    ? example
    : sampleText(example, { indent: 2 });
  return `<p class="facts">For example</p>\n${codeBlock(text)}`;
}

function answersHtml(
  document: OpenApiDocument,
  { responses }: OpenApiOperation,
): string {
  const rows = Object.entries(responses).map(([status, answer]) =>
    answerHtml(status, resolved<OpenApiResponse>(document, answer))
  );
  return `<h3>Answers</h3>\n<dl>\n${rows.join("\n")}\n</dl>`;
}

function answerHtml(status: string, answer: OpenApiResponse): string {
  const { description, content = {}, headers = {} } = answer;
  const media = Object.entries(content);
  const names = Object.keys(headers);
  const isGood = Number(status) < 400;
  const kinds = media.flatMap(([, { examples = {} }]) => Object.keys(examples));
  const code = `<b class="${isGood ? "ok" : "no"}">${textHtml(status)}</b>`;
  // The meaning of such an answer is shown once, beside its example.
  if (kinds.length > 0) {
    return `<dt>${code} ${kinds.map(kindLink).join(", ")}</dt>`;
  }
  return [
    `<dt>${code} ${media.map(mediaTypeHtml).join(" or ")}</dt>`,
    `<dd>${paragraphsHtml(description)}`,
    names.length === 0
      ? ""
      : `<p class="facts">with ${names.map(codeHtml).join(", ")}</p>`,
    ...media.map(([, { schema, example }]) =>
      [
        // A schema with a name is shown in the list of schemas.
        ...schema !== undefined && findComponent(schema) !== undefined
          ? []
          : [detailHtml(schema ?? {}), exampleHtml(example)],
      ].join("")
    ),
    "</dd>",
  ].filter((part) => part !== "").join("\n");
}

/** The anchor of an example with a name. */
export function exampleAnchor(name: string): string {
  return toAnchor("example", name);
}

function kindLink(name: string): string {
  return `<a href="#${exampleAnchor(name)}">${textHtml(name)}</a>`;
}

function mediaTypeHtml(
  [type, { schema }]: readonly [string, OpenApiMedia],
): string {
  const name = schema && findComponent(schema);
  return name === undefined
    ? `<span class="t">${textHtml(type)}</span>`
    : `<a href="#${schemaAnchor(name)}">${textHtml(name)}</a>`;
}
