import { describe, expect, it } from 'vitest'
import type { Format } from '../base/names.ts'
import { type RequestFeature, type ResponseFeature, verdictWord } from './capabilities.ts'
import { canAsk, canTell, observeAnswer, observeRequest } from './capability-verdict.test-support.ts'
import { codecs } from './codecs.ts'

/**
 * What is said in the format's own words, so that no report speaks of it: the same thing under another name, or a number
 * that is still in the total. Whatever else changes is reported.
 */
const sameInOtherWords: { readonly [F in Format]: { requests: RequestFeature[]; answers: ResponseFeature[] } } = {
  chat: {
    requests: [],
    answers: [
      'reasoning.summary',
      'finish.context-length',
      'finish.refusal',
      'finish.explanation',
      'usage.cacheWrite1h',
      'usage.tool',
    ],
  },
  messages: {
    requests: ['turns.developer', 'user.safetyId'],
    answers: [
      'reasoning.summary',
      'refusal',
      'finish.content-filter',
      'usage.audio',
      'usage.image',
      'usage.tool',
      'created',
    ],
  },
  gemini: {
    requests: ['media.documentText', 'turns.developer'],
    answers: [
      'reasoning.summary',
      'finish.context-length',
      'finish.refusal',
      'usage.cacheWrite',
      'usage.cacheWrite1h',
      'created',
    ],
  },
  responses: {
    requests: [],
    answers: [
      'reasoning.text',
      'finish.context-length',
      'finish.refusal',
      'finish.explanation',
      'usage.cacheWrite1h',
      'usage.tool',
    ],
  },
}

/** The decoder reads the tier where upstreams say it, in the first chunk; clients are told in the last, with the usage. */
const readElsewhere = 'gemini serviceTier'

describe.each(codecs.map((codec) => [codec.format, codec] as const))('what %s carries', (format, codec) => {
  const requests = Object.keys(codec.capabilities.requests) as RequestFeature[]
  const answers = Object.keys(codec.capabilities.responses) as ResponseFeature[]

  it.each(requests)('of %s in a request is what its table says', (feature) => {
    const row = codec.capabilities.requests[feature]
    const { word, losses } = observeRequest(codec, feature)
    expect({ upstream: word, losses }).toEqual({ upstream: verdictWord(row.upstream), losses })
    expect({ client: canAsk(codec, feature) }).toEqual({ client: row.client })
  })

  it.each(requests.filter((feature) => codec.capabilities.requests[feature].keptWith !== undefined))(
    'of %s in a request is all with the quirk that its table names',
    (feature) => {
      const { keptWith } = codec.capabilities.requests[feature]
      expect(observeRequest(codec, feature, keptWith).word).toBe('kept')
    },
  )

  it.each(answers)('of %s in an answer is what its table says', (feature) => {
    const row = codec.capabilities.responses[feature]
    const { word, losses } = observeAnswer(codec, feature, false)
    expect({ client: word, losses }).toEqual({ client: verdictWord(row.client), losses })
    expect({ upstream: canTell(codec, feature) }).toEqual({ upstream: row.upstream })
  })

  it.each(answers.filter((feature) => `${format} ${feature}` !== readElsewhere))(
    'of %s in a stream is the same',
    (feature) => {
      const { word, losses } = observeAnswer(codec, feature, true)
      expect({ client: word, losses }).toEqual({
        client: verdictWord(codec.capabilities.responses[feature].client),
        losses,
      })
    },
  )

  it('changes nothing without a report, but for what says the same in other words', () => {
    expect({
      requests: requests.filter((feature) => observeRequest(codec, feature).silent),
      answers: answers.filter((feature) => observeAnswer(codec, feature, false).silent),
      streams: answers.filter(
        (feature) => observeAnswer(codec, feature, true).silent && `${format} ${feature}` !== readElsewhere,
      ),
    }).toEqual({ ...sameInOtherWords[format], streams: sameInOtherWords[format].answers })
  })
})
