/**
 * The routes that the mock knows.
 *
 * @module
 */

/** A route of the relayer: the method, and the path with names for what varies. */
export type MockRoute =
  | "GET /version"
  | "GET /health"
  | "GET /config"
  | "GET /api/whoami"
  | "POST /api/remember"
  | "POST /api/remember/bulk"
  | "GET /api/remember/:id"
  | "POST /api/remember/bulk/status"
  | "POST /api/recall"
  | "POST /api/analyze"
  | "POST /api/ask"
  | "POST /api/embed"
  | "DELETE /api/memories/:id"
  | "POST /api/forget"
  | "POST /api/restore"
  | "POST /api/stats"
  | "POST /api/remember/manual"
  | "POST /api/recall/manual"
  | "GET /v1/owners/:owner/memories"
  | "GET /v1/owners/:owner/namespaces";

/** Whether the requests of a route are signed. */
const ROUTES: Readonly<Record<MockRoute, "open" | "signed">> = {
  "GET /version": "open",
  "GET /health": "open",
  "GET /config": "open",
  "GET /api/whoami": "signed",
  "POST /api/remember": "signed",
  "POST /api/remember/bulk": "signed",
  "GET /api/remember/:id": "signed",
  "POST /api/remember/bulk/status": "signed",
  "POST /api/recall": "signed",
  "POST /api/analyze": "signed",
  "POST /api/ask": "signed",
  "POST /api/embed": "signed",
  "DELETE /api/memories/:id": "signed",
  "POST /api/forget": "signed",
  "POST /api/restore": "signed",
  "POST /api/stats": "signed",
  "POST /api/remember/manual": "signed",
  "POST /api/recall/manual": "signed",
  "GET /v1/owners/:owner/memories": "signed",
  "GET /v1/owners/:owner/namespaces": "signed",
};

/** All routes. */
export const MOCK_ROUTES: readonly MockRoute[] = Object.keys(ROUTES)
  .filter((name): name is MockRoute => Object.hasOwn(ROUTES, name));

/** The route of a request. */
interface FoundRoute {
  /** The route. */
  readonly route: MockRoute;
  /** Whether its requests are signed. */
  readonly isSigned: boolean;
  /** What stands in the path for its names, in their order. */
  readonly params: readonly string[];
}

/** Finds the route of a request; undefined when there is none. */
export function routeOf(method: string, path: string): FoundRoute | undefined {
  const segments = path.split("/");
  for (const route of MOCK_ROUTES) {
    const [itsMethod = "", pattern = ""] = route.split(" ");
    const names = pattern.split("/");
    const fits = itsMethod === method && names.length === segments.length &&
      names.every((name, at) => name.startsWith(":") || name === segments[at]);
    if (!fits) continue;
    const params = segments.filter((_, at) => names[at]?.startsWith(":"));
    const isSigned = ROUTES[route] === "signed";
    return { route, isSigned, params: params.map(decoded) };
  }
  return undefined;
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    // A percent sign that stands for itself is part of no id.
    return segment;
  }
}
