/**
 * Reads the lines of an iCalendar file (RFC 5545, 3.1) and puts the properties
 * of its events together.
 *
 * @module
 */

import { quote } from "../../shared/quote.ts";

/** The most events of a file. */
export const MAX_EVENTS = 2_000;
/** The most components within each other. */
const MAX_DEPTH = 8;
/** The properties of an event that are read. */
const READ = [
  "UID",
  "STATUS",
  "DTSTART",
  "DTEND",
  "DURATION",
  "RRULE",
  "RDATE",
  "EXDATE",
  "RECURRENCE-ID",
];

/** A property of an event. */
export interface Property {
  /** The number of its line, or of the first one when it is folded. */
  readonly line: number;
  /** The name, in capital letters. */
  readonly name: string;
  /** The parameters by their names in capital letters. */
  readonly params: ReadonlyMap<string, string>;
  /** The text behind the colon. */
  readonly value: string;
}

/** An event as it is written. */
export interface RawEvent {
  /** The number of its first line. */
  readonly line: number;
  /** Its properties, by name. */
  readonly properties: ReadonlyMap<string, readonly Property[]>;
}

/** What is wrong with a line. */
export class LineFault extends Error {
  /** Takes the number of the line, and what is wrong with it. */
  constructor(line: number, state: string) {
    super(`Cannot read calendar: line ${line}: ${state}`);
  }
}

/** Puts lines together that were folded, with the number of the first one. */
function* contentLines(text: string): Generator<readonly [number, string]> {
  let parts: string[] = [];
  let first = 1;
  for (const [index, line] of text.split(/\r\n|[\r\n]/).entries()) {
    if (/^[ \t]/.test(line)) {
      parts.push(line.slice(1));
      continue;
    }
    if (parts.length > 0) yield [first, parts.join("")];
    parts = [index === 0 ? line.replace(/^\ufeff/, "") : line];
    first = index + 1;
  }
  yield [first, parts.join("")];
}

/**
 * The events of a file.
 *
 * @throws {LineFault} when the file cannot be read
 */
export function* readEvents(text: string): Generator<RawEvent> {
  const open: string[] = [];
  let properties = new Map<string, Property[]>();
  let events = 0;
  let [begun, last] = [1, 0];
  for (const [line, content] of contentLines(text)) {
    if (content.trim() === "") continue;
    last = line;
    const [, name = "", rest = ""] = /^([A-Za-z0-9-]*)(.*)$/s.exec(content) ??
      [];
    const upper = name.toUpperCase();
    const component = rest.slice(1).trim().toUpperCase();
    if (open.length === 0 && `${upper}:${component}` !== "BEGIN:VCALENDAR") {
      throw new LineFault(line, "the file does not begin with BEGIN:VCALENDAR");
    }
    const isInEvent = open.length === 2 && open[1] === "VEVENT";
    if (upper === "BEGIN") {
      open.push(component);
      if (open.length > MAX_DEPTH) throw new LineFault(line, "it is too deep");
      if (open.length === 2) [begun, properties] = [line, new Map()];
    } else if (upper === "END") {
      if (open.pop() !== component) {
        throw new LineFault(line, `END:${shown(component)} has no beginning`);
      }
      if (!isInEvent) continue;
      if (++events > MAX_EVENTS) {
        throw new LineFault(line, `there are more than ${MAX_EVENTS} events`);
      }
      yield { line: begun, properties };
    } else if (isInEvent && READ.includes(upper)) {
      const property = { line, name: upper, ...parseValue(rest, line) };
      const same = properties.get(upper);
      if (same === undefined) properties.set(upper, [property]);
      else same.push(property);
    }
  }
  const missing = last === 0 ? "BEGIN:VCALENDAR" : `END:${open.at(-1)}`;
  if (last === 0 || open.length > 0) {
    throw new LineFault(Math.max(1, last), `${missing} is missing`);
  }
}

const PARAM =
  /;([A-Za-z0-9-]+)=((?:"[^"]*"|[^";:,]*)(?:,(?:"[^"]*"|[^";:,]*))*)/y;

function parseValue(
  text: string,
  line: number,
): Pick<Property, "params" | "value"> {
  const params = new Map<string, string>();
  let end = 0;
  PARAM.lastIndex = 0;
  for (let found = PARAM.exec(text); found !== null; found = PARAM.exec(text)) {
    const [, name = "", value = ""] = found;
    params.set(name.toUpperCase(), value.replace(/^"|"$/g, ""));
    end = PARAM.lastIndex;
  }
  if (text[end] !== ":") throw new LineFault(line, "it has no value");
  return { params, value: text.slice(end + 1).trim() };
}

/** A text of the file, in quotes and not too long. */
export function shown(text: string): string {
  return quote(text, { maxChars: 60 });
}

/** The first property of an event that has the name. */
export function findFirst(
  { properties }: RawEvent,
  name: string,
): Property | undefined {
  return properties.get(name)?.[0];
}
