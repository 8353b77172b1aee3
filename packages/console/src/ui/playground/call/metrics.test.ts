import { describe, expect, it } from 'vitest'
import { type Round, turnsOf } from '../conversation/rounds.ts'
import type { Exchange, Piece, Question, ToolCall, ToolResult } from '../formats/format.ts'
import { formats } from '../formats/index.ts'
import { firstDraft, readDraft } from '../settings/draft.ts'
import { foldPieces } from './fold-response.ts'
import { readLossHeader } from './losses.ts'
import { speedOf } from './speed.ts'

describe('foldPieces', () => {
  it('adds usage that is reported in parts', () => {
    const pieces: Piece[] = [
      { type: 'usage', usage: { input: 9, output: 1, cached: 4 } },
      { type: 'usage', usage: { input: undefined, output: 30, cached: undefined } },
    ]
    expect(foldPieces(pieces).usage).toEqual({ input: 9, output: 30, cached: 4 })
  })

  it('separates tool calls at the same index, and joins the parts of one call', () => {
    const pieces: Piece[] = [
      { type: 'tool-call', index: 0, name: 'a', input: '{}' },
      { type: 'tool-call', index: 0, name: 'a', input: '{"b":' },
      { type: 'tool-call', index: 0, input: '1}' },
      { type: 'tool-call', index: 1, id: 'x', name: 'c', input: '[' },
      { type: 'tool-call', index: 1, id: 'x', name: 'c', input: ']' },
    ]
    expect(foldPieces(pieces).answer.toolCalls).toEqual([
      { id: '', name: 'a', input: '{}' },
      { id: '', name: 'a', input: '{"b":1}' },
      { id: 'x', name: 'c', input: '[]' },
    ])
  })
})

describe('speedOf', () => {
  const exchange = (more: Partial<Exchange>): Exchange => ({
    format: formats[0],
    request: { path: '', headers: {}, body: {} },
    events: [
      { data: '', at: 500 },
      { data: '', at: 1500 },
    ],
    pieces: [],
    outcome: 'finished',
    firstPieceAt: 500,
    endedAt: 1500,
    ...more,
  })
  const usage = { input: 1, output: 50 }

  it('leaves out the wait for the first token of a stream', () => {
    expect(speedOf(exchange({}), usage)).toEqual({ firstMs: 500, totalMs: 1500, tokensPerSecond: 50 })
  })

  it('counts the whole time of an unstreamed response, which has no first token', () => {
    const whole = exchange({ events: [{ data: '', at: 2000 }], firstPieceAt: 2000, endedAt: 2000 })
    expect(speedOf(whole, usage)).toEqual({ totalMs: 2000, tokensPerSecond: 25 })
  })

  it('reports no rate over too short a time', () => {
    expect(speedOf(exchange({ endedAt: 505 }), usage).tokensPerSecond).toBeUndefined()
    expect(speedOf(exchange({}), undefined).tokensPerSecond).toBeUndefined()
  })
})

it.each([
  [undefined, { losses: [], total: 0, notes: 0 }],
  [
    '"/a~1b";kind=unsupported;severity=warn, "/x\\"y";kind=moved;severity=note;count=4;in=answer, "...";more=12;notes=3',
    {
      losses: [
        { path: '/a~1b', kind: 'unsupported', severity: 'warn', inAnswer: false, count: 1 },
        { path: '/x"y', kind: 'moved', severity: 'note', inAnswer: true, count: 4 },
      ],
      total: 13,
      notes: 7,
    },
  ],
  [
    '"/a";kind=unsupported;severity=note;in=answer, "/a";kind=unsupported;severity=note;in=answer',
    { losses: [{ path: '/a', kind: 'unsupported', severity: 'note', inAnswer: true, count: 1 }], total: 0, notes: 1 },
  ],
])('reads the losses of %j', (header, wanted) => {
  expect(readLossHeader(header)).toEqual(wanted)
})

describe('the turns of the next request', () => {
  const round = (id: number, text: string, pieces: readonly Piece[], results?: readonly ToolResult[]): Round => ({
    parent: undefined,
    id,
    question: { role: 'user', text, images: [], ...(results === undefined ? {} : { results }) },
    model: 'm',
    exchange: {
      format: formats[0],
      request: { path: '', headers: {}, body: {} },
      events: [],
      pieces,
      outcome: 'finished',
    },
  })
  const next: Question = { role: 'user', text: 'Next', images: [] }
  const call: ToolCall = { id: 'c1', name: 'f', input: '{}' }
  const callPiece: Piece = { type: 'tool-call', index: 0, ...call }
  const result: ToolResult = { call, content: '7', failed: false }
  const say = (text: string): Piece => ({ type: 'text', text })

  it('leave out questions without a response', () => {
    const turns = turnsOf([round(1, 'One', []), round(2, 'Two', [say('2')])], next)
    expect(turns.map(({ text }) => text)).toEqual(['Two', '2', 'Next'])
  })

  it('contain tool calls with the results that follow, and their signed reasoning', () => {
    const pieces: Piece[] = [
      { type: 'reasoning', text: 'Think' },
      { type: 'reasoning-signature', signature: 's' },
      callPiece,
    ]
    const turns = turnsOf([round(1, 'One', pieces), round(2, '', [say('It is 7')], [result])], next)
    expect(turns).toMatchObject([
      { text: 'One' },
      { toolCalls: [call], reasoning: 'Think', reasoningSignature: 's' },
      { results: [result] },
      { text: 'It is 7', toolCalls: [] },
      { text: 'Next' },
    ])
  })

  it('leave out tool calls without a result for each', () => {
    const second: Piece = { ...callPiece, index: 1, id: 'c2' }
    const texts = turnsOf([round(1, 'One', [say('Hm'), callPiece, second])], { ...next, results: [result] })
    expect(texts).toMatchObject([{ text: 'One' }, { text: 'Hm', toolCalls: [] }, { text: 'Next' }])
    expect(turnsOf([round(1, 'One', [callPiece])], next)).toEqual([next])
  })
})

describe('settings', () => {
  it.each([
    ['temperature', '', undefined],
    ['temperature', '0,5', 0.5],
    ['temperature', 'hot', 'wrong'],
    ['maxTokens', '100', 100],
    ['maxTokens', '0', 'wrong'],
    ['maxTokens', '1.5', 'wrong'],
  ] as const)('read %s %j', (field, text, wanted) => {
    const { settings, wrongs } = readDraft({ ...firstDraft, [field]: text })
    if (wanted === 'wrong') expect([settings, typeof wrongs[field]]).toEqual([undefined, 'string'])
    else expect(settings?.[field]).toBe(wanted)
  })

  it.each(['{', '{}', '[3]', '[{"description":"x"}]'])('report the error in the tools %j', (tools) => {
    const { settings, wrongs } = readDraft({ ...firstDraft, offersTools: true, tools })
    expect(settings).toBeUndefined()
    expect(wrongs.tools).toMatch(/JSON|list|name/)
  })

  it('offer the unchanged example once tools are switched on', () => {
    expect(readDraft(firstDraft).settings?.tools).toEqual([])
    expect(readDraft({ ...firstDraft, offersTools: true }).settings?.tools[0]?.name).toBe('get_weather')
  })
})
