/**
 * The page of the stores' state and of what happened: rules loaded and refused,
 * stores lost and found again, threads replaced.
 *
 * @module
 */

import type { VNode } from "preact";
import { ChoiceField } from "../../shared/console/form.tsx";
import {
  Badge,
  Empty,
  FactList,
  formatCount,
  Live,
  Time,
  type Tone,
} from "../../shared/console/parts.tsx";
import { Table } from "../../shared/console/table.tsx";
import type { TimelineArea, TimelineEvent } from "../activity/timeline.ts";
import type { ConsoleSource, PageCall, PageContent } from "./page.ts";

/** The parts in words. */
const AREAS: Readonly<Record<TimelineArea, string>> = {
  rules: "rules",
  discovery: "discovery server",
  candidate: "candidate",
  store: "stores and certificates",
  threads: "threads",
  service: "service",
};

const TONES: Readonly<Record<TimelineEvent["level"], Tone>> = {
  info: "dim",
  warning: "warn",
  error: "bad",
};

/** Shows the stores and the events. */
export function timelinePage({ source, query }: PageCall): PageContent {
  const area = query.get("area") ?? "";
  const level = query.get("level") ?? "";
  const events = source.reports.events().filter((event) =>
    (area === "" || event.area === area) &&
    (level === "" || event.level === level)
  );
  return {
    title: "Stores and timeline",
    content: (
      <>
        <section aria-labelledby="stores">
          <h2 id="stores">Stores</h2>
          <Live id="store-facts">
            <Stores source={source} />
          </Live>
        </section>
        <section aria-labelledby="events">
          <h2 id="events">What happened</h2>
          <form class="filters section">
            <ChoiceField
              name="area"
              label="Part"
              value={area}
              choices={[["", "all"], ...Object.entries(AREAS)]}
            />
            <ChoiceField
              name="level"
              label="Level"
              value={level}
              choices={[
                ["", "all"],
                ...Object.keys(TONES).map((one) => [one, one] as const),
              ]}
            />
            <button type="submit">Show</button>
          </form>
          <Live id="timeline">
            {events.length === 0
              ? <Empty>Nothing of that kind has happened.</Empty>
              : <Events events={events} />}
          </Live>
        </section>
      </>
    ),
  };
}

/** Statistics of stores that a person looks for, and what they are. */
const STORE_STATISTICS: readonly (readonly [RegExp, string])[] = [
  [/^ratelimit\.(\w+)\.cx_active$/, "Connections"],
  [/^ratelimit\.(\w+)\.breakers_open$/, "Servers without calls"],
  [/^ratelimit\.(\w+)\.outages$/, "Outages"],
  [/^ratelimit\.(memory)\.operations_when_full$/, "Calls when full"],
  [/^ratelimit\.service\.store_failure\.(\w+)$/, "Calls without it"],
];

/** Returns the figures of stores, with their names in words. */
function storeFigures(
  { registry }: Pick<ConsoleSource, "registry">,
): readonly (readonly [string, string])[] {
  return registry.snapshot().flatMap((reading) => {
    if (reading.kind === "timer") return [];
    return STORE_STATISTICS.flatMap(([pattern, words]) => {
      const of = pattern.exec(reading.name)?.[1];
      if (of === undefined) return [];
      const name = `${words}, ${of.replaceAll("_", " ")}`;
      return [[name, formatCount(reading.value)] as const];
    });
  });
}

function Stores({ source }: { readonly source: ConsoleSource }): VNode {
  const faults = source.faults();
  return (
    <FactList
      facts={[
        ["Counters", source.store],
        [
          "Service",
          faults.length === 0
            ? <Badge tone="good">healthy</Badge>
            : <Badge tone="bad">{faults.join("; ")}</Badge>,
        ],
        ...storeFigures(source),
      ]}
    />
  );
}

function Events(
  { events }: { readonly events: readonly TimelineEvent[] },
): VNode {
  return (
    <Table
      label="What happened"
      rows={events}
      columns={[
        {
          name: "When",
          cell: ({ timeMs }) => <Time at={new Date(timeMs).toISOString()} />,
        },
        {
          name: "Level",
          cell: ({ level }) => <Badge tone={TONES[level]}>{level}</Badge>,
        },
        { name: "Part", cell: ({ area }) => AREAS[area] },
        { name: "What", cell: (event) => <What event={event} /> },
      ]}
    />
  );
}

/** Longest field that shares its line with others. */
const SHORT = 40;

function What(
  { event: { text, times, fields } }: { readonly event: TimelineEvent },
): VNode {
  const shown = Object.entries(fields)
    .map(([name, value]) => `${name}: ${value}`);
  const lines = [
    shown.filter(({ length }) => length <= SHORT).join(", "),
    // The loader joins what has changed to one field.
    ...shown.filter(({ length }) => length > SHORT)
      .flatMap((field) => field.split("; ")),
  ];
  return (
    <div>
      {text}
      {times === 1 ? null : <span class="dim">{` (${times} times)`}</span>}
      {lines.filter((line) => line !== "")
        .map((line) => <div class="dim">{line}</div>)}
    </div>
  );
}
