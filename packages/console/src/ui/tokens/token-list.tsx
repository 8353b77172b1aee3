import { dayTextOf, stateOf } from '../admin/token-state.ts'
import { Button } from '../parts/button.tsx'
import { cx } from '../parts/cx.ts'
import type { Token } from './tokens-api.ts'

export interface TokenRowsProps {
  tokens: readonly Token[]
  chosen: string | undefined
  hasMore: boolean
  onMore: () => void
}

/** Lists tokens, the oldest first. Each row links to its details. */
export function TokenRows({ tokens, chosen, hasMore, onMore }: TokenRowsProps) {
  return (
    <>
      <ul class="token-list">
        {tokens.map((token) => (
          <li key={token.id}>
            <TokenRow token={token} isChosen={token.id === chosen} />
          </li>
        ))}
      </ul>
      {hasMore ? (
        <Button small onClick={onMore}>
          Show more tokens
        </Button>
      ) : null}
    </>
  )
}

/** Address of a token on this page. */
export const hashOf = (id: string): string => `#id=${encodeURIComponent(id)}`

function TokenRow({ token, isChosen }: { token: Token; isChosen: boolean }) {
  const { id, name, owner, hint, createdAt, expiresAt, revokedAt } = token
  return (
    <a class={cx('token-row', isChosen && 'chosen')} href={hashOf(id)} aria-current={isChosen ? 'true' : undefined}>
      <span class="token-who">
        <strong>{name ?? id}</strong>
        {owner === undefined ? null : <span>{owner}</span>}
      </span>
      <span class="chips">
        <StateChips token={token} />
      </span>
      <code>{hint}…</code>
      <span class="token-when">
        {expiresAt === undefined || revokedAt !== undefined
          ? `issued ${dayTextOf(createdAt)}`
          : `expires ${dayTextOf(expiresAt)}`}
      </span>
    </a>
  )
}

export function StateChips({ token }: { token: Token }) {
  const { text, look } = stateOf(token)
  return (
    <>
      <span class={cx('chip', look)}>{text}</span>
      {token.rotatedAt === undefined ? null : <span class="chip">rotated</span>}
    </>
  )
}
