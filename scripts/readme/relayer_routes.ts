/**
 * Generates what the SDK's mock takes from the relayer: its routes, the schemas
 * of their bodies, and limits.
 *
 * @module
 */

import { VECTOR_WIDTH } from "../../sdk/mock/mock_vectors.ts";
import {
  MAX_METADATA_VALUE_BYTES,
  MIN_HALF_LIFE_DAYS,
} from "../../services/relayer/api/body_schemas.ts";
import { allRoutes } from "../../services/relayer/api/handler.ts";
import type { Route } from "../../services/relayer/api/route.ts";
import {
  DEFAULT_PAGE_LIMIT,
  MAX_PAGE_LIMIT,
  SNAPSHOT_VERSION,
} from "../../services/relayer/api/routes/owner_routes.ts";
import {
  DEFAULT_RECALL_LIMIT,
  MAX_RECALL_LIMIT,
} from "../../services/relayer/api/routes/recall_routes.ts";
import {
  MAX_WAIT_SECONDS,
} from "../../services/relayer/api/routes/remember_routes.ts";
import { openTestRelayer } from "../../services/relayer/api/testing/test_relayer.ts";
import { MAX_FACTS } from "../../services/relayer/extract/extractor.ts";
import type { JsonSchema } from "../../services/shared/schema/schema.ts";

/** Limits that no schema of a body says. */
const LIMITS = {
  facts: MAX_FACTS,
  waitSeconds: MAX_WAIT_SECONDS,
  recall: MAX_RECALL_LIMIT,
  defaultRecall: DEFAULT_RECALL_LIMIT,
  page: MAX_PAGE_LIMIT,
  defaultPage: DEFAULT_PAGE_LIMIT,
  snapshotVersion: SNAPSHOT_VERSION,
  halfLifeDays: MIN_HALF_LIFE_DAYS,
  metadataValueBytes: MAX_METADATA_VALUE_BYTES,
};

/** Routes that the mock does not have. */
const LEFT_OUT: readonly string[] = [
  "POST /",
  "POST /rpc",
  "POST /v1/owner-tokens",
  "GET /v1/owners/:owner/agents",
  "GET /api/accounts/:owner/exists",
  "GET /api/memories/:id/blob",
  "POST /api/memories/:id/vector",
];

const HEAD = `// deno-fmt-ignore-file: made by a program
/**
 * Routes of the relayer with the schemas of their bodies, and limits. Made of
 * the relayer's routes by \`deno task readme\`: change these, not this file.
 *
 * @module
 */
`;

/** Returns the text of `sdk/mock/relayer_routes.ts`. */
export function relayerRoutesSource(): Promise<string> {
  const { parts } = openTestRelayer();
  const embedder = { ...parts.embedder, width: VECTOR_WIDTH };
  const routes = allRoutes({ ...parts, embedder })
    .filter((route) => !LEFT_OUT.includes(formatName(route)));
  const shared = new Map<string, SharedSchema>();
  for (const { body } of routes) collect(body?.json ?? {}, shared);
  const repeated = [...shared].filter(([, { uses }]) => uses > 1);
  const names = new Map(repeated.map(([text, { name }]) => [text, name]));
  return Promise.resolve([
    HEAD,
    ...repeated.map(([text, { name }]) => `const ${name} = ${text} as const;`),
    "",
    "/** The routes by method and path. */",
    "export const RELAYER_ROUTES = {",
    ...routes.map((route) => `  ${routeSource(route, names)},`),
    "} as const;",
    "",
    "/** Limits that the schemas do not say. */",
    "export const LIMITS = {",
    ...Object.entries(LIMITS).map(([name, limit]) => `  ${name}: ${limit},`),
    "};",
    "",
  ].join("\n"));
}

function formatName({ method, path }: Route): string {
  return `${method} ${path}`;
}

function routeSource(
  route: Route,
  names: ReadonlyMap<string, string>,
): string {
  const { access, body } = route;
  const members = body === undefined
    ? ""
    : `, body: ${membersSource(body.json, { names, indent: "  " })}`;
  const scope = route.access === "open"
    ? ""
    : `, scope: "${route.token.scope}"`;
  return `"${formatName(route)}": { access: "${access}"${scope}${members} }`;
}

/** A schema that occurs more than once. */
interface SharedSchema {
  /** The constant that is made for it. */
  readonly name: string;
  uses: number;
}

/** Fewest characters of a schema that a constant is made for. */
const MIN_SHARED = 60;

/** Collects the schemas of members by their source text. */
function collect(
  { properties = {}, items }: JsonSchema,
  shared: Map<string, SharedSchema>,
): void {
  if (items !== undefined) collect(items, shared);
  for (const [name, member] of Object.entries(properties)) {
    const text = schemaSource(member);
    const known = shared.get(text);
    if (known !== undefined) known.uses++;
    else if (text.length < MIN_SHARED) continue;
    else shared.set(text, { name: name.toUpperCase(), uses: 1 });
    collect(member, shared);
  }
}

/** How schemas are written. */
interface Writing {
  /** Names of constants by the source text that they stand for. */
  readonly names: ReadonlyMap<string, string>;
  readonly indent: string;
}

const AT_TOP: Writing = { names: new Map(), indent: "" };

/**
 * Writes a schema without what is only for readers. An object has its members,
 * and is open unless `isClosed` says otherwise.
 */
function schemaSource(schema: JsonSchema, writing: Writing = AT_TOP): string {
  const { description: _, properties, required: __, items, ...rest } = schema;
  const { additionalProperties: others, ...plain } = rest;
  const parts = Object.entries(plain)
    .map(([name, value]) => `${name}: ${JSON.stringify(value)}`);
  if (properties !== undefined) {
    parts.push(`members: ${membersSource(schema, writing)}`);
    if (others === false) parts.push("isClosed: true");
  } else if (typeof others === "object") {
    parts.push(`values: ${schemaSource(others)}`);
  }
  if (items !== undefined) {
    const text = schemaSource(items, writing);
    parts.push(`items: ${writing.names.get(text) ?? text}`);
  }
  return `{ ${parts.join(", ")} }`;
}

function membersSource(
  { properties = {}, required = [] }: JsonSchema,
  { names, indent }: Writing,
): string {
  const inner = `${indent}  `;
  const lines = Object.entries(properties).map(([name, member]) => {
    const constant = names.get(schemaSource(member));
    const text = constant ?? schemaSource(member, { names, indent: inner });
    if (!required.includes(name)) return `${inner}${name}: ${text},\n`;
    return constant === undefined
      ? `${inner}${name}: ${text.slice(0, -2)}, isRequired: true },\n`
      : `${inner}${name}: { ...${constant}, isRequired: true },\n`;
  });
  return `{\n${lines.join("")}${indent}}`;
}
