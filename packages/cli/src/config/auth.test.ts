import type { AuthRequest } from '@modelgate/core'
import { describe, expect, it } from 'vitest'
import { anyOf } from './auth.ts'

const request: AuthRequest = { method: 'POST', path: '/v1/chat/completions', header: () => undefined }

describe('anyOf', () => {
  it('calls the next function after one that returns undefined or null', async () => {
    const issued = (credential: string) => (credential === 'mg-issued' ? { id: 'issued' } : null)
    const withoutReturn = (() => undefined) as unknown as () => null
    expect(await anyOf([withoutReturn, () => null, issued])('mg-issued', request)).toEqual({ id: 'issued' })
    expect(await anyOf([withoutReturn, issued])('other', request)).toBeNull()
  })
})
