/**
 * The page: finds the view of the address, and shows it once a key is there.
 *
 * @module
 */

import { type ComponentType, render, type VNode } from "preact";
import { useEffect, useState } from "preact/hooks";
import { KeysView } from "./keys_view.tsx";
import { MemoriesView } from "./memories_view.tsx";
import { NamespacesView } from "./namespaces_view.tsx";
import { OverviewView } from "./overview_view.tsx";
import { RecallView } from "./recall_view.tsx";
import { RememberView } from "./remember_view.tsx";
import { closeSession, openKept, type Session } from "./session.ts";
import { SignInView } from "./sign_in_view.tsx";
import { Outcome, useCall, type ViewProps } from "./view.tsx";

/** A view of the page. */
interface View {
  readonly title: string;
  /** The title where the address names one of what the view lists. */
  readonly single?: string;
  readonly Content: ComponentType<ViewProps>;
}

const OVERVIEW: View = { title: "Overview", Content: OverviewView };

const VIEWS: Readonly<Record<string, View>> = {
  overview: OVERVIEW,
  memories: { title: "Memories", single: "Memory", Content: MemoriesView },
  recall: { title: "Recall", Content: RecallView },
  remember: { title: "Remember", Content: RememberView },
  namespaces: {
    title: "Namespaces",
    single: "Namespace",
    Content: NamespacesView,
  },
  keys: { title: "Delegate keys", Content: KeysView },
};

/** The view of an address that names none. */
const FIRST = "overview";

/** Shows the page in the document that the relayer has served. */
export function startApp(document: Document): void {
  const root = document.getElementById("app");
  if (root === null) throw new Error('Cannot start: there is no id "app"');
  root.replaceChildren();
  render(<App />, root);
}

function App(): VNode {
  const [session, setSession] = useState<Session>();
  const [place, setPlace] = useState(readPlace);
  const opening = useCall<void>();
  useEffect(() => {
    const move = () => {
      setPlace(readPlace());
      document.getElementById("content")?.focus();
    };
    addEventListener("hashchange", move);
    opening.run(async () => setSession(await openKept()));
    return () => removeEventListener("hashchange", move);
  }, []);
  const close = (): void => {
    if (session === undefined) return;
    opening.run(() => closeSession(session));
    setSession(undefined);
  };
  const { view, name, path, query } = place;
  const shown = path.length > 0 ? view.single ?? view.title : view.title;
  const title = session === undefined ? "Sign in" : shown;
  useEffect(() => frame({ title, name, close: session && close }), [
    title,
    name,
    session,
  ]);
  if (session !== undefined) {
    return (
      <view.Content
        key={[name, ...path].join("/")}
        session={session}
        path={path}
        query={query}
      />
    );
  }
  return opening.state.kind === "busy"
    ? <Outcome call={opening}>{() => null}</Outcome>
    : (
      <>
        <Outcome call={opening}>{() => null}</Outcome>
        <SignInView onOpen={setSession} />
      </>
    );
}

interface Place extends Pick<ViewProps, "path" | "query"> {
  readonly name: string;
  readonly view: View;
}

function readPlace(): Place {
  const [path = "", query] = location.hash.replace(/^#\/?/, "").split("?", 2);
  const [given = "", ...rest] = path.split("/").map(decodePart);
  const known = VIEWS[given];
  const name = known === undefined ? FIRST : given;
  return {
    name,
    view: known ?? OVERVIEW,
    path: rest,
    query: new URLSearchParams(query),
  };
}

function decodePart(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // Someone wrote the address by hand; the text then names nothing.
    return text;
  }
}

/** Writes what stands around the view: title, pages, and the button to leave. */
function frame({ title, name, close }: {
  readonly title: string;
  readonly name: string;
  readonly close: (() => void) | undefined;
}): void {
  document.title = `${title} · Tercet relayer`;
  const heading = document.getElementById("heading");
  if (heading !== null) heading.textContent = title;
  for (const link of document.querySelectorAll(".pages a")) {
    const isHere = link.getAttribute("href") === `#/${name}`;
    if (isHere) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  const actions = document.getElementById("actions");
  if (actions === null) return;
  render(
    close === undefined
      ? null
      : <button type="button" onClick={close}>Forget the key</button>,
    actions,
  );
}
