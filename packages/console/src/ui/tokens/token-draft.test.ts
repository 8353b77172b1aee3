import { describe, expect, it } from 'vitest'
import { changesOf, draftOf, issueBodyOf, newBudget, newDraft, newLimit } from './token-draft.ts'
import type { Token } from './tokens-api.ts'

const token: Token = {
  id: 'tok_1',
  name: 'laptop',
  models: ['gpt-*', 'claude-*'],
  limits: [{ requests: 60 }, { window: 90, tokens: 1000, models: 'gpt-5' }],
  budgets: [{ period: 'month', money: 20.5 }],
  hint: 'mg-Ab3d',
  createdAt: 0,
  expiresAt: 1_000_000,
}

const sent = (body: object): unknown => JSON.parse(JSON.stringify(body))

describe('the settings of a token as typed', () => {
  it('issue a token without settings if nothing is typed', () => {
    expect(sent(issueBodyOf(newDraft))).toEqual({})
  })

  it('become numbers, lists and times', () => {
    const draft = {
      name: ' laptop ',
      owner: ' ',
      models: 'gpt-*, ,claude-*',
      expires: '2030-01-31T10:00',
      limits: [
        { ...newLimit, requests: '60', concurrent: '4' },
        { ...newLimit, window: 'seconds', seconds: '90', tokens: '1e3', models: 'gpt-5' },
      ],
      budgets: [{ ...newBudget, amount: '20.5' }],
    }
    expect(sent(issueBodyOf(draft))).toEqual({
      name: 'laptop',
      models: ['gpt-*', 'claude-*'],
      expiresAt: new Date(2030, 0, 31, 10).getTime(),
      limits: [
        { window: 'minute', requests: 60, concurrent: 4 },
        { window: 90, tokens: 1000, models: ['gpt-5'] },
      ],
      budget: [{ period: 'month', money: 20.5 }],
    })
  })

  it('are sent as typed if they are no numbers, so that the gateway names the field', () => {
    const draft = { ...newDraft, limits: [{ ...newLimit, requests: '1,000' }], budgets: [newBudget] }
    expect(sent(issueBodyOf(draft))).toEqual({
      limits: [{ window: 'minute', requests: '1,000' }],
      budget: [{ period: 'month', money: '' }],
    })
  })
})

describe('the changes of a token', () => {
  const before = draftOf(token)

  it('are empty if nothing was changed, also with an expiry in the past', () => {
    expect(changesOf(before, draftOf(token))).toEqual({})
  })

  it('contain only what was changed, and null for what was removed', () => {
    const after = { ...before, models: '', limits: before.limits.slice(1), expires: '' }
    expect(changesOf(before, after)).toEqual({
      models: null,
      expiresAt: null,
      limits: [{ models: ['gpt-5'], window: 90, tokens: 1000 }],
    })
    expect(changesOf(before, { ...before, budgets: [] })).toEqual({ budget: null })
  })
})
