import { expect, it } from 'vitest'
import { enterPending } from './pending-limit.ts'

it('limits the pending sessions of each caller, not those of others, and frees each once', () => {
  const gateway = {}
  const mine = Array.from({ length: 32 }, () => enterPending(gateway, { id: 'a' }))
  expect(() => enterPending(gateway, { id: 'a' })).toThrow('Too many sessions without a first message (32)')
  enterPending(gateway, { id: 'b' })
  enterPending(gateway, null)
  enterPending({}, { id: 'a' })
  mine[0]?.()
  mine[0]?.()
  enterPending(gateway, { id: 'a' })
  expect(() => enterPending(gateway, { id: 'a' })).toThrow('Too many sessions')
})
