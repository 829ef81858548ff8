/**
 * A form for another limit of a rule, which shows the YAML for it. Files are
 * edited where they are kept: the console changes nothing.
 *
 * @module
 */

import type { VNode } from "preact";
import {
  CheckField,
  ChoiceField,
  TextField,
} from "../../shared/console/form.tsx";
import { Code, Note } from "../../shared/console/parts.tsx";
import type { IndexedRule } from "../activity/rule_index.ts";
import { ALGORITHM_WORDS, algorithmOfWord } from "../rules/algorithm.ts";
import { loadRules } from "../rules/load.ts";
import { ruleYaml } from "../rules/rule_yaml.ts";
import type { Rule } from "../rules/snapshot.ts";
import { parseWindow, toWindowSeconds, windowName } from "../rules/unit.ts";
import { CONSOLE_PATH } from "./page.ts";

/** What the form asks for. */
interface Change {
  readonly requests: string;
  readonly window: string;
  readonly algorithm: string;
  readonly burst: string;
  readonly isShadow: boolean;
}

/** Shows the form, and below it the YAML for what it has. */
export function ChangeForm(
  { found, query }: {
    readonly found: IndexedRule;
    readonly query: URLSearchParams;
  },
): VNode {
  const { rule, name } = found;
  const change = readChange(rule, query);
  const yaml = changedYaml(found, change);
  return (
    <>
      <form action={`${CONSOLE_PATH}#change`}>
        <input type="hidden" name="rule" value={name} />
        <div class="filters section">
          <TextField
            name="requests"
            label="Requests"
            value={change.requests}
            isRequired
          />
          <TextField
            name="window"
            label="In each unit, or 15m"
            value={change.window}
            isRequired
          />
          <ChoiceField
            name="algorithm"
            label="Counted by"
            value={change.algorithm}
            choices={ALGORITHM_WORDS.map((
              one,
            ) => [one, one.replaceAll("_", " ")])}
          />
          <TextField
            name="burst"
            label="Burst of a bucket"
            value={change.burst}
          />
          <CheckField
            name="shadow"
            label="Shadow mode"
            isChecked={change.isShadow}
          />
          <button type="submit">Show the YAML</button>
        </div>
      </form>
      {yaml.kind === "invalid"
        ? (
          <Note tone="bad">
            {yaml.faults.map((fault) => <p>{fault}</p>)}
          </Note>
        )
        : <Code id="yaml" name={`For ${rule.file}`} text={yaml.text} />}
      <p class="dim">
        Rules stay in their files, and come into force when these change. To see
        first what would change, put them into{" "}
        <code>CANDIDATE_CONFIG_DIR</code>.
      </p>
    </>
  );
}

function readChange(
  { limit, shadowMode }: Rule,
  query: URLSearchParams,
): Change {
  const isAsked = query.has("requests");
  const { requestsPerUnit = 100, window = "minute", burst } = limit ?? {};
  const read = (name: string, own: string): string =>
    isAsked ? (query.get(name) ?? "").trim() : own;
  return {
    requests: read("requests", String(requestsPerUnit)),
    window: read("window", window),
    algorithm: read("algorithm", limit?.algorithm ?? "fixed_window"),
    burst: read("burst", burst === undefined ? "" : String(burst)),
    isShadow: isAsked ? query.get("shadow") === "true" : shadowMode,
  };
}

type ChangedYaml =
  | { readonly kind: "yaml"; readonly text: string }
  | { readonly kind: "invalid"; readonly faults: readonly string[] };

function changedYaml(found: IndexedRule, change: Change): ChangedYaml {
  const read = changedRule(found.rule, change);
  if (typeof read === "string") return { kind: "invalid", faults: [read] };
  const text = ruleYaml(
    found.branch.rules.map((one) => one === found ? read : one.rule),
  );
  // What a file may not have is known where files are loaded.
  const { faults } = loadRules([{ name: "the rule", text }]);
  return faults.length === 0
    ? { kind: "yaml", text }
    : { kind: "invalid", faults: faults.map(({ reason }) => reason) };
}

function changedRule(rule: Rule, change: Change): Rule | string {
  const { requests, window, burst, isShadow } = change;
  const windowSeconds = toWindowSeconds({ unit: window }) ??
    parseWindow(window);
  const algorithm = algorithmOfWord(change.algorithm);
  const isNumber = (text: string): boolean => /^\d{1,10}$/.test(text);
  if (!isNumber(requests)) return "Requests are a whole number";
  if (burst !== "" && !isNumber(burst)) return "The burst is a whole number";
  if (algorithm === undefined) return "There is no such algorithm";
  if (windowSeconds === undefined) {
    return "A window is a unit, such as minute, or a length, such as 15m";
  }
  return {
    ...rule,
    shadowMode: isShadow,
    limit: {
      ...{ requestsPerUnit: Number(requests), windowSeconds, algorithm },
      unit: "MINUTE",
      window: windowName(windowSeconds),
      burst: burst === "" || algorithm !== "token_bucket"
        ? undefined
        : Number(burst),
    },
  };
}
