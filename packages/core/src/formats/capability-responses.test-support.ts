import type { Json } from '../base/json/json.ts'
import type { UpstreamFormat } from '../base/names.ts'
import type { ResponseFeature } from './capabilities.ts'
import { call, image, shell, text } from './capability-requests.test-support.ts'
import type { Choice, Citation, Finish, ModelRequest, ModelResponse, Part, Usage } from './ir.ts'

/** A response with one feature, and a function that extracts it. */
export interface AnswerSample {
  readonly response: ModelResponse
  readonly pick: (response: ModelResponse) => unknown
  /** Settings that the client requested. */
  readonly request?: Partial<ModelRequest>
}

const stopped: Finish = { reason: 'stop' }
const response = (more: Partial<ModelResponse>): ModelResponse => ({
  id: 'answer_1',
  model: 'm',
  created: 1_700_000_123,
  choices: [{ parts: [text('Hello.')], finish: stopped }],
  usage: { input: { total: 10 }, output: { total: 5 } },
  ...more,
})
const parts = (list: Part[], finish: Finish = stopped): AnswerSample => ({
  response: response({ choices: [{ parts: list, finish }] }),
  pick: ({ choices }) =>
    choices[0]?.parts.map((part) => (part.type === 'media' ? { ...part, extra: undefined } : part)),
})
/** Compares only the seals of parts, because clients keep them in different places. */
const sealed = (list: Part[], finish: Finish = stopped): AnswerSample => ({
  ...parts(list, finish),
  pick: ({ choices }) =>
    choices[0]?.parts.flatMap((part) => {
      if (part.type !== 'reasoning' && part.type !== 'tool-call') return []
      return [
        part.seal === undefined ? part.type : `${part.seal.issuer} ${part.seal.data.replace(/^@call:[^:]*:/, '')}`,
      ]
    }),
})
const choiceWith = (more: Partial<Choice>, pick: (choice: Choice | undefined) => unknown): AnswerSample => ({
  response: response({ choices: [{ parts: [text('Hello.')], finish: stopped, ...more }] }),
  pick: ({ choices }) => pick(choices[0]),
})
const ended = (finish: Finish, more: Partial<Choice> = {}): AnswerSample =>
  choiceWith({ finish, ...more }, (one) => [one?.finish.reason, one?.finish.sequence])
const cited = (citation: Citation, key: keyof Citation): AnswerSample =>
  choiceWith({ parts: [{ type: 'text', text: 'It rains.', citations: [citation] }] }, (one) =>
    one?.parts.flatMap((part) => (part.type === 'text' ? (part.citations ?? []).map((found) => found[key]) : [])),
  )
const counted = (input: Partial<Usage['input']>, output: Partial<Usage['output']> = {}): AnswerSample => ({
  response: response({ usage: { input: { total: 100, ...input }, output: { total: 50, ...output } } }),
  pick: ({ usage }) => [
    ...Object.keys({ total: 0, ...input }).map((key) => (usage?.input as Record<string, unknown> | undefined)?.[key]),
    ...Object.keys({ total: 0, ...output }).map((key) => (usage?.output as Record<string, unknown> | undefined)?.[key]),
  ],
})

const probabilities: Json = {
  content: [{ token: 'Hello.', logprob: -0.5, bytes: [72, 101, 108, 108, 111, 46], top_logprobs: [] }],
  refusal: null,
}

export const answerSamples: { readonly [F in ResponseFeature]: (owners: { other: UpstreamFormat }) => AnswerSample } = {
  text: () => parts([text('Hello.')]),
  choices: () => ({
    response: response({
      choices: [
        { parts: [text('One.')], finish: stopped },
        { parts: [text('Two.')], finish: stopped },
      ],
    }),
    pick: ({ choices }) => choices.map((one) => one.parts),
  }),
  'reasoning.text': () => ({
    ...parts([{ type: 'reasoning', text: 'I think.' }, text('So.')]),
    pick: ({ choices }) =>
      choices[0]?.parts.map((part) =>
        part.type === 'reasoning' ? { ...part, summary: part.summary || undefined, extra: undefined } : part,
      ),
  }),
  'reasoning.summary': () => parts([{ type: 'reasoning', text: 'I think.', summary: true }, text('So.')]),
  'reasoning.redacted': ({ other }) =>
    sealed([{ type: 'reasoning', text: '', redacted: true, seal: { issuer: other, data: 'c2VhbA==' } }, text('So.')]),
  'reasoning.seal': ({ other }) =>
    sealed([{ type: 'reasoning', text: 'I think.', seal: { issuer: other, data: 'c2VhbA==' } }, text('So.')]),
  refusal: () => parts([{ type: 'refusal', text: 'I will not.' }], { reason: 'refusal' }),
  call: () => parts([text('I look.'), call], { reason: 'tool-calls' }),
  customCall: () => ({
    ...parts([{ type: 'tool-call', id: 'call_1', name: 'shell', input: 'ls -l', custom: true }], {
      reason: 'tool-calls',
    }),
    request: { tools: { list: [shell] } },
  }),
  // A format without a field for the seal sends it next to its call, so only the seals are compared.
  callSeal: ({ other }) => {
    const sample = sealed([{ ...call, seal: { issuer: other, data: 'c2VhbA==' } }], { reason: 'tool-calls' })
    return { ...sample, pick: (answer) => [sample.pick(answer)].flat().filter((one) => String(one).includes(' ')) }
  },
  'citation.url': () => cited({ url: 'https://example.com', title: 'Example' }, 'url'),
  'citation.place': () => cited({ url: 'https://example.com', title: 'Example', start: 3, end: 8 }, 'start'),
  'citation.quote': () => cited({ url: 'https://example.com', title: 'Example', text: 'rain' }, 'text'),
  'citation.document': () => cited({ title: 'report.pdf', text: 'rain' }, 'title'),
  logprobs: () => ({
    ...choiceWith({ logprobs: probabilities }, (one) => one?.logprobs),
    request: { output: { logprobs: 0 } },
  }),
  image: () => parts([image]),
  audio: () => ({
    ...parts([{ type: 'media', kind: 'audio', source: { type: 'base64', data: 'AAAA' }, mediaType: 'audio/wav' }]),
    request: { output: { audio: { voice: 'alloy', format: 'wav' } } },
  }),
  'finish.stop': () => ended({ reason: 'stop' }),
  'finish.stop-sequence': () => ended({ reason: 'stop-sequence', sequence: 'END' }),
  'finish.length': () => ended({ reason: 'length' }),
  'finish.context-length': () => ended({ reason: 'context-length' }),
  'finish.tool-calls': () => ended({ reason: 'tool-calls' }, { parts: [call] }),
  'finish.content-filter': () => ended({ reason: 'content-filter' }),
  'finish.refusal': () => ended({ reason: 'refusal' }),
  'finish.pause': () => ended({ reason: 'pause' }),
  'finish.error': () => ended({ reason: 'error', explanation: 'It broke.' }),
  'finish.other': ({ other }) => ended({ reason: 'other', raw: { format: other, value: 'word_of_tomorrow' } }),
  'finish.explanation': () =>
    choiceWith({ finish: { reason: 'content-filter', explanation: 'It was about rain.' } }, (one) => [
      one?.finish.explanation,
    ]),
  'usage.totals': () => counted({}),
  'usage.cacheRead': () => counted({ cacheRead: 40 }),
  'usage.cacheWrite': () => counted({ cacheWrite: 40 }),
  'usage.cacheWrite1h': () => counted({ cacheWrite: 40, cacheWrite1h: 30 }),
  'usage.reasoning': () => counted({}, { reasoning: 20 }),
  'usage.audio': () => counted({ audio: 20 }, { audio: 10 }),
  'usage.image': () => counted({ image: 20 }, { image: 10 }),
  'usage.tool': () => counted({ tool: 20 }),
  id: () => ({ response: response({}), pick: ({ id }) => id }),
  created: () => ({ response: response({}), pick: ({ created }) => created }),
  serviceTier: () => ({ response: response({ serviceTier: 'priority' }), pick: ({ serviceTier }) => serviceTier }),
  native: ({ other }) =>
    parts([text('Hello.'), { type: 'native', format: other, value: { type: 'server_tool_use', id: 's', name: 'x' } }]),
  unknown: ({ other }) => ({
    response: response({ extra: { [other]: { tomorrow: 1 } } }),
    pick: ({ extra }) => extra?.[other]?.tomorrow,
  }),
}
