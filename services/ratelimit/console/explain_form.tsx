/**
 * The form that asks for the explanation of a request.
 *
 * @module
 */

import type { VNode } from "preact";
import { ChoiceField, TextField } from "../../shared/console/form.tsx";
import { CONSOLE_PAGES } from "./page.ts";

/** What the form asks, as texts. */
export interface AskedRequest {
  /** The domain. */
  readonly domain: string;
  /** The descriptors, each as `key=value,key=value`. */
  readonly descriptors: readonly string[];
  /** The hits. */
  readonly hits: string;
  /** By which rules: `live` or `candidate`. */
  readonly rules: string;
}

/** Shows the form; it has room for one more descriptor than it is given. */
export function ExplainForm(
  { asked, hasCandidate }: {
    readonly asked: AskedRequest;
    /** Whether there are candidate rules to ask. */
    readonly hasCandidate: boolean;
  },
): VNode {
  return (
    <form class="section" action={CONSOLE_PAGES.explain.path}>
      <div class="filters section">
        <TextField
          name="domain"
          label="Domain"
          value={asked.domain}
          isRequired
        />
        <TextField
          name="hits"
          label="Hits"
          type="number"
          value={asked.hits}
        />
        {hasCandidate
          ? (
            <ChoiceField
              name="rules"
              label="Rules"
              value={asked.rules}
              choices={[["live", "in force"], ["candidate", "candidate"]]}
            />
          )
          : null}
      </div>
      {[...asked.descriptors, ""].map((descriptor, index) => (
        <div class="field">
          <label for={`descriptor-${index}`}>
            {`Descriptor ${index + 1}`}
          </label>
          <input
            id={`descriptor-${index}`}
            name="descriptors"
            value={descriptor}
            placeholder="key=value,key=value"
            autocomplete="off"
            spellcheck={false}
          />
        </div>
      ))}
      <button type="submit" class="primary">Explain</button>
    </form>
  );
}
