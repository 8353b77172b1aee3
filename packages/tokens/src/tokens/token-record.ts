import { randomBytes } from 'node:crypto'
import { GatewayError } from '@modelgate/core'
import type { StoredSecret, Token, TokenRecord } from '../contract/token.ts'
import { base62Of, digestOf, hintOf } from './secret.ts'
import type { Changes } from './settings.ts'

/** Older secrets that may be good at the same time. */
const mostOldSecrets = 20
/** Older secrets that are no longer good, and are kept to say so to who still uses them. */
const keptDeadSecrets = 3

/** A new token as it is kept. */
export const newRecord = (secret: string, changes: Changes, now: number): TokenRecord =>
  withChanges(
    {
      id: `tok_${base62Of(randomBytes(16), 22)}`,
      limits: [],
      budgets: [],
      hint: hintOf(secret),
      createdAt: now,
      secrets: [{ digest: digestOf(secret) }],
      version: 1,
    },
    changes,
  )

/** A record with its settings changed. Stores raise the version. */
export function withChanges(record: TokenRecord, changes: Changes): TokenRecord {
  const { limits, budgets, ...others } = changes
  const next: Record<string, unknown> = { ...record }
  for (const [field, value] of Object.entries(others)) {
    if (value === null) delete next[field]
    else next[field] = value
  }
  if (limits !== undefined) next.limits = limits ?? []
  if (budgets !== undefined) next.budgets = budgets ?? []
  return next as unknown as TokenRecord
}

/** A record that is good for nothing any more. What was revoked before stays as it was. */
export const withRevocation = (record: TokenRecord, now: number): TokenRecord =>
  record.revokedAt === undefined ? { ...record, revokedAt: now } : record

/** A record with a new secret. The others are good for `graceMs` more, at most. */
export function withNewSecret(record: TokenRecord, secret: string, graceMs: number, now: number): TokenRecord {
  if (record.revokedAt !== undefined)
    throw new GatewayError('conflict', `The token '${record.id}' is revoked, for good: issue another one.`)
  const until = now + graceMs
  const old = record.secrets.map(
    ({ digest, validUntil = until }): StoredSecret => ({ digest, validUntil: Math.min(validUntil, until) }),
  )
  const good = old.filter(({ validUntil = 0 }) => validUntil > now)
  if (good.length > mostOldSecrets)
    throw new GatewayError(
      'conflict',
      `The token '${record.id}' has ${good.length} older secrets that are still good: wait, or rotate it with graceMs 0.`,
    )
  const dead = old.filter(({ validUntil = 0 }) => validUntil <= now).slice(0, keptDeadSecrets)
  return {
    ...record,
    hint: hintOf(secret),
    rotatedAt: now,
    secrets: [{ digest: digestOf(secret) }, ...good, ...dead],
  }
}

/** What is told of a token: no digests. */
export function publicToken({ secrets: _digests, version: _version, ...token }: TokenRecord): Token {
  return token
}
