/**
 * The namespaces, and what can be done with one: forget and restore.
 *
 * @module
 */

import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { ForgetResult, Mem, NamespaceEntry } from "../../../mod.ts";
import { CheckField } from "../../shared/console/form.tsx";
import { Empty, FactList, Note } from "../../shared/console/parts.tsx";
import { Table } from "../../shared/console/table.tsx";
import { ReceiptPart } from "./receipt_part.tsx";
import { NamespaceField } from "./remember_view.tsx";
import {
  ActionForm,
  count,
  formatBytes,
  href,
  Instant,
  MEMORIES,
  Outcome,
  useCall,
  useLoaded,
  type ViewProps,
} from "./view.tsx";

/** Shows all namespaces, or the one that the address names. */
export function NamespacesView({ session, path: [name] }: ViewProps): VNode {
  return name === undefined
    ? <NamespaceList session={session} />
    : <NamespacePart session={session} namespace={name} />;
}

/**
 * Reads all namespaces.
 *
 * @throws {MemError} When the relayer cannot be reached or refuses.
 */
export async function readNamespaces(
  mem: Mem,
): Promise<readonly NamespaceEntry[]> {
  const found = new Map<string, NamespaceEntry>();
  let cursor: string | undefined;
  do {
    const page = await mem.listNamespaces({ limit: 500, cursor });
    for (const entry of page.namespaces) found.set(entry.id, entry);
    cursor = page.has_more ? page.next_cursor ?? undefined : undefined;
  } while (cursor !== undefined);
  return [...found.values()].sort((a, b) => a.name < b.name ? -1 : 1);
}

function NamespaceList({ session }: Pick<ViewProps, "session">): VNode {
  const call = useLoaded("", () => readNamespaces(session.mem));
  return (
    <>
      <Outcome call={call}>
        {(namespaces) =>
          namespaces.length === 0
            ? <Empty>No namespace has memories.</Empty>
            : (
              <Table
                label="Namespaces"
                rows={namespaces}
                columns={[
                  {
                    name: "Namespace",
                    cell: ({ name }) => (
                      <a href={href("namespaces", name)}>{name}</a>
                    ),
                  },
                  {
                    name: "Memories",
                    isNumber: true,
                    cell: ({ name, memory_count }) => (
                      <a
                        href={`#/memories?${new URLSearchParams({
                          namespace: name,
                        })}`}
                        aria-label={`${memory_count} memories of ${name}`}
                      >
                        {memory_count}
                      </a>
                    ),
                  },
                  {
                    name: "Size",
                    isNumber: true,
                    cell: ({ storage_used }) => formatBytes(storage_used),
                  },
                  {
                    name: "Changed",
                    cell: ({ updated_at }) => <Instant at={updated_at} />,
                  },
                ]}
              />
            )}
      </Outcome>
      <section class="section" aria-labelledby="other">
        <h2 id="other">Another namespace</h2>
        <p>One that was forgotten is not in the list; open it to restore it.</p>
        <ActionForm
          label="Open"
          onSend={(field) =>
            void (location.hash = href("namespaces", field("namespace")))}
        >
          <NamespaceField value="" />
        </ActionForm>
      </section>
    </>
  );
}

function NamespacePart(
  { session, namespace }: Pick<ViewProps, "session"> & {
    readonly namespace: string;
  },
): VNode {
  const stats = useLoaded(namespace, () => session.mem.stats(namespace));
  const forget = useCall<ForgetResult>();
  return (
    <>
      <Outcome call={stats}>
        {({ memory_count, storage_bytes }) => (
          <FactList
            facts={[
              ["Namespace", namespace],
              ["Memories", memory_count],
              ["Size", formatBytes(storage_bytes)],
            ]}
          />
        )}
      </Outcome>
      <p class="section">
        <a href={`#/memories?${new URLSearchParams({ namespace })}`}>
          Its memories
        </a>
        {" · "}
        <a href={`#/recall?${new URLSearchParams({ namespace })}`}>
          Recall in it
        </a>
      </p>
      <section class="section" aria-labelledby="restore">
        <h2 id="restore">Restore</h2>
        <p>
          Rebuilds the index of this namespace from the stored blobs: memories
          that were forgotten are found again, deleted ones are not.
        </p>
        <RestorePart mem={session.mem} namespace={namespace} />
      </section>
      <section class="section" aria-labelledby="forget">
        <h2 id="forget">Forget</h2>
        <p>
          Forgetting takes all memories of this namespace out of the index, so
          that recall finds none of them. Their blobs stay, and restoring brings
          them back. To destroy a memory, delete it.
        </p>
        <ActionForm
          label="Forget all"
          tone="danger"
          busy={forget.state.kind === "busy"}
          onSend={() => forget.run(() => session.mem.forget(namespace))}
        >
          <CheckField
            name="sure"
            label={`I want recall to find nothing in ${namespace}`}
            isRequired
          />
        </ActionForm>
        <Outcome call={forget} busy="The relayer empties the index…">
          {(result) => (
            <>
              <Note tone="good">
                {`Forgotten: ${count(result.deleted, MEMORIES)}.`}
              </Note>
              <ReceiptPart session={session} of={result} />
            </>
          )}
        </Outcome>
      </section>
    </>
  );
}

/** How far a restoring is. */
interface Progress {
  readonly restored: number;
  readonly failed: number;
  readonly missing: number;
  readonly total: number;
  /** Memories that the relayer has looked at. */
  readonly seen: number;
}

const NOTHING: Progress = {
  ...{ restored: 0, failed: 0, missing: 0, total: 0, seen: 0 },
};

/** Memories that one request restores at most. */
const STEP = 50;

function RestorePart(
  { mem, namespace }: { readonly mem: Mem; readonly namespace: string },
): VNode {
  const call = useCall<Progress>();
  const [progress, setProgress] = useState(NOTHING);
  const restore = async (): Promise<Progress> => {
    let restored = 0;
    for (;;) {
      const step = await mem.restore(namespace, STEP);
      restored += step.restored;
      const now: Progress = {
        restored,
        failed: step.failed,
        missing: step.missing ?? 0,
        total: step.total,
        seen: step.restored + step.skipped + step.failed,
      };
      setProgress(now);
      // A step that restored nothing would be repeated for ever.
      if (!step.truncated || step.restored === 0) return now;
    }
  };
  return (
    <>
      <ActionForm
        label="Restore"
        busy={call.state.kind === "busy"}
        onSend={() => {
          setProgress(NOTHING);
          call.run(restore);
        }}
      />
      {call.state.kind === "busy"
        ? (
          <p>
            <progress
              aria-label="Restored memories"
              value={progress.seen}
              max={Math.max(1, progress.total)}
            />
            {` ${progress.restored} restored of ${progress.total}`}
          </p>
        )
        : null}
      <Outcome call={call} busy="The relayer reads blobs…">
        {({ restored, failed, missing, total }) => (
          <Note tone={failed + missing === 0 ? "good" : "warn"}>
            {[
              `Restored: ${restored} of ${count(total, MEMORIES)}`,
              failed === 0 ? "" : `${failed} cannot be read`,
              missing === 0 ? "" : `${missing} have lost their blobs`,
            ].filter((text) =>
              text !== ""
            ).join("; ")}.
          </Note>
        )}
      </Outcome>
    </>
  );
}
