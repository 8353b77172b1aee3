import { useCallback, useState } from 'preact/hooks'
import { CountUsages } from '../admin/count-usages.tsx'
import { DayChart } from '../admin/day-chart.tsx'
import { sumsByDay } from '../admin/days.ts'
import { timeTextOf } from '../admin/token-state.ts'
import { useFetched } from '../admin/use-fetched.ts'
import { Button } from '../parts/button.tsx'
import { CopyButton } from '../parts/copy-button.tsx'
import { inMoney, whole } from '../parts/figures.ts'
import { Notice } from '../parts/notice.tsx'
import { SettingsForm } from './settings-form.tsx'
import { RevokeDialog, RotateDialog } from './token-dialogs.tsx'
import { changesOf, draftOf } from './token-draft.ts'
import { StateChips } from './token-list.tsx'
import {
  fetchToken,
  fetchTokenUsage,
  type IssuedToken,
  revokeToken,
  rotateToken,
  type Token,
  type TokenUsage,
  updateToken,
} from './tokens-api.ts'

export interface TokenDetailProps {
  id: string
  /** The administrator's token. */
  admin: string
  onChanged: (token: Token) => void
  /** Receives the new secret of a rotated token. */
  onSecret: (token: IssuedToken) => void
}

/** Shows one token, its usage, and what can be done with it. */
export function TokenDetail({ id, admin, onChanged, onSecret }: TokenDetailProps) {
  const [fetched] = useFetched(useCallback((signal: AbortSignal) => fetchToken(admin, id, signal), [admin, id]))
  const [usage, refreshUsage] = useFetched(
    useCallback((signal: AbortSignal) => fetchTokenUsage(admin, id, signal), [admin, id]),
  )
  const [open, setOpen] = useState<'edit' | 'rotate' | 'revoke'>()
  const [updated, setUpdated] = useState<Token>()
  const token = updated ?? fetched.value
  if (token === undefined)
    return fetched.state === 'failed' ? (
      <Notice kind="warn">{fetched.message}</Notice>
    ) : (
      <p class="inspect-empty">Loading …</p>
    )
  const close = (): void => setOpen(undefined)
  const changed = (next: Token): void => {
    close()
    setUpdated(next)
    onChanged(next)
    refreshUsage()
  }
  const name = token.name ?? token.id
  if (open === 'edit')
    return (
      <SettingsForm
        title={`Settings of ${name}`}
        submit="Save"
        initial={draftOf(token)}
        onSubmit={async (draft) => changed(await updateToken(admin, id, changesOf(draftOf(token), draft)))}
        onCancel={close}
      />
    )
  return (
    <div class="token-detail">
      <p class="token-title">
        <strong>{name}</strong> <StateChips token={token} />
      </p>
      <Facts token={token} />
      {token.revokedAt === undefined ? (
        <div class="actions">
          <Button small onClick={() => setOpen('edit')}>
            Edit
          </Button>
          <Button small onClick={() => setOpen('rotate')}>
            Rotate …
          </Button>
          <Button small onClick={() => setOpen('revoke')}>
            Revoke …
          </Button>
        </div>
      ) : null}
      {usage.state === 'failed' ? <Notice kind="warn">{usage.message}</Notice> : null}
      {usage.value === undefined ? null : <Usage id={id} usage={usage.value} />}
      {open === 'revoke' ? (
        <RevokeDialog name={name} onClose={close} onRevoke={async () => changed(await revokeToken(admin, id))} />
      ) : null}
      {open === 'rotate' ? (
        <RotateDialog
          name={name}
          onClose={close}
          onRotate={async (graceMs) => {
            const { secret, ...rotated } = await rotateToken(admin, id, graceMs)
            changed(rotated)
            onSecret({ ...rotated, secret })
          }}
        />
      ) : null}
    </div>
  )
}

function Facts({ token }: { token: Token }) {
  const { id, owner, models, hint, createdAt, expiresAt, revokedAt, rotatedAt } = token
  const rows: readonly (readonly [string, string | undefined])[] = [
    ['Owner', owner],
    ['Models', models === undefined ? 'all' : models.join(', ')],
    ['Secret', `${hint}…`],
    ['Issued', timeTextOf(createdAt)],
    ['Rotated', rotatedAt === undefined ? undefined : timeTextOf(rotatedAt)],
    ['Expires', expiresAt === undefined ? 'never' : timeTextOf(expiresAt)],
    ['Revoked', revokedAt === undefined ? undefined : timeTextOf(revokedAt)],
  ]
  return (
    <dl class="call-figures">
      <div>
        <dt>Id</dt>
        <dd>
          <code>{id}</code> <CopyButton small icon look="quiet" text={id} what="the token's id" />
        </dd>
      </div>
      {rows.map(([name, value]) =>
        value === undefined ? null : (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ),
      )}
    </dl>
  )
}

function Usage({ id, usage }: { id: string; usage: TokenUsage }) {
  const { budgets, limits, currency, totals, byDay, byModel, from, to } = usage
  const counts = [...budgets, ...limits]
  return (
    <>
      <section class="call-part" aria-labelledby="counts">
        <h3 id="counts">Budgets and limits now</h3>
        {counts.length === 0 ? <p class="inspect-empty">This token has no budgets and no limits.</p> : null}
        <CountUsages counts={counts} currency={currency} />
      </section>
      <section class="call-part" aria-labelledby="token-usage">
        <h3 id="token-usage">Usage of the last 30 days</h3>
        {totals.calls === 0 ? (
          <p class="inspect-empty">No calls in these days.</p>
        ) : (
          <>
            <DayChart days={sumsByDay(byDay, { from, to })} currency={currency} />
            <table class="admin-table">
              <thead>
                <tr>
                  <th scope="col" class="text">
                    Model
                  </th>
                  <th scope="col">Calls</th>
                  <th scope="col">Tokens</th>
                  {currency === undefined ? null : <th scope="col">Cost</th>}
                </tr>
              </thead>
              <tbody>
                {byModel.map(({ model, calls, inputTokens, outputTokens, cost }) => (
                  <tr key={model}>
                    <td class="text">{model}</td>
                    <td>{whole.format(calls)}</td>
                    <td>{whole.format(inputTokens + outputTokens)}</td>
                    {currency === undefined ? null : <td>{inMoney(cost, currency)}</td>}
                  </tr>
                ))}
              </tbody>
            </table>
            {currency === undefined ? <p class="inspect-hint">Prices are not configured, so cost is unknown.</p> : null}
          </>
        )}
        <p>
          <a href={`usage#for=${encodeURIComponent(id)}`}>Open in Usage</a>
        </p>
      </section>
    </>
  )
}
