/**
 * The recall bench: a question, and what each of one or two rankings finds.
 *
 * @module
 */

import type { VNode } from "preact";
import type { RecallMemory, RecallParams } from "../../../mod.ts";
import {
  ChoiceField,
  TextArea,
  TextField,
} from "../../shared/console/form.tsx";
import { Empty, Note } from "../../shared/console/parts.tsx";
import { NamespaceField, readMetadata } from "./remember_view.tsx";
import {
  ActionForm,
  type Fields,
  href,
  Instant,
  Outcome,
  useCall,
  type ViewProps,
} from "./view.tsx";

/** What one ranking found. */
interface Column {
  readonly ranking: "semantic" | "fused";
  readonly namespace: string;
  readonly results: readonly RecallMemory[];
  /** How many more the relayer's answer had no room for. */
  readonly omitted: number;
  readonly tookMs: number;
}

const RANKINGS = {
  fused: ["fused"],
  semantic: ["semantic"],
  both: ["fused", "semantic"],
} as const;

const NAMES = {
  fused: "Fused: words and meaning",
  semantic: "Semantic: distance of vectors",
} as const;

/** Asks and shows the memories with why each is where it is. */
export function RecallView({ session, query }: ViewProps): VNode {
  const call = useCall<readonly Column[]>();
  const ask = (field: Fields): Promise<readonly Column[]> => {
    const params: RecallParams = {
      query: field("query"),
      namespace: field("namespace"),
      limit: Number(field("limit") || 10),
      explain: true,
      filter: readMetadata(field("filter")),
      ...readWeights(field),
    };
    const chosen = field("ranking");
    const rankings = chosen === "semantic" || chosen === "both"
      ? RANKINGS[chosen]
      : RANKINGS.fused;
    return Promise.all(rankings.map(async (ranking): Promise<Column> => {
      const startMs = performance.now();
      const { results, omitted_ids = [] } = await session.mem.recall({
        ...params,
        ranking,
      });
      const tookMs = performance.now() - startMs;
      const { namespace = "default" } = params;
      return {
        ranking,
        namespace,
        results,
        omitted: omitted_ids.length,
        tookMs,
      };
    }));
  };
  return (
    <>
      <ActionForm
        label="Recall"
        busy={call.state.kind === "busy"}
        onSend={(field) => call.run(() => ask(field))}
      >
        <TextField
          name="query"
          label="Question"
          value={query.get("query") ?? ""}
          isRequired
          isSearch
        />
        <div class="filters">
          <NamespaceField value={query.get("namespace") ?? "default"} />
          <ChoiceField
            name="ranking"
            label="Ranking"
            value="fused"
            choices={[
              ["fused", "fused"],
              ["semantic", "semantic"],
              ["both", "both, side by side"],
            ]}
          />
          <TextField name="limit" label="At most" type="number" value="10" />
        </div>
        <details class="more">
          <summary>Weights and filter</summary>
          <div class="filters">
            <TextField name="semantic" label="Weight of fit" type="number" />
            <TextField name="recency" label="Of newness" type="number" />
            <TextField name="halfLife" label="Half-life, days" type="number" />
            <TextField name="importance" label="Of importance" type="number" />
          </div>
          <TextArea
            name="filter"
            label="Metadata"
            rows={2}
            hint="A line for each that a memory has to have: name=value."
          />
        </details>
      </ActionForm>
      <Outcome call={call} busy="The relayer looks…">
        {(columns) => (
          <div class={columns.length > 1 ? "grid" : undefined}>
            {columns.map((column) => <ColumnPart column={column} />)}
          </div>
        )}
      </Outcome>
    </>
  );
}

function readWeights(field: Fields): Pick<RecallParams, "scoringWeights"> {
  const given = {
    semantic: field("semantic"),
    recency: field("recency"),
    recencyHalfLifeDays: field("halfLife"),
    importance: field("importance"),
  };
  const entries = Object.entries(given).filter(([, text]) => text !== "");
  return entries.length === 0 ? {} : {
    scoringWeights: Object.fromEntries(
      entries.map(([name, text]) => [name, Number(text)]),
    ),
  };
}

function ColumnPart({ column }: { readonly column: Column }): VNode {
  const { ranking, results, omitted, tookMs, namespace } = column;
  const id = `by-${ranking}`;
  const most = Math.max(
    ...results.flatMap(({ explanation }) =>
      Object.values(explanation?.parts ?? {}).map(Math.abs)
    ),
  );
  return (
    <section class="section" aria-labelledby={id}>
      <h2 id={id}>{NAMES[ranking]}</h2>
      <p class="dim">
        {`${results.length} found in ${Math.round(tookMs)} ms`}
      </p>
      {omitted === 0 ? null : (
        <Note tone="warn">
          {`${omitted} more did not fit into the relayer's answer.`}
        </Note>
      )}
      {results.length === 0 ? <Empty>Nothing fits.</Empty> : (
        <ol class="found">
          {results.map((memory) => (
            <li>
              <Found memory={memory} namespace={namespace} most={most} />
            </li>
          ))}
        </ol>
      )}
    </section>
  );
}

function Found(
  { memory, namespace, most }: {
    readonly memory: RecallMemory;
    readonly namespace: string;
    /** The largest part of all memories of the list. */
    readonly most: number;
  },
): VNode {
  const { id, text, explanation, created_at } = memory;
  const measures = [
    ["score", memory.score],
    ["relevance", memory.relevance],
    ["distance", memory.distance],
  ].flatMap(([name, value]) =>
    typeof value === "number" ? [`${name} ${value.toFixed(3)}`] : []
  );
  return (
    <>
      <p class="text">
        <Marked text={text} words={explanation?.matched ?? []} />
      </p>
      <p class="dim">
        {measures.join(" · ")}
        {created_at === undefined ? null : (
          <>
            {" · "}
            <Instant at={created_at} />
          </>
        )}
        {id === undefined ? null : (
          <>
            {" · "}
            <a href={href("memories", namespace, id)}>Details</a>
          </>
        )}
      </p>
      {explanation === undefined
        ? null
        : <Parts parts={explanation.parts} most={most} />}
    </>
  );
}

/** The text with the words of the question that it has. */
function Marked(
  { text, words }: { readonly text: string; readonly words: readonly string[] },
): VNode {
  if (words.length === 0) return <>{text}</>;
  const parts = text.split(
    new RegExp(`(${words.map(wordPattern).join("|")})`, "iu"),
  );
  return (
    <>{parts.map((part, at) => at % 2 === 1 ? <mark>{part}</mark> : part)}</>
  );
}

/**
 * Matches a word with its endings, as `drinks` for `drink`; in scripts without
 * spaces, the characters alone.
 */
function wordPattern(word: string): string {
  const escaped = word.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
  return /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}]/u.test(word)
    ? escaped
    : `(?<![\\p{L}\\p{N}])${escaped}[\\p{L}\\p{N}]*`;
}

/** What raised and lowered a memory, as bars to one scale. */
function Parts(
  { parts, most }: {
    readonly parts: Readonly<Record<string, number>>;
    readonly most: number;
  },
): VNode | null {
  const entries = Object.entries(parts).filter(([, value]) => value !== 0);
  if (entries.length === 0) return null;
  return (
    <ul class="spans" aria-label="What its place comes from">
      {entries.map(([name, value]) => (
        <li>
          <span>{name}</span>
          <svg
            class="span"
            viewBox="0 0 100 8"
            preserveAspectRatio="none"
            aria-hidden="true"
          >
            <rect
              class={value < 0 ? "bad" : "good"}
              width={Math.abs(value) / most * 100}
              height="8"
            />
          </svg>
          <span class="long">{value.toFixed(3)}</span>
        </li>
      ))}
    </ul>
  );
}
