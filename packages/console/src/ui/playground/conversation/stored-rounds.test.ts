import { describe, expect, it } from 'vitest'
import type { Json, JsonObject } from '../formats/format.ts'
import { readConversation } from './stored-rounds.ts'

const exchange: JsonObject = {
  format: 'chat',
  request: { path: '/v1/chat/completions', headers: {}, body: {} },
  status: 200,
  responseHeaders: { 'modelgate-attempts': '1' },
  events: [{ data: '{}', at: 3 }],
  pieces: [
    { type: 'text', text: 'Hello' },
    { type: 'tool-call', index: 0, id: 'a', name: 'get', input: '{}' },
    { type: 'usage', usage: { input: 1, output: 2 } },
    { type: 'finish', reason: 'stop' },
  ],
  outcome: 'finished',
}
const facts: JsonObject = {
  requestId: 'req_1',
  attempts: [{ reason: 'first', startedMs: 0 }],
  losses: { warnings: 0, notes: 0 },
  durationMs: 5,
}
const question: JsonObject = { role: 'user', text: 'Hi', images: [] }
const round: JsonObject = { id: 1, question, model: 'm', exchange, facts }
const fileOf = (more: JsonObject): Json => ({ version: 1, last: 1, rounds: [{ ...round, ...more }] })

describe('readConversation', () => {
  it('reads a complete round', () => {
    expect(readConversation(fileOf({}))).toMatchObject({ last: 1, all: [{ id: 1, model: 'm' }] })
  })

  it.each<[string, JsonObject]>([
    ['a usage piece without usage', { exchange: { ...exchange, pieces: [{ type: 'usage' }] } }],
    ['a text piece without text', { exchange: { ...exchange, pieces: [{ type: 'text' }] } }],
    ['an unknown piece', { exchange: { ...exchange, pieces: [{ type: 'evil' }] } }],
    ['an object as header', { exchange: { ...exchange, responseHeaders: { a: {} } } }],
    ['an event without time', { exchange: { ...exchange, events: [{ data: '' }] } }],
    ['facts without attempts', { facts: { ...facts, attempts: null } }],
    ['facts without losses', { facts: { ...facts, losses: null } }],
    ['results that are no list', { question: { ...question, results: {} } }],
    ['a result without its call', { question: { ...question, results: [{ content: 'x' }] } }],
    ['an id beyond the safe integers', { id: 1e300 }],
    ['an exchange that is no object', { exchange: null }],
  ])('names the round with %s', (_, more) => {
    expect(readConversation(fileOf(more))).toBe('round 1 is damaged')
  })
})
