/**
 * The page of API keys: the list, and the forms that make, replace and revoke
 * keys.
 *
 * @module
 */

import type { VNode } from "preact";
import {
  CheckField,
  ChoiceField,
  TextField,
} from "../../../shared/console/form.tsx";
import { CsrfField } from "../../../shared/console/layout.tsx";
import { Time } from "../../../shared/console/parts.tsx";
import { type Column, Pager, Table } from "../../../shared/console/table.tsx";
import { getScopes, seesPayloads } from "../../access/caller.ts";
import { ROLES, SCOPES } from "../../access/scope.ts";
import {
  FaultsNote,
  type FormFaults,
  formFaults,
  listOf,
  NO_FAULTS,
  textOf,
} from "../parts/form_faults.tsx";
import {
  may,
  type PageAnswer,
  type PageCall,
  refusalOf,
  type ShownList,
  withQuery,
} from "../parts/page.ts";
import { shownOncePage } from "../parts/shown_once.tsx";
import { fieldsOf } from "../tasks/task_form.tsx";

/** Keys of a page. */
const LIMIT = 50;

const FIELDS = ["name", "role", "scopes", "networks", "expires_at", "payloads"];

/** A key as the API shows it. */
interface ShownKey {
  readonly id: string;
  readonly name: string;
  readonly role: string | null;
  readonly scopes: readonly string[] | null;
  readonly networks: readonly string[];
  readonly payloads: boolean;
  readonly created_at: string;
  readonly expires_at: string | null;
  readonly last_used_at: string | null;
}

/** Shows a page of the list. */
export async function keyListPage(page: PageCall): Promise<PageAnswer> {
  return await showList(page, NO_FAULTS);
}

/** Makes a key. */
export async function makeKey(page: PageCall): Promise<PageAnswer> {
  const { form } = page;
  const role = textOf(form, "role");
  const expires = textOf(form, "expires_at");
  const answer = await page.ask({
    method: "POST",
    path: "/v1/keys",
    body: {
      name: form.get("name")?.trim() ?? "",
      ...(role === null ? { scopes: form.getAll("scopes") } : { role }),
      networks: listOf(form.get("networks") ?? "") ?? [],
      payloads: form.get("payloads") === "true",
      ...(expires === null ? {} : { expires_at: expires }),
    },
  });
  const faults = formFaults(answer, FIELDS);
  return faults === undefined
    ? shownKey(page, answer.body as ShownKey & { readonly key: string })
    : await showList(page, faults);
}

/** Replaces or revokes a key. */
export async function actOnKey(page: PageCall): Promise<PageAnswer> {
  const { base, form, params } = page;
  const path = `/v1/keys/${encodeURIComponent(params.id ?? "")}`;
  if (form.get("action") === "revoke") {
    const answer = await page.ask({ method: "DELETE", path });
    return refusalOf(answer) ??
      { kind: "redirect", to: `${base}/keys?done=revoked` };
  }
  const answer = await page.ask({
    method: "POST",
    path: `${path}/rotate`,
    body: { overlap: textOf(form, "overlap") ?? "PT0S" },
  });
  return refusalOf(answer) ??
    shownKey(page, answer.body as ShownKey & { readonly key: string });
}

function shownKey(
  { base }: PageCall,
  { name, id, key }: ShownKey & { readonly key: string },
): PageAnswer {
  return shownOncePage({
    title: `Key ${name === "" ? id : name}`,
    about: "The key is made.",
    secrets: [["Key", key]],
    back: `${base}/keys`,
    backText: "To the keys",
  });
}

async function showList(
  page: PageCall,
  faults: FormFaults,
): Promise<PageAnswer> {
  const { base, query } = page;
  const cursor = query.get("cursor") ?? "";
  const asked = Object.entries({ limit: String(LIMIT), cursor })
    .filter(([, value]) => value !== "");
  const answer = await page.ask({
    path: "/v1/keys",
    query: new URLSearchParams(asked),
  });
  const refusal = refusalOf(answer);
  if (refusal !== undefined) return refusal;
  const { data, next } = answer.body as ShownList<ShownKey>;
  const path = `${base}/keys`;
  return {
    kind: "page",
    title: "Keys",
    status: faults === NO_FAULTS ? 200 : 422,
    content: (
      <>
        <section>
          <Table label="Keys" rows={data} columns={columnsOf(page)} />
          <Pager
            first={cursor === "" ? undefined : path}
            next={next === null ? undefined : withQuery(path, { cursor: next })}
          />
        </section>
        {may(page, "keys:write")
          ? <NewKey page={page} faults={faults} />
          : null}
      </>
    ),
  };
}

function columnsOf(page: PageCall): readonly Column<ShownKey>[] {
  const { nowMs } = page;
  return [
    {
      name: "Key",
      cell: ({ id, name }) => (
        <span>
          {name === "" ? null : `${name} `}
          <span class="mono dim">{id}</span>
        </span>
      ),
    },
    {
      name: "May",
      cell: ({ role, scopes, payloads }) => (
        <span>
          {role ?? scopes?.join(", ")}
          {payloads ? null : <span class="dim">, without data</span>}
        </span>
      ),
    },
    {
      name: "From",
      cell: ({ networks }) =>
        networks.length === 0
          ? <span class="dim">everywhere</span>
          : networks.join(", "),
    },
    {
      name: "Last used",
      cell: ({ last_used_at: at }) =>
        at === null
          ? <span class="dim">never</span>
          : <Time at={at} nowMs={nowMs} />,
    },
    {
      name: "Ends",
      cell: ({ expires_at: at }) =>
        at === null
          ? <span class="dim">never</span>
          : <Time at={at} nowMs={nowMs} />,
    },
    ...(may(page, "keys:write")
      ? [{
        name: "Change",
        cell: (key: ShownKey) => <KeyActions page={page} shown={key} />,
      }]
      : []),
  ];
}

function KeyActions(
  { page: { base, csrf }, shown: { id, name } }: {
    readonly page: PageCall;
    readonly shown: ShownKey;
  },
): VNode {
  const called = name === "" ? id : name;
  return (
    <details>
      <summary>
        Replace, revoke<span class="hidden">{` ${called}`}</span>
      </summary>
      <form method="post" action={`${base}/keys/${id}`}>
        <CsrfField csrf={csrf} />
        <div class="field">
          <label for={`overlap-${id}`}>The old key works on for</label>
          <select id={`overlap-${id}`} name="overlap">
            <option value="PT0S">no time</option>
            <option value="PT1H">an hour</option>
            <option value="PT24H">a day</option>
            <option value="PT168H">a week</option>
          </select>
        </div>
        <div class="row">
          <button
            type="submit"
            name="action"
            value="rotate"
            data-confirm={`Replace the key ${called}?`}
          >
            Replace
          </button>
          <button
            type="submit"
            name="action"
            value="revoke"
            class="danger"
            data-confirm={`Revoke the key ${called}? It stops working at once.`}
          >
            Revoke
          </button>
        </div>
      </form>
    </details>
  );
}

function NewKey(
  { page, faults }: { readonly page: PageCall; readonly faults: FormFaults },
): VNode {
  const { base, csrf, form, caller } = page;
  const field = fieldsOf(form, faults.of);
  const chosen = new Set(form.getAll("scopes"));
  // The API gives a key no right that its maker lacks.
  const scopes = SCOPES.filter((scope) =>
    caller !== undefined && getScopes(caller).has(scope)
  );
  return (
    <section aria-labelledby="new" class="narrow">
      <h2 id="new">Make a key</h2>
      <form method="post" action={`${base}/keys`}>
        <FaultsNote faults={faults} />
        <CsrfField csrf={csrf} />
        <TextField {...field("name")} label="Name" placeholder="ci" />
        <ChoiceField
          {...field("role")}
          label="Role"
          choices={[
            ["", "none: by the scopes below"],
            ...ROLES.map((role) => [role, role] as const),
          ]}
        />
        <fieldset>
          <legend>Scopes</legend>
          <div class="filters">
            {scopes.map((scope) => (
              <label class="check">
                <input
                  type="checkbox"
                  name="scopes"
                  value={scope}
                  checked={chosen.has(scope)}
                />
                {scope}
              </label>
            ))}
          </div>
          {faults.of.scopes === undefined
            ? null
            : <p class="fault">{faults.of.scopes}</p>}
        </fieldset>
        <div class="grid">
          <TextField
            {...field("networks")}
            label="Networks"
            placeholder="10.0.0.0/8"
            hint="From everywhere when empty."
          />
          <TextField
            {...field("expires_at")}
            label="Ends at"
            placeholder="2030-01-31T08:00:00Z"
            hint="Never when empty."
          />
        </div>
        <CheckField
          name="payloads"
          label="Sees the data and results of tasks"
          isChecked={form.size > 0
            ? form.get("payloads") === "true"
            : caller !== undefined && seesPayloads(caller)}
        />
        <button type="submit" class="primary">Make</button>
      </form>
    </section>
  );
}
