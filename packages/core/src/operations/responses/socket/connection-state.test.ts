import { expect, it } from 'vitest'
import { boundedStore } from '../store.ts'
import { ConnectionState } from './connection-state.ts'

const memory = (maxChars = 100_000) => boundedStore({ maxChars }, 1 / 2)
const item = (text: string) => ({ role: 'user', content: text })

it('knows the latest response of each lane, for its caller and its connection only', () => {
  const shared = memory()
  const one = new ConnectionState(shared, 'ws_1')
  const two = new ConnectionState(shared, 'ws_2')
  one.recordsFor('', 'ada').save('resp_1', { items: [item('first')] })
  one.recordsFor('x', 'ada').save('resp_2', { items: [item('second')], base: 'resp_0' })
  expect(one.recordsFor('other', 'ada').response('resp_1')).toEqual({ items: [item('first')] })
  expect(one.recordsFor('', 'ada').response('resp_2')).toEqual({ items: [item('second')], base: 'resp_0' })
  expect(one.recordsFor('', 'bob').response('resp_1')).toBeUndefined()
  expect(two.recordsFor('', 'ada').response('resp_1')).toBeUndefined()
  one.recordsFor('', 'ada').save('resp_3', { items: [item('third')] })
  expect(one.recordsFor('', 'ada').response('resp_1')).toBeUndefined()
  expect(one.recordsFor('', 'ada').response('resp_3')).toEqual({ items: [item('third')] })
})

it('forgets a response on request, after a failure of its own lane, and at the end', () => {
  const state = new ConnectionState(memory(), 'ws_1')
  const records = state.recordsFor('', 'ada')
  records.save('resp_1', { items: [] })
  state.evict('x', 'resp_1')
  expect(records.response('resp_1')).toEqual({ items: [] })
  state.evict('', undefined)
  state.evict('', 'resp_1')
  expect(records.response('resp_1')).toBeUndefined()
  records.save('resp_2', { items: [] })
  records.forget()
  expect(records.response('resp_2')).toBeUndefined()
  records.save('resp_3', { items: [] })
  state.clear()
  expect(records.response('resp_3')).toBeUndefined()
})

it('drops old conversations of an owner with more than an equal share, and rejects one of more than half of the memory', () => {
  const shared = memory(10_000)
  const ada = new ConnectionState(shared, 'ws_1')
  const bob = new ConnectionState(shared, 'ws_2').recordsFor('', 'bob')
  bob.save('resp_b', { items: [item('b'.repeat(3000))] })
  for (let i = 0; i < 5; i++) ada.recordsFor(`lane-${i}`, 'ada').save(`resp_${i}`, { items: [item('a'.repeat(2000))] })
  expect(bob.response('resp_b')).toBeDefined()
  const known = [0, 1, 2, 3, 4].filter((i) => ada.recordsFor('', 'ada').response(`resp_${i}`) !== undefined)
  expect(known).toEqual([2, 3, 4])
  expect(() => bob.save('resp_c', { items: [item('b'.repeat(6000))] })).toThrow(RangeError)
})
