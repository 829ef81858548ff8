/**
 * The page of API keys: the list, and the forms that make, replace and revoke
 * keys.
 *
 * @module
 */

import type { VNode } from "preact";
import {
  Buttons,
  CheckField,
  PostForm,
  TickBox,
} from "../../../shared/console/form.tsx";
import { Section } from "../../../shared/console/parts.tsx";
import { type Column, Table } from "../../../shared/console/table.tsx";
import { getScopes, seesPayloads } from "../../access/caller.ts";
import { ROLES, SCOPES } from "../../access/scope.ts";
import type { ApiKey } from "../../domain/records.ts";
import {
  FaultForm,
  fieldsOf,
  type FormFaults,
  formFaults,
  listOf,
  NO_FAULTS,
  statusOf,
  textOf,
  textsOf,
  withoutNulls,
} from "../parts/form.tsx";
import { ListPager, listQuestion } from "../parts/list.tsx";
import {
  goTo,
  may,
  type PageAnswer,
  type PageCall,
  pathOf,
  refusalOf,
  type ShownList,
  type Texts,
} from "../parts/page.ts";
import { shownOncePage } from "../parts/shown_once.tsx";

const FIELDS = ["name", "role", "scopes", "networks", "expires_at", "payloads"];

/** A key as the API shows it. */
type ShownKey =
  & Pick<ApiKey, "id" | "name" | "payloads">
  & Texts<"created_at", "role" | "expires_at" | "last_used_at">
  & {
    readonly scopes: readonly string[] | null;
    readonly networks: readonly string[];
  };

/** A key with its text, in the answer that made it alone. */
type NewKey = ShownKey & Texts<"key">;

/** Makes a key. */
export async function makeKey(page: PageCall): Promise<PageAnswer> {
  const { form } = page;
  const role = textOf(form, "role");
  const answer = await page.ask({
    method: "POST",
    path: "/v1/keys",
    body: {
      name: form.get("name")?.trim() ?? "",
      ...(role === null ? { scopes: form.getAll("scopes") } : { role }),
      networks: listOf(form.get("networks") ?? "") ?? [],
      payloads: form.get("payloads") === "true",
      ...withoutNulls(textsOf(form, ["expires_at"])),
    },
  });
  const faults = formFaults(answer, FIELDS);
  return faults === undefined
    ? shownKey(page, answer.body as NewKey)
    : await keyListPage(page, faults);
}

/** Replaces or revokes a key. */
export async function actOnKey(page: PageCall): Promise<PageAnswer> {
  const { base, form } = page;
  const path = pathOf("keys", page);
  if (form.get("action") === "revoke") {
    const answer = await page.ask({ method: "DELETE", path });
    return refusalOf(answer) ?? goTo(`${base}/keys`, "revoked");
  }
  const body = { overlap: textOf(form, "overlap") ?? "PT0S" };
  return await page.show<NewKey>(
    { method: "POST", path: `${path}/rotate`, body },
    (key) => shownKey(page, key),
  );
}

function shownKey({ base }: PageCall, { name, id, key }: NewKey): PageAnswer {
  return shownOncePage({
    title: `Key ${name === "" ? id : name}`,
    about: "The key is made.",
    secrets: [["Key", key]],
    back: [`${base}/keys`, "To the keys"],
  });
}

/** Shows a page of the list, and what is wrong with the form that was sent. */
export async function keyListPage(
  page: PageCall,
  faults: FormFaults = NO_FAULTS,
): Promise<PageAnswer> {
  const question = listQuestion(page, "/v1/keys");
  return await page.show<ShownList<ShownKey>>(question, (list) => ({
    kind: "page",
    title: "Keys",
    status: statusOf(faults),
    content: (
      <>
        <section>
          <Table label="Keys" rows={list.data} columns={columnsOf(page)} />
          <ListPager page={page} list={list} />
        </section>
        {may(page, "keys:write")
          ? <NewKeyForm page={page} faults={faults} />
          : null}
      </>
    ),
  }));
}

function columnsOf(page: PageCall): readonly Column<ShownKey>[] {
  const times = { nowMs: page.nowMs, absent: "never" };
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
    { name: "Last used", at: ({ last_used_at: at }) => at, ...times },
    { name: "Ends", at: ({ expires_at: at }) => at, ...times },
    ...(may(page, "keys:write")
      ? [{
        name: "Change",
        cell: (key: ShownKey) => <KeyActions page={page} shown={key} />,
      }]
      : []),
  ];
}

function KeyActions(
  { page, shown: { id, name } }: {
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
      <PostForm page={page} to={`${page.base}/keys/${id}`}>
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
          <Buttons
            buttons={[
              {
                value: "rotate",
                text: "Replace",
                kind: "",
                question: `Replace the key ${called}?`,
              },
              {
                value: "revoke",
                text: "Revoke",
                question: `Revoke the key ${called}? It stops working at once.`,
              },
            ]}
          />
        </div>
      </PostForm>
    </details>
  );
}

function NewKeyForm(
  { page, faults }: { readonly page: PageCall; readonly faults: FormFaults },
): VNode {
  const { base, form, caller } = page;
  const { text, choice } = fieldsOf({ values: form, faults });
  const chosen = new Set(form.getAll("scopes"));
  // The API gives a key no right that its maker lacks.
  const scopes = SCOPES.filter((scope) =>
    caller !== undefined && getScopes(caller).has(scope)
  );
  return (
    <Section id="new" title="Make a key" kind="narrow">
      <FaultForm page={page} faults={faults} to={`${base}/keys`} submit="Make">
        {text("name", "Name", { placeholder: "ci" })}
        {choice("role", "Role", {
          choices: [["", "none: by the scopes below"], ...ROLES],
        })}
        <fieldset>
          <legend>Scopes</legend>
          <div class="filters">
            {scopes.map((scope) => (
              <TickBox
                name="scopes"
                value={scope}
                isChecked={chosen.has(scope)}
              >
                {scope}
              </TickBox>
            ))}
          </div>
          {faults.of.scopes === undefined
            ? null
            : <p class="fault">{faults.of.scopes}</p>}
        </fieldset>
        <div class="grid">
          {text("networks", "Networks", {
            placeholder: "10.0.0.0/8",
            hint: "From everywhere when empty.",
          })}
          {text("expires_at", "Ends at", {
            placeholder: "2030-01-31T08:00:00Z",
            hint: "Never when empty.",
          })}
        </div>
        <CheckField
          name="payloads"
          label="Sees the data and results of tasks"
          isChecked={form.size > 0
            ? form.get("payloads") === "true"
            : caller !== undefined && seesPayloads(caller)}
        />
      </FaultForm>
    </Section>
  );
}
