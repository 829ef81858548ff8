/**
 * Tables of console pages. On a phone each row becomes a card, whose values
 * are named by the columns.
 *
 * @module
 */

import type { ComponentChildren, VNode } from "preact";
import { Time } from "./parts.tsx";

/** What columns of each kind have. */
interface ColumnHead {
  /** Its name. */
  readonly name: string;
  /** Whether it has numbers, which stand at the right. @default {false} */
  readonly isNumber?: boolean;
  /** Whether its words are short, and stay on one line. @default {false} */
  readonly isShort?: boolean;
  /**
   * The address of the list in the order of this column.
   * @default the list has no such order
   */
  readonly sortHref?: string | undefined;
  /** How the list is in the order of this column now. @default it is not */
  readonly sorted?: "ascending" | "descending" | undefined;
}

/** A column of instants. */
interface TimeColumn<Row> extends ColumnHead {
  /** Reads the instant of a row, in RFC 3339. */
  readonly at: (row: Row) => string | null;
  /** The present, for the short form. @default the long form is shown */
  readonly nowMs?: number;
  /** What stands where there is no instant. @default nothing */
  readonly absent?: string;
}

/** A column of a table of rows of one type. */
export type Column<Row> =
  | TimeColumn<Row>
  | ColumnHead & {
    /** Renders the cell of a row. */
    readonly cell: (row: Row) => ComponentChildren;
  };

/** What a column has for a row. */
function contentOf<Row>(column: Column<Row>, row: Row): ComponentChildren {
  if ("cell" in column) return column.cell(row);
  const at = column.at(row);
  return at === null && column.absent !== undefined
    ? <span class="dim">{column.absent}</span>
    : <Time at={at} nowMs={column.nowMs} />;
}

/** A table whose first column names its rows. */
export function Table<Row>(
  { label, columns, rows, pick }: {
    /** What the table shows, for people who hear the page. */
    readonly label: string;
    readonly columns: readonly Column<Row>[];
    readonly rows: readonly Row[];
    /**
     * Gives each row a box to tick: the value that the box sends as `ids`, and
     * what it is called.
     * @default rows have no box
     */
    readonly pick?: ((row: Row) => readonly [string, string]) | undefined;
  },
): VNode {
  return (
    <table class="cards" data-rows="">
      <caption class="hidden">{label}</caption>
      <thead>
        <tr>
          {pick === undefined ? null : (
            <td class="box">
              <label>
                <input type="checkbox" data-all="" aria-label="All rows" />
              </label>
            </td>
          )}
          {columns.map((column) => (
            <th
              scope="col"
              class={column.isNumber === true ? "number" : undefined}
              aria-sort={column.sorted}
            >
              <Head column={column} />
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr>
            {pick === undefined ? null : <Box pick={pick(row)} />}
            {columns.map((column, index) => (
              <Cell column={column} row={row} isFirst={index === 0} />
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

const ARROWS = { ascending: " ↑", descending: " ↓" } as const;

function Head<Row>({ column }: { readonly column: Column<Row> }): VNode {
  const { name, sortHref, sorted } = column;
  if (sortHref === undefined) return <>{name}</>;
  return (
    <a href={sortHref}>
      {name}
      {sorted === undefined
        ? null
        : <span aria-hidden="true">{ARROWS[sorted]}</span>}
    </a>
  );
}

function Box(
  { pick: [value, name] }: { readonly pick: readonly [string, string] },
): VNode {
  return (
    <td class="box">
      <label>
        <input
          type="checkbox"
          name="ids"
          value={value}
          aria-label={`Select ${name}`}
        />
      </label>
    </td>
  );
}

function Cell<Row>(
  { column, row, isFirst }: {
    readonly column: Column<Row>;
    readonly row: Row;
    readonly isFirst: boolean;
  },
): VNode {
  const content = contentOf(column, row);
  const isShort = column.isShort === true;
  if (isFirst) {
    return <th scope="row" class={isShort ? "short" : undefined}>{content}</th>;
  }
  return (
    <td
      data-name={column.name}
      class={column.isNumber === true
        ? "number"
        : isShort
        ? "short"
        : undefined}
    >
      {content}
    </td>
  );
}

/** Leads to the first and the next page of a list. */
export function Pager(
  { first, next }: {
    /** The address of the first page; absent when this is it. */
    readonly first?: string | undefined;
    /** The address of the next page; absent when this is the last. */
    readonly next?: string | undefined;
  },
): VNode | null {
  if (first === undefined && next === undefined) return null;
  return (
    <nav class="pager" aria-label="Pages of the list">
      {first === undefined
        ? null
        : <a class="button" href={first}>First page</a>}
      {next === undefined
        ? <span class="dim">This is the last page.</span>
        : <a class="button" href={next} rel="next">Next page</a>}
    </nav>
  );
}
