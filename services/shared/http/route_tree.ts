/**
 * Finds the route of a request by path and method: paths with parameters as a
 * tree of segments.
 *
 * @module
 */

/** The outcome of looking for a route. */
export type RouteMatch<R> =
  | {
    readonly kind: "route";
    /** The route. */
    readonly route: R;
    /** The values of its path's parameters. */
    readonly params: Readonly<Record<string, string>>;
    /** Whether the method is HEAD, so that the body is left out. */
    readonly isHead: boolean;
  }
  | {
    /** The path has routes, but none of that method: answer 405. */
    readonly kind: "method_not_allowed";
    /** The methods of the path, for the Allow header. */
    readonly allow: string;
  }
  | { readonly kind: "not_found" };

/** Options of a {@linkcode RouteTree}. */
interface RouteTreeOptions {
  /**
   * Whether segments of paths are percent-decoded before they are compared and
   * handed on; if not, paths are compared as they were sent, byte for byte.
   * @default {true}
   */
  readonly isDecoding?: boolean;
  /**
   * Methods that every path allows beside those of its routes, such as OPTIONS.
   * @default none
   */
  readonly alwaysAllowed?: readonly string[];
}

interface Target<R> {
  readonly route: R;
  /** The names of its parameters, in their order. */
  readonly names: readonly string[];
}

/** A path and its routes. */
interface Place<R> {
  /** The routes, by method. */
  readonly routes: ReadonlyMap<string, Target<R>>;
  /** The methods, for the Allow header. */
  readonly allow: string;
}

interface Found<R> {
  readonly place: Place<R>;
  /** The values of the path's parameters, in their order. */
  readonly values: readonly string[];
}

interface Node<R> {
  readonly literals: Map<string, Node<R>>;
  parameter: Node<R> | undefined;
  place: Place<R> | undefined;
}

/** The method of a route for all methods that the path has no route for. */
const ANY_METHOD = "*";
const SEGMENT = /^[A-Za-z0-9._~-]+$/;
const PARAMETER = /^:[a-z][a-z0-9_]*$/;
const NO_VALUES: readonly string[] = [];
const NO_PARAMS: Readonly<Record<string, string>> = Object.freeze({});
const NOT_FOUND = { kind: "not_found" } as const;

/** A set of paths, each with its routes. */
export class RouteTree<R> {
  readonly #root: Node<R> = newNode();
  /** Paths without parameters, which need no walk. */
  readonly #literals = new Map<string, Found<R>>();
  readonly #isDecoding: boolean;
  readonly #alwaysAllowed: readonly string[];

  /** Makes a tree without paths. */
  constructor(options: RouteTreeOptions = {}) {
    this.#isDecoding = options.isDecoding ?? true;
    this.#alwaysAllowed = options.alwaysAllowed ?? [];
  }

  /**
   * Adds a route.
   *
   * @param method The method; `"*"` stands for all that the path has no route
   * for, and a route for GET answers HEAD as well.
   * @param path The path; a segment `:name` matches any one.
   * @throws {TypeError} when the path is malformed, or the method is there
   */
  add(method: string, path: string, route: R): void {
    const names: string[] = [];
    let node = this.#root;
    for (const segment of splitSegments(path)) {
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
    const place = {
      routes,
      allow: formatAllow([...routes.keys(), ...this.#alwaysAllowed]),
    };
    node.place = place;
    if (names.length === 0) {
      this.#literals.set(path, { place, values: NO_VALUES });
    }
  }

  /**
   * Finds the route for a method and a path, which is without query.
   *
   * Paths are case-sensitive, and a parameter is never empty. Of all paths that
   * fit, the one with a literal segment earliest is meant, and only then the
   * method counts. Broken percent-encoding fits no path.
   */
  match(method: string, path: string): RouteMatch<R> {
    const found = this.#find(path);
    if (found === undefined) return NOT_FOUND;
    const { routes, allow } = found.place;
    const isHead = method === "HEAD";
    const target = routes.get(method) ??
      (isHead ? routes.get("GET") : undefined) ?? routes.get(ANY_METHOD);
    if (target === undefined) return { kind: "method_not_allowed", allow };
    const params = toParams(target.names, found.values);
    return { kind: "route", route: target.route, params, isHead };
  }

  /**
   * The methods of a path, for `Allow`; undefined when there is no such path.
   */
  allow(path: string): string | undefined {
    return this.#find(path)?.place.allow;
  }

  #find(path: string): Found<R> | undefined {
    const literal = this.#literals.get(path);
    if (literal !== undefined) return literal;
    if (!path.startsWith("/")) return undefined;
    return new Walk(path, this.#isDecoding).from(this.#root);
  }
}

/** One search in the tree; broken percent-encoding matches nothing. */
class Walk {
  readonly #path: string;
  readonly #isEncoded: boolean;
  readonly #values: string[] = [];

  constructor(path: string, isDecoding: boolean) {
    this.#path = path;
    this.#isEncoded = isDecoding && path.includes("%");
  }

  from<R>(root: Node<R>): Found<R> | undefined {
    const place = this.#continue(root, 1);
    return place === undefined ? undefined : { place, values: this.#values };
  }

  /**
   * Continues at a node with the segment that begins at an offset. A literal is
   * tried first, then the parameter.
   */
  #continue<R>(node: Node<R>, offset: number): Place<R> | undefined {
    if (offset > this.#path.length) return node.place;
    const slash = this.#path.indexOf("/", offset);
    const end = slash === -1 ? this.#path.length : slash;
    const segment = this.#decode(this.#path.slice(offset, end));
    if (segment === undefined) return undefined;
    const literal = node.literals.get(segment);
    if (literal !== undefined) {
      const place = this.#continue(literal, end + 1);
      if (place !== undefined) return place;
    }
    if (node.parameter === undefined || segment === "") return undefined;
    this.#values.push(segment);
    const place = this.#continue(node.parameter, end + 1);
    if (place === undefined) this.#values.pop();
    return place;
  }

  #decode(segment: string): string | undefined {
    if (!this.#isEncoded) return segment;
    try {
      return decodeURIComponent(segment);
    } catch {
      // Broken percent-encoding names nothing, so nothing is found.
      return undefined;
    }
  }
}

function toParams(
  names: readonly string[],
  values: readonly string[],
): Readonly<Record<string, string>> {
  if (names.length === 0) return NO_PARAMS;
  const params: Record<string, string> = {};
  for (let index = 0; index < names.length; index++) {
    params[names[index] ?? ""] = values[index] ?? "";
  }
  return params;
}

function splitSegments(path: string): readonly string[] {
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

function formatAllow(methods: readonly string[]): string {
  const allowed = new Set<string>(methods);
  if (allowed.has("GET")) allowed.add("HEAD");
  return [...allowed].sort().join(", ");
}

function newNode<R>(): Node<R> {
  return { literals: new Map(), parameter: undefined, place: undefined };
}
