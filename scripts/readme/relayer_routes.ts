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
import { isJsonObject } from "../../services/shared/schema/schema.ts";

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
  const routes = allRoutes({ ...parts, embedder }).map((route) =>
    [`${route.method} ${route.path}`, factsOf(route)] as const
  ).filter(([name]) => !LEFT_OUT.includes(name));
  const shared = sharedMembers(routes);
  const text = written(Object.fromEntries(routes), { shared });
  return Promise.resolve([
    HEAD,
    ...Array.from(
      shared,
      ([json, name]) =>
        `const ${name} = ${written(JSON.parse(json))} as const;\n`,
    ),
    "/** The routes by method and path. */",
    `export const RELAYER_ROUTES = ${text} as const;\n`,
    "/** Limits that the schemas do not say. */",
    `export const LIMITS = ${written(LIMITS)};\n`,
  ].join("\n"));
}

/** Long schemas of members that occur more than once, with names for them. */
function sharedMembers(routes: unknown): ReadonlyMap<string, string> {
  const names = new Map<string, string>();
  const repeated = new Set<string>();
  const visit = (value: unknown, isNames = false): void => {
    if (!isJsonObject(value) && !Array.isArray(value)) return;
    for (const [name, one] of Object.entries(value)) {
      const json = JSON.stringify(one);
      if (!isNames || json.length < MIN_SHARED) {
        visit(one, name === "properties");
      } else if (names.has(json)) repeated.add(json);
      else {
        names.set(json, name.toUpperCase());
        visit(one);
      }
    }
  };
  visit(routes);
  return new Map([...names].filter(([json]) => repeated.has(json)));
}

function factsOf({ access, body }: Route): object {
  return body === undefined ? { access } : { access, body: bare(body.json) };
}

/** A schema without what is only for readers. */
function bare(schema: unknown, isNames = false): unknown {
  if (Array.isArray(schema)) return schema.map((one) => bare(one));
  if (!isJsonObject(schema)) return schema;
  return Object.fromEntries(
    Object.entries(schema)
      .filter(([name, value]) =>
        isNames || name !== "description" &&
          // An object is open where nothing else is said.
          (name !== "additionalProperties" || value !== true)
      )
      .map(([name, value]) => [name, bare(value, name === "properties")]),
  );
}

/** Fewest characters of a schema that is written only once. */
const MIN_SHARED = 60;
const MAX_LINE = 80;

/** Writes a value as source text, in one line where there is room. */
function written(
  value: unknown,
  { shared, indent = "", used = 0 }: {
    readonly shared?: ReadonlyMap<string, string> | undefined;
    readonly indent?: string;
    /** Characters before the value in its line. */
    readonly used?: number;
  } = {},
): string {
  const json = JSON.stringify(value);
  const name = shared?.get(json);
  if (name !== undefined) return name;
  if (!isJsonObject(value)) return json;
  const inner = `${indent}  `;
  const members = Object.entries(value).map(([name, member]) => {
    const key = /^[a-z_]+$/i.test(name) ? name : JSON.stringify(name);
    const place = { shared, indent: inner, used: key.length + ": ,".length };
    return `${key}: ${written(member, place)}`;
  });
  const line = `{ ${members.join(", ")} }`;
  return !line.includes("\n") &&
      indent.length + used + line.length <= MAX_LINE
    ? line
    : `{\n${members.map((one) => `${inner}${one},\n`).join("")}${indent}}`;
}
