import type { TokenTimes } from './contract.ts'

export interface TokenState {
  readonly text: 'active' | 'expired' | 'revoked'
  readonly look: 'good' | 'warn' | 'bad'
}

/** Returns whether a token is valid at a time. */
export const stateOf = ({ expiresAt, revokedAt }: TokenTimes, now = Date.now()): TokenState =>
  revokedAt !== undefined
    ? { text: 'revoked', look: 'bad' }
    : expiresAt !== undefined && expiresAt <= now
      ? { text: 'expired', look: 'warn' }
      : { text: 'active', look: 'good' }

export const dayTextOf = (time: number): string => new Date(time).toLocaleDateString('en-GB', { dateStyle: 'medium' })

export const timeTextOf = (time: number): string =>
  new Date(time).toLocaleString('en-GB', { dateStyle: 'medium', timeStyle: 'short' })
