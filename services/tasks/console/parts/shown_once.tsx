/**
 * The page that follows the making of a secret.
 *
 * @module
 */

import { Code, Note } from "../../../shared/console/parts.tsx";
import type { PageAnswer } from "./page.ts";

/** The page that shows a secret which nothing shows again. */
export function shownOncePage(
  { title, about, secrets, back: [path, text] }: {
    readonly title: string;
    /** What it is for, as a sentence. */
    readonly about: string;
    /** What is shown, each with its name. */
    readonly secrets: readonly (readonly [string, string])[];
    /** Where the reader goes on, and the text that leads there. */
    readonly back: readonly [string, string];
  },
): PageAnswer {
  return {
    kind: "page",
    title,
    content: (
      <>
        <Note tone="warn">
          <p class="lead" role="status">
            {about} Copy it now: it is not shown again.
          </p>
        </Note>
        {secrets.map(([name, secret], index) => (
          <Code id={`secret-${index}`} name={name} text={secret} wraps />
        ))}
        <p>
          <a class="button primary" href={path}>{text}</a>
        </p>
      </>
    ),
  };
}
