/**
 * The list of memories, and one memory with all that is known of it.
 *
 * @module
 */

import type { VNode } from "preact";
import type {
  DeleteMemoryResult,
  Mem,
  MemoryEntry,
  RecallMemory,
  RememberJobStatus,
} from "../../../mod.ts";
import {
  CheckField,
  ChoiceField,
  TextField,
} from "../../shared/console/form.tsx";
import {
  Badge,
  Code,
  Empty,
  FactList,
  Note,
  type Tone,
} from "../../shared/console/parts.tsx";
import { Pager, Table } from "../../shared/console/table.tsx";
import { filterMemories, type Listing, readListing } from "./listing.ts";
import { ReceiptPart } from "./receipt_part.tsx";
import {
  ActionForm,
  count,
  Fixed,
  formatBytes,
  href,
  Instant,
  MEMORIES,
  Outcome,
  useCall,
  useLoaded,
  type ViewProps,
} from "./view.tsx";

const PAGE_ROWS = 50;

const TONES: Readonly<Record<string, Tone>> = {
  active: "good",
  superseded: "dim",
  expired: "warn",
};

/** Shows the list, or the memory that the address names. */
export function MemoriesView(props: ViewProps): VNode {
  const [namespace, id] = props.path;
  return namespace === undefined || id === undefined
    ? <ListPart {...props} />
    : <MemoryPart session={props.session} namespace={namespace} id={id} />;
}

function ListPart({ session, query }: ViewProps): VNode {
  const call = useLoaded("", () => readListing(session.mem));
  return (
    <Outcome call={call} busy="Reading the list…">
      {(listing) => (
        <FilteredList listing={listing} query={query} mem={session.mem} />
      )}
    </Outcome>
  );
}

function FilteredList(
  { listing: { memories, isCut }, query, mem }: {
    readonly listing: Listing;
    readonly query: URLSearchParams;
    readonly mem: Mem;
  },
): VNode {
  const texts = useCall<ReadonlyMap<string, string>>();
  const get = (name: string): string => query.get(name) ?? "";
  const found = filterMemories(memories, {
    namespace: get("namespace"),
    status: get("status"),
    id: get("id"),
    from: get("from"),
    until: get("until"),
  });
  const start = Math.max(0, Number(get("start")) || 0);
  const shown = found.slice(start, start + PAGE_ROWS);
  const at = (from: number): string => {
    const next = new URLSearchParams(query);
    next.set("start", String(from));
    return `#/memories?${next}`;
  };
  const names = [...new Set(memories.map((one) => one.namespace_id))].sort();
  return (
    <>
      <form
        class="filters"
        role="search"
        onSubmit={(event) => {
          event.preventDefault();
          const data = new FormData(event.currentTarget);
          const next = new URLSearchParams();
          for (const [name, value] of data) {
            if (value !== "") next.set(name, String(value));
          }
          location.hash = `#/memories?${next}`;
        }}
      >
        <Fixed key={`${query}`}>
          <TextField
            name="id"
            label="Id of memory or blob"
            type="search"
            value={get("id")}
            isSearch
          />
          <ChoiceField
            name="namespace"
            label="Namespace"
            value={get("namespace")}
            choices={[
              ["", "all"],
              ...names.map((name) => [name, name] as const),
            ]}
          />
          <ChoiceField
            name="status"
            label="Status"
            value={get("status")}
            choices={[
              ["", "all"],
              ["active", "active"],
              ["superseded", "superseded"],
              ["expired", "expired"],
            ]}
          />
          <DayField name="from" label="Written from" value={get("from")} />
          <DayField name="until" label="Until" value={get("until")} />
        </Fixed>
        <div class="row">
          <button type="submit">Show</button>
        </div>
      </form>
      {isCut
        ? (
          <Note tone="warn">
            {`These are the oldest ${memories.length} memories: a page shows no more.`}
          </Note>
        )
        : null}
      <div class="row">
        <p class="dim grow">
          {found.length === memories.length
            ? count(found.length, MEMORIES)
            : `${found.length} of ${count(memories.length, MEMORIES)}`}
        </p>
        {shown.length === 0 ? null : (
          <button
            type="button"
            disabled={texts.state.kind === "busy"}
            onClick={() => texts.run(() => readTexts(mem, shown))}
          >
            Show texts
          </button>
        )}
      </div>
      <Outcome call={texts} busy="Reading the texts…">{() => null}</Outcome>
      {shown.length === 0
        ? <Empty>There are no such memories.</Empty>
        : (
          <MemoryTable
            memories={shown}
            texts={texts.state.kind === "done" ? texts.state.value : undefined}
          />
        )}
      {found.length > PAGE_ROWS
        ? (
          <Pager
            first={start === 0 ? undefined : at(0)}
            next={start + PAGE_ROWS < found.length
              ? at(start + PAGE_ROWS)
              : undefined}
          />
        )
        : null}
    </>
  );
}

function DayField(
  { name, label, value }: {
    readonly name: string;
    readonly label: string;
    readonly value: string;
  },
): VNode {
  return (
    <div class="field">
      <label for={name}>{label}</label>
      <input id={name} name={name} type="date" value={value} />
    </div>
  );
}

function MemoryTable(
  { memories, texts }: {
    readonly memories: readonly MemoryEntry[];
    readonly texts: ReadonlyMap<string, string> | undefined;
  },
): VNode {
  return (
    <Table
      label="Memories"
      rows={memories}
      columns={[
        {
          name: "Memory",
          cell: ({ memory_id, namespace_id }) => (
            <a class="mono" href={href("memories", namespace_id, memory_id)}>
              {memory_id.slice(0, 13)}
            </a>
          ),
        },
        ...texts === undefined ? [] : [{
          name: "Text",
          cell: ({ memory_id }: MemoryEntry) =>
            texts.get(memory_id)?.slice(0, 200) ??
              <span class="dim">recall does not find it</span>,
        }],
        { name: "Namespace", cell: ({ namespace_id }) => namespace_id },
        {
          name: "Status",
          cell: ({ status }) => (
            <Badge tone={TONES[status] ?? "calm"}>{status}</Badge>
          ),
        },
        {
          name: "Written",
          cell: ({ created_at }) => <Instant at={created_at} />,
        },
        {
          name: "Size",
          isNumber: true,
          cell: ({ size }) => formatBytes(size),
        },
        {
          name: "Written by",
          cell: ({ agent_id }) => (
            <span class="mono" title={agent_id ?? ""}>
              {agent_id?.slice(0, 8)}
            </span>
          ),
        },
      ]}
    />
  );
}

/** Reads the texts of memories: one recall for each namespace. */
async function readTexts(
  mem: Mem,
  memories: readonly MemoryEntry[],
): Promise<ReadonlyMap<string, string>> {
  const byNamespace = Map.groupBy(memories, (one) => one.namespace_id);
  const texts = new Map<string, string>();
  for (const [namespace, entries] of byNamespace) {
    let ids = entries.map((one) => one.memory_id);
    while (ids.length > 0) {
      const { results, omitted_ids = [] } = await mem.recall({
        ...{ query: QUESTION, namespace, ids },
        ranking: "semantic",
      });
      for (const { id, text } of results) {
        if (id !== undefined) texts.set(id, text);
      }
      if (omitted_ids.length >= ids.length) break;
      ids = [...omitted_ids];
    }
  }
  return texts;
}

/** What is asked where ids say which memories are wanted. */
const QUESTION = "memory";

/** One memory as the relayer knows it. */
interface Known {
  readonly entry: MemoryEntry | undefined;
  readonly found: RecallMemory | undefined;
  readonly job: RememberJobStatus;
}

function MemoryPart(
  { session, namespace, id }: Pick<ViewProps, "session"> & {
    readonly namespace: string;
    readonly id: string;
  },
): VNode {
  const call = useLoaded(id, async (): Promise<Known> => {
    const { mem } = session;
    const [{ memories }, { results }, job] = await Promise.all([
      readListing(mem),
      mem.recall({
        ...{ query: QUESTION, namespace, ids: [id] },
        ranking: "semantic",
      }),
      mem.getRememberStatus(id),
    ]);
    return {
      entry: memories.find((one) => one.memory_id === id),
      found: results.find((one) => one.id === id),
      job,
    };
  });
  return (
    <Outcome call={call} busy="Reading the memory…">
      {({ entry, found, job }) => (
        <>
          {found === undefined
            ? (
              <Note tone="warn">
                {entry === undefined
                  ? "There is no such memory, or it was deleted."
                  : `Recall does not find it: it is ${entry.status}, or its namespace was forgotten.`}
              </Note>
            )
            : <Code id="text" name="text" text={found.text} wraps />}
          {entry === undefined ? null : <MemoryFacts entry={entry} />}
          {found?.metadata === undefined ? null : (
            <Code
              id="metadata"
              name="metadata"
              text={JSON.stringify(found.metadata, null, 2)}
            />
          )}
          <ReceiptPart session={session} of={job} text={found?.text} />
          {entry === undefined
            ? null
            : <DeletePart session={session} entry={entry} />}
        </>
      )}
    </Outcome>
  );
}

function MemoryFacts({ entry }: { readonly entry: MemoryEntry }): VNode {
  const { namespace_id: namespace, supersedes, superseded_by } = entry;
  const other = (id: string | undefined) =>
    id === undefined
      ? null
      : <a class="mono" href={href("memories", namespace, id)}>{id}</a>;
  return (
    <FactList
      facts={[
        ["Memory", <span class="mono">{entry.memory_id}</span>],
        [
          "Namespace",
          <a href={href("namespaces", namespace)}>{namespace}</a>,
        ],
        [
          "Status",
          <Badge tone={TONES[entry.status] ?? "calm"}>{entry.status}</Badge>,
        ],
        ["Replaces", other(supersedes)],
        ["Replaced by", other(superseded_by)],
        ["Written", <Instant at={entry.created_at} />],
        ["Changed", <Instant at={entry.updated_at} />],
        [
          "Storage ends",
          entry.expires_at === null
            ? "not by itself"
            : <Instant at={entry.expires_at} />,
        ],
        ["Importance", entry.importance],
        ["Size", formatBytes(entry.size)],
        ["Written by", <span class="mono">{entry.agent_id}</span>],
        ["Blob", <span class="mono">{entry.blob_id}</span>],
      ]}
    />
  );
}

function DeletePart(
  { session, entry }: Pick<ViewProps, "session"> & {
    readonly entry: MemoryEntry;
  },
): VNode {
  const call = useCall<DeleteMemoryResult>();
  const { memory_id: id, namespace_id: namespace } = entry;
  const isGone = call.state.kind === "done";
  return (
    <section class="section" aria-labelledby="change">
      <h2 id="change">Change it</h2>
      <p>
        <a
          href={`#/remember?${new URLSearchParams({
            namespace,
            supersedes: id,
          })}`}
        >
          Remember a text that replaces it
        </a>
      </p>
      {isGone ? null : (
        <ActionForm
          label="Delete for good"
          tone="danger"
          busy={call.state.kind === "busy"}
          onSend={() => call.run(() => session.mem.deleteMemory(id))}
        >
          <p>
            Deleting destroys the key of this memory. Nobody can open its blob
            any longer, unless someone has an older backup of the relayer's
            keys. It cannot be undone.
          </p>
          <CheckField
            name="sure"
            label="I want this memory to be gone"
            isRequired
          />
        </ActionForm>
      )}
      <Outcome call={call} busy="The relayer deletes it…">
        {(result) => (
          <>
            <Note tone="good">The memory is deleted.</Note>
            <ReceiptPart session={session} of={result} />
          </>
        )}
      </Outcome>
    </section>
  );
}
