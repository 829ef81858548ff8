/**
 * Memories as resources, and the prompt that gathers what is known.
 *
 * @module
 */

import { MemError } from "../../../sdk/memory/errors.ts";
import {
  type McpPrompt,
  McpRequestError,
  type McpResources,
} from "../../shared/mcp/catalog.ts";
import type { MemoryContext } from "./memory_context.ts";
import { showMemories, viewMemory } from "./memory_texts.ts";

const SCHEME = "memory:";
const PAGE = 50;
/** Most memories that the prompt shows. */
const MAX_KNOWN = 20;
const TYPE = "text/plain";

/** The memories as resources, such as `memory://default/<id>`. */
export const MEMORY_RESOURCES: McpResources<MemoryContext> = {
  templates: [{
    uriTemplate: "memory://{namespace}/{id}",
    name: "memory",
    title: "A memory",
    description: "One memory, by its namespace and its id",
    mimeType: TYPE,
  }],
  async list(cursor, { context: { mem }, signal }) {
    const page = await toldFaults(() =>
      mem.listMemories({ cursor, limit: PAGE, signal })
    );
    return {
      resources: page.memories.map((entry) => {
        const { memory_id: id, namespace_id: namespace, created_at } = entry;
        return {
          uri: `${SCHEME}//${encodeURIComponent(namespace)}/${id}`,
          name: id,
          title: `Memory of ${created_at.slice(0, 10)} in ${namespace}`,
          mimeType: TYPE,
        };
      }),
      ...(page.has_more && page.next_cursor !== null
        ? { nextCursor: page.next_cursor }
        : {}),
    };
  },
  async read(uri, { context: { mem }, signal }) {
    const place = readUri(uri);
    if (place === undefined) return undefined;
    const { namespace, id } = place;
    const { results } = await toldFaults(() =>
      mem.recall({ query: "memory", ids: [id], namespace, signal })
    );
    const found = results.find((memory) => memory.id === id);
    return found && { uri, mimeType: TYPE, text: found.text };
  },
};

/** The prompts about memories. */
export const MEMORY_PROMPTS: readonly McpPrompt<MemoryContext>[] = [{
  name: "what_is_known",
  title: "What is known about a subject",
  description: "Gathers the memories about a subject, for a summary of them",
  arguments: [{
    name: "subject",
    description: "A person, a project or anything else",
    required: true,
  }, {
    name: "namespace",
    description: "The namespace; by default that of the connection",
    required: false,
  }],
  async get({ subject = "", namespace }, { context, signal }) {
    const { results } = await toldFaults(() =>
      context.mem.recall({
        query: subject,
        limit: MAX_KNOWN,
        namespace: namespace ?? context.namespace,
        ranking: "fused",
        signal,
      })
    );
    const known = results.length === 0
      ? "No matching memories were found."
      : showMemories(results.map(viewMemory));
    const text = `Summarize what is known about ${JSON.stringify(subject)}, ` +
      "with dates where they matter, and name what contradicts itself. Use " +
      `these memories and nothing else.\n\n${known}`;
    return [{ role: "user", content: { type: "text", text } }];
  },
}];

function readUri(
  uri: string,
): { readonly namespace: string; readonly id: string } | undefined {
  const match = /^memory:\/\/([^/?#]{1,765})\/([^/?#]{1,128})$/.exec(uri);
  if (match === null) return undefined;
  try {
    return {
      namespace: decodeURIComponent(match[1] ?? ""),
      id: match[2] ?? "",
    };
  } catch {
    return undefined;
  }
}

/** What the relayer refuses becomes an error that the client is told. */
async function toldFaults<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof MemError || error instanceof TypeError) {
      throw new McpRequestError(error.message);
    }
    throw error;
  }
}
