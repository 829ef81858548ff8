/**
 * Paths with parameters as a tree of segments.
 *
 * @module
 */

import type { RouteMethod } from "./route.ts";

/** A route and what its path calls the parameters, in their order. */
export interface Target<R> {
  /** The route. */
  readonly route: R;
  /** The names of its parameters. */
  readonly names: readonly string[];
}

/** A path and its routes. */
export interface Place<R> {
  /** The routes, by method. */
  readonly routes: ReadonlyMap<RouteMethod, Target<R>>;
  /** The methods, for the Allow header. */
  readonly allow: string;
}

/** A path that was found. */
export interface Found<R> {
  /** The path's routes. */
  readonly place: Place<R>;
  /** The values of its parameters, in their order, percent-decoded. */
  readonly values: readonly string[];
}

interface Node<R> {
  readonly literals: Map<string, Node<R>>;
  parameter: Node<R> | undefined;
  place: Place<R> | undefined;
}

const SEGMENT = /^[A-Za-z0-9._~-]+$/;
const PARAMETER = /^:[a-z][a-z0-9_]*$/;
const NO_VALUES: readonly string[] = [];

/** A set of paths, each with its routes. */
export class RouteTree<R> {
  readonly #root: Node<R> = newNode();
  /** Paths without parameters, which need no walk. */
  readonly #literals = new Map<string, Found<R>>();

  /**
   * Adds a route.
   *
   * @throws {TypeError} when the path is malformed, or the method is there
   */
  add(method: RouteMethod, path: string, route: R): void {
    const segments = segmentsOf(path);
    let node = this.#root;
    const names: string[] = [];
    for (const segment of segments) {
      if (segment.startsWith(":")) {
        names.push(segment.slice(1));
        node = node.parameter ??= newNode();
      } else {
        const next = node.literals.get(segment) ?? newNode();
        node.literals.set(segment, next);
        node = next;
      }
    }
    if (new Set(names).size !== names.length) {
      throw new TypeError(
        `Cannot add route "${path}": a parameter has the name of another`,
      );
    }
    if (node.place?.routes.has(method)) {
      throw new TypeError(
        `Cannot add route "${method} ${path}": it is there already`,
      );
    }
    const routes = new Map(node.place?.routes).set(method, { route, names });
    const place = { routes, allow: allowOf(routes.keys()) };
    node.place = place;
    if (names.length === 0) {
      this.#literals.set(path, { place, values: NO_VALUES });
    }
  }

  /**
   * Finds the path that fits. Broken percent-encoding fits none, and a
   * parameter is never empty.
   */
  find(path: string): Found<R> | undefined {
    const literal = this.#literals.get(path);
    if (literal !== undefined) return literal;
    return path.startsWith("/") ? new Walk(path).from(this.#root) : undefined;
  }
}

/** One walk down the tree; broken percent-encoding leads nowhere. */
class Walk {
  readonly #path: string;
  readonly #isEncoded: boolean;
  readonly #values: string[] = [];

  constructor(path: string) {
    this.#path = path;
    this.#isEncoded = path.includes("%");
  }

  from<R>(root: Node<R>): Found<R> | undefined {
    const place = this.#on(root, 1);
    return place === undefined ? undefined : { place, values: this.#values };
  }

  /**
   * Goes on from a node with the segment that begins at an offset. A literal
   * goes first, and is given up again when it leads nowhere.
   */
  #on<R>(node: Node<R>, offset: number): Place<R> | undefined {
    if (offset > this.#path.length) return node.place;
    const slash = this.#path.indexOf("/", offset);
    const end = slash === -1 ? this.#path.length : slash;
    const segment = this.#decoded(this.#path.slice(offset, end));
    if (segment === undefined) return undefined;
    const literal = node.literals.get(segment);
    if (literal !== undefined) {
      const place = this.#on(literal, end + 1);
      if (place !== undefined) return place;
    }
    if (node.parameter === undefined || segment === "") return undefined;
    this.#values.push(segment);
    const place = this.#on(node.parameter, end + 1);
    if (place === undefined) this.#values.pop();
    return place;
  }

  #decoded(segment: string): string | undefined {
    if (!this.#isEncoded) return segment;
    try {
      return decodeURIComponent(segment);
    } catch {
      // Broken percent-encoding names nothing, so nothing is found.
      return undefined;
    }
  }
}

function segmentsOf(path: string): readonly string[] {
  if (path === "/") return [""];
  const segments = path.slice(1).split("/");
  const isGood = path.startsWith("/") &&
    segments.every((one) => SEGMENT.test(one) || PARAMETER.test(one));
  if (isGood) return segments;
  throw new TypeError(
    `Cannot add route "${path}": segments are words or ":name", ` +
      "with a slash before each",
  );
}

function allowOf(methods: Iterable<RouteMethod>): string {
  const allowed = new Set<string>(methods);
  if (allowed.has("GET")) allowed.add("HEAD");
  return [...allowed].sort().join(", ");
}

function newNode<R>(): Node<R> {
  return { literals: new Map(), parameter: undefined, place: undefined };
}
