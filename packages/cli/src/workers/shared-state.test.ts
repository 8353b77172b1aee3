import type { Cooldown } from '@modelgate/core'
import { expect, it } from 'vitest'
import { createSharedHealth } from './shared-state.ts'

it('copies cooldowns between processes, and gives a later process those that have not ended', () => {
  const sent: [string, Cooldown | undefined][] = []
  const one = createSharedHealth(
    (...change) => void sent.push(change),
    () => 1000,
  )
  const other = createSharedHealth(
    () => {
      throw new Error('a received change is not sent again')
    },
    () => 1000,
  )
  one.state.write('a', { until: 2000, reason: 'failing' })
  one.state.write('b', { until: 900, reason: 'refused' })
  one.state.write('c', { until: 3000, reason: 'failing' })
  one.state.write('c', undefined)
  for (const [id, cooldown] of sent) other.receive(id, cooldown)
  expect(other.state.read('a')).toEqual({ until: 2000, reason: 'failing' })
  expect(other.state.read('c')).toBeUndefined()
  expect(other.entries()).toEqual([['a', { until: 2000, reason: 'failing' }]])
})

it('keeps at most 10,000 cooldowns, the newest ones', () => {
  const health = createSharedHealth(() => {})
  const until = Date.now() + 60_000
  for (let n = 0; n < 10_010; n++) health.state.write(`target ${n}`, { until, reason: 'failing' })
  expect(health.entries()).toHaveLength(10_000)
  expect(health.state.read('target 9')).toBeUndefined()
  expect(health.state.read('target 10009')).toBeDefined()
})
