import { describe, expect, it } from 'vitest'
import type { SharedFormat } from '../base/names.ts'
import { type RequestFeature, type ResponseFeature, verdictWord } from './capabilities.ts'
import { canAsk, canTell, observeAnswer, observeRequest } from './capability-verdict.test-support.ts'
import { codecs } from './codecs.ts'
import { roundTripCodecs } from './round-trip.test-support.ts'

/**
 * Features that change without a report, because the format expresses them differently: under another name, or as a number
 * that is part of the total. All other changes must be reported.
 */
const sameInOtherWords: { readonly [F in SharedFormat]: { requests: RequestFeature[]; answers: ResponseFeature[] } } = {
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
  converse: {
    requests: ['tools.auto', 'turns.developer'],
    answers: [
      'reasoning.summary',
      'refusal',
      'finish.refusal',
      'usage.reasoning',
      'usage.audio',
      'usage.image',
      'usage.tool',
      'id',
      'created',
    ],
  },
}

/** Upstreams send the tier in the first chunk, where the decoder reads it; clients receive it in the last, with the usage. */
const readElsewhere = 'gemini serviceTier'

describe.each(codecs.map((codec) => [codec.format, codec] as const))('the capabilities of %s', (format, codec) => {
  const requests = Object.keys(codec.capabilities.requests) as RequestFeature[]
  const answers = Object.keys(codec.capabilities.responses) as ResponseFeature[]

  it.each(requests)('match the table for %s in a request', (feature) => {
    const row = codec.capabilities.requests[feature]
    const { word, losses } = observeRequest(codec, feature)
    expect({ upstream: word, losses }).toEqual({ upstream: verdictWord(row.upstream), losses })
    expect({ client: canAsk(codec, feature) }).toEqual({ client: row.client })
  })

  it.each(requests.filter((feature) => codec.capabilities.requests[feature].keptWith !== undefined))(
    'include all of %s in a request with the quirk from the table',
    (feature) => {
      const { keptWith } = codec.capabilities.requests[feature]
      expect(observeRequest(codec, feature, keptWith).word).toBe('kept')
    },
  )

  it.each(answers)('match the table for %s in a response', (feature) => {
    const row = codec.capabilities.responses[feature]
    const { word, losses } = observeAnswer(codec, feature, false)
    expect({ client: word, losses }).toEqual({ client: verdictWord(row.client), losses })
    expect({ upstream: canTell(codec, feature) }).toEqual({ upstream: row.upstream })
  })

  it.each(answers.filter((feature) => `${format} ${feature}` !== readElsewhere))(
    'match the table for %s in a stream',
    (feature) => {
      const { word, losses } = observeAnswer(codec, feature, true)
      expect({ client: word, losses }).toEqual({
        client: verdictWord(codec.capabilities.responses[feature].client),
        losses,
      })
    },
  )

  it('include no change without a report, except for features that the format expresses differently', () => {
    expect({
      requests: requests.filter((feature) => observeRequest(codec, feature).silent),
      answers: answers.filter((feature) => observeAnswer(codec, feature, false).silent),
      streams: answers.filter(
        (feature) => observeAnswer(codec, feature, true).silent && `${format} ${feature}` !== readElsewhere,
      ),
    }).toEqual({ ...sameInOtherWords[format], streams: sameInOtherWords[format].answers })
  })
})

/** Features that the samples cannot show of a client format that no upstream speaks. They are tested with its codec. */
const testedWithCodec: readonly RequestFeature[] = [
  // Fields and blocks of the format itself.
  'tools.native',
  'native',
  'unknown',
  // Images are a list of their own, without a place in the text.
  'media.imageData',
  'media.audioData',
  'turns.resultImage',
  // Only the text is compared, and this is all that clients send.
  'turns.foreignReasoning',
]
const clientOnly = roundTripCodecs.filter(({ format }) => codecs.every((codec) => codec.format !== format))

/** As `sameInOtherWords`, for these formats. */
const inOtherWords: { readonly [format: string]: readonly ResponseFeature[] } = {
  ollama: [
    'customCall',
    'finish.context-length',
    'finish.refusal',
    'usage.cacheRead',
    'usage.cacheWrite',
    'usage.cacheWrite1h',
    'usage.reasoning',
    'usage.audio',
    'usage.image',
    'usage.tool',
    'id',
  ],
}

describe.each(clientOnly.map((codec) => [codec.format, codec] as const))(
  'the capabilities of clients of %s',
  (format, codec) => {
    const requests = Object.keys(codec.capabilities.requests) as RequestFeature[]
    const answers = Object.keys(codec.capabilities.responses) as ResponseFeature[]

    it.each(requests.filter((feature) => !testedWithCodec.includes(feature)))(
      'match the table for %s in a request',
      (feature) => {
        expect(canAsk(codec, feature)).toBe(codec.capabilities.requests[feature].client)
      },
    )

    it.each(
      answers.flatMap((feature) => [[feature, 'a response', false] as const, [feature, 'a stream', true] as const]),
    )('match the table for %s in %s', (feature, _where, stream) => {
      const { word, losses } = observeAnswer(codec, feature, stream)
      expect({ client: word, losses }).toEqual({
        client: verdictWord(codec.capabilities.responses[feature].client),
        losses,
      })
    })

    it.each([false, true])('include no unexpected change without a report (stream: %s)', (stream) => {
      expect(answers.filter((feature) => observeAnswer(codec, feature, stream).silent)).toEqual(inOtherWords[format])
    })
  },
)
