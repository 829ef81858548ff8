/**
 * The views that write: remember a text, and extract facts from one.
 *
 * @module
 */

import type { VNode } from "preact";
import type {
  AnalyzeAndWaitResult,
  Metadata,
  RememberResult,
} from "../../../mod.ts";
import {
  ChoiceField,
  TextArea,
  TextField,
} from "../../shared/console/form.tsx";
import { Badge, Empty, FactList, Note } from "../../shared/console/parts.tsx";
import { Table } from "../../shared/console/table.tsx";
import { ReceiptPart } from "./receipt_part.tsx";
import {
  ActionForm,
  type Fields,
  href,
  Outcome,
  useCall,
  type ViewProps,
} from "./view.tsx";

/** Remembers a text, or the facts of one. */
export function RememberView({ session, query }: ViewProps): VNode {
  return (
    <>
      <section class="section" aria-labelledby="one">
        <h2 id="one">One memory</h2>
        <RememberPart session={session} query={query} />
      </section>
      <section class="section" aria-labelledby="facts">
        <h2 id="facts">Facts of a text</h2>
        <AnalyzePart session={session} />
      </section>
    </>
  );
}

type Written = RememberResult & { readonly text: string };

function RememberPart(
  { session, query }: Pick<ViewProps, "session" | "query">,
): VNode {
  const call = useCall<Written>();
  const send = async (field: Fields): Promise<Written> => {
    const text = field("text");
    const importance = field("importance");
    const result = await session.mem.rememberAndWait(text, {
      namespace: field("namespace"),
      metadata: readMetadata(field("metadata")),
      ...(field("supersedes") === "" ? {} : {
        supersedes: field("supersedes"),
      }),
      ...(importance === "" ? {} : { importance: Number(importance) }),
    });
    return { ...result, text };
  };
  return (
    <>
      <ActionForm
        label="Remember"
        busy={call.state.kind === "busy"}
        onSend={(field) => call.run(() => send(field))}
      >
        <TextArea name="text" label="Text" isRequired />
        <div class="filters">
          <NamespaceField value={query.get("namespace") ?? "default"} />
          <TextField
            name="importance"
            label="Importance, 0 to 1"
            placeholder="0.5"
          />
        </div>
        <details class="more">
          <summary>Metadata, and a memory that this one replaces</summary>
          <TextArea
            name="metadata"
            label="Metadata"
            rows={3}
            hint="A line for each: name=value. Numbers, true and false count as such."
          />
          <TextField
            name="supersedes"
            label="Replaces"
            value={query.get("supersedes") ?? ""}
            hint="The id of the memory that recall then leaves out."
          />
        </details>
      </ActionForm>
      <Outcome call={call} busy="The relayer stores the memory…">
        {({ text, ...memory }) => (
          <>
            <Note tone="good">
              Remembered:{" "}
              <a href={href("memories", memory.namespace, memory.id)}>
                {memory.id}
              </a>
            </Note>
            <FactList
              facts={[["Namespace", memory.namespace], [
                "Blob",
                <span class="mono">{memory.blob_id}</span>,
              ]]}
            />
            <ReceiptPart session={session} of={memory} text={text} />
          </>
        )}
      </Outcome>
    </>
  );
}

function AnalyzePart({ session }: Pick<ViewProps, "session">): VNode {
  const call = useCall<AnalyzeAndWaitResult>();
  return (
    <>
      <ActionForm
        label="Analyze"
        busy={call.state.kind === "busy"}
        onSend={(field) =>
          call.run(() =>
            session.mem.analyzeAndWait(field("source"), {
              namespace: field("into"),
              keep: field("keep") === "all" ? "all" : "statements",
            })
          )}
      >
        <TextArea
          name="source"
          label="Text"
          hint="The relayer extracts facts from it and remembers each of them."
          isRequired
        />
        <div class="filters">
          <NamespaceField name="into" value="default" />
          <ChoiceField
            name="keep"
            label="Keep"
            value="statements"
            choices={[
              ["statements", "people's statements"],
              ["all", "every statement"],
            ]}
          />
        </div>
      </ActionForm>
      <Outcome call={call} busy="The relayer reads the text…">
        {({ facts, results }) =>
          facts.length === 0
            ? <Empty>The relayer found no facts in this text.</Empty>
            : (
              <Table
                label="Facts"
                rows={facts.map((fact, at) => ({ ...fact, end: results[at] }))}
                columns={[
                  { name: "Fact", cell: ({ text }) => text },
                  {
                    name: "State",
                    cell: ({ end }) => (
                      <Badge tone={end?.status === "done" ? "good" : "bad"}>
                        {end?.status ?? "unknown"}
                      </Badge>
                    ),
                  },
                  {
                    name: "Memory",
                    cell: ({ id, end }) => (
                      <a href={href("memories", end?.namespace ?? "", id)}>
                        {id}
                      </a>
                    ),
                  },
                ]}
              />
            )}
      </Outcome>
    </>
  );
}

/** The field for a namespace. */
export function NamespaceField(
  { name = "namespace", value }: {
    readonly name?: string;
    readonly value: string;
  },
): VNode {
  return <TextField name={name} label="Namespace" value={value} isRequired />;
}

/** Reads lines of `name=value`; undefined for none. */
export function readMetadata(text: string): Metadata | undefined {
  const entries = text.split("\n").map((line) => line.trim())
    .filter((line) => line !== "").map((line) => {
      const at = line.indexOf("=");
      if (at < 1) {
        throw new TypeError(
          `Cannot read metadata: "${line}" is not like name=value`,
        );
      }
      return [line.slice(0, at).trim(), readValue(line.slice(at + 1).trim())];
    });
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}

function readValue(text: string): string | number | boolean {
  if (text === "true" || text === "false") return text === "true";
  return /^-?\d+(?:\.\d+)?$/.test(text) ? Number(text) : text;
}
