import { type ComponentChildren, render } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { AdminFrame } from '../admin/admin-frame.tsx'
import { useAdminToken } from '../admin/use-admin-token.ts'
import { useSettled } from '../admin/use-settled.ts'
import { Button } from '../parts/button.tsx'
import { Code } from '../parts/code.tsx'
import { CopyButton } from '../parts/copy-button.tsx'
import { cx } from '../parts/cx.ts'
import { Field } from '../parts/field.tsx'
import { Notice } from '../parts/notice.tsx'
import { SettingsForm } from './settings-form.tsx'
import { TokenDetail } from './token-detail.tsx'
import { issueBodyOf, newDraft } from './token-draft.ts'
import { hashOf, TokenRows } from './token-list.tsx'
import { type IssuedToken, issueToken } from './tokens-api.ts'
import { useTokenList } from './use-token-list.ts'

/** Fragment of the form that issues a token. */
const newToken = 'new'

function Tokens() {
  const [admin, changeAdmin] = useAdminToken()
  const [owner, setOwner] = useState('')
  const list = useTokenList(admin, useSettled(owner.trim()))
  const shown = useFragment()
  const [issued, setIssued] = useState<IssuedToken>()
  // Another token, or none, is shown: the secret is gone.
  useEffect(() => {
    setIssued((before) => (before?.id === shown.id ? before : undefined))
  }, [shown.id])
  const showSecret = (token: IssuedToken): void => {
    setIssued(token)
    location.hash = hashOf(token.id)
  }
  return (
    <AdminFrame
      current="tokens"
      title="Tokens"
      token={admin}
      isUnauthorized={list.state === 'unauthorized'}
      onToken={changeAdmin}
      actions={
        <a class="button primary small" href={`#${newToken}`}>
          Issue token
        </a>
      }
    >
      <div class={cx('token-columns', (shown.isNew || shown.id !== undefined) && 'opened')}>
        <section class="admin-column" aria-label="All tokens">
          <search>
            <Field id="owner" label="Owner" value={owner} onInput={setOwner} hint="The whole name, as it was issued." />
          </search>
          {list.message === undefined ? null : <Notice kind="bad">{list.message}</Notice>}
          {list.state === 'found' && list.tokens.length === 0 ? (
            <p class="inspect-empty">
              {owner.trim() === '' ? 'No token was issued yet.' : 'This owner has no tokens.'}
            </p>
          ) : null}
          <TokenRows tokens={list.tokens} chosen={shown.id} hasMore={list.hasMore} onMore={list.loadMore} />
        </section>
        <DetailColumn shown={shown}>
          {issued !== undefined && issued.id === shown.id ? (
            <Secret token={issued} onDone={() => setIssued(undefined)} />
          ) : null}
          {shown.isNew ? (
            <SettingsForm
              title="New token"
              submit="Issue token"
              initial={newDraft}
              onSubmit={async (draft) => {
                const { secret, ...token } = await issueToken(admin, issueBodyOf(draft))
                list.put(token)
                showSecret({ ...token, secret })
              }}
              onCancel={showNone}
            />
          ) : shown.id === undefined ? (
            <p class="inspect-empty">Choose a token to see its usage, to change its limits, or to revoke it.</p>
          ) : (
            <TokenDetail key={shown.id} id={shown.id} admin={admin} onChanged={list.put} onSecret={showSecret} />
          )}
        </DetailColumn>
      </div>
    </AdminFrame>
  )
}

/** The right column, or in place of the list on a narrow screen. It takes the focus when its content changes, and returns it when closed. */
function DetailColumn({ shown, children }: { shown: Shown; children: ComponentChildren }) {
  const column = useRef<HTMLElement>(null)
  const before = useRef(shown)
  useEffect(() => {
    const { id, isNew } = before.current
    before.current = shown
    if (shown.id !== undefined || shown.isNew) {
      column.current?.scrollIntoView({ block: 'nearest' })
      column.current?.focus({ preventScroll: true })
    } else if (id !== undefined) document.querySelector<HTMLElement>(`.token-row[href="${hashOf(id)}"]`)?.focus()
    else if (isNew) document.querySelector<HTMLElement>(`a[href="#${newToken}"]`)?.focus()
  }, [shown])
  return (
    <section class="card admin-part" aria-labelledby="detail-title" ref={column} tabIndex={-1}>
      <div class="admin-part-head">
        <h2 id="detail-title">{shown.isNew ? 'New token' : 'Token'}</h2>
        {shown.id === undefined ? null : (
          <Button small look="quiet" onClick={showNone}>
            Close
          </Button>
        )}
      </div>
      {children}
    </section>
  )
}

/** The secret of a new or rotated token, until the user has copied it. It is kept nowhere else. */
function Secret({ token, onDone }: { token: IssuedToken; onDone: () => void }) {
  return (
    <Notice kind="good" title="Copy this token now. It won't be shown again.">
      <Code text={token.secret} />
      <div class="actions">
        <CopyButton small text={token.secret} what="the token" />
        <Button small onClick={onDone}>
          Hide
        </Button>
      </div>
    </Notice>
  )
}

interface Shown {
  /** Id of the token. */
  readonly id: string | undefined
  readonly isNew: boolean
}

const showNone = (): void => {
  location.hash = ''
}

/** What the fragment names, so that a token has an address and the browser's Back closes it. */
function useFragment(): Shown {
  const read = (): Shown => {
    const fragment = new URLSearchParams(location.hash.slice(1))
    return { id: fragment.get('id') ?? undefined, isNew: fragment.has(newToken) }
  }
  const [shown, setShown] = useState(read)
  useEffect(() => {
    const changed = (): void => setShown(read())
    addEventListener('hashchange', changed)
    return () => removeEventListener('hashchange', changed)
  }, [])
  return shown
}

const app = document.getElementById('app')
if (app !== null) render(<Tokens />, app)
