import { readSse } from '../base/client-events.ts'
import { upstreamKey } from '../base/gateways.ts'
import { parseJson } from '../base/json.ts'
import { type Format, formats } from '../base/recorded-traffic.ts'
import { errorEvent, good } from '../base/streams.ts'
import { mutateBytes } from './byte-mutations.ts'
import { mutateJson, type Node, nodeOf, pick, type Step } from './json-mutations.ts'

/** One event before its mutations. */
interface Event {
  readonly event: string
  /** A string if the data is not JSON. */
  readonly data: Node | string
}

/** A stream as an upstream of the format sends it. */
export interface StreamBase {
  readonly format: Format
  readonly events: readonly Event[]
}

export const streamBase = (format: Format, text: string): StreamBase => ({
  format,
  events: readSse(text).map(({ event, data }) => {
    const value = parseJson(data)
    return { event, data: value === undefined ? data : nodeOf(value) }
  }),
})

const data = (value: object): string => `data: ${JSON.stringify(value)}\n\n`
const named = (type: string, value: object = {}): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...value })}\n\n`

const chunk = (choices: readonly object[], more: object = {}): string =>
  data({ id: 'chatcmpl-2', object: 'chat.completion.chunk', created: 1, model: 'recorded', choices, ...more })
const delta = (value: object, more: object = {}): string =>
  chunk([{ index: 0, delta: value, finish_reason: null, ...more }])
const call = (index: number, more: object): object => ({ tool_calls: [{ index, ...more }] })

const richChat = [
  chunk([], { prompt_filter_results: [] }),
  delta({ role: 'assistant', content: '', reasoning_content: 'hm' }),
  delta(
    { content: 'so', refusal: null },
    { logprobs: { content: [{ token: 'so', logprob: -1, bytes: [115, 111], top_logprobs: [] }], refusal: null } },
  ),
  delta(call(0, { id: 'call_a', type: 'function', function: { name: 'lookup', arguments: '' } })),
  delta(call(0, { function: { arguments: '{"city":' } })),
  delta(call(0, { function: { arguments: '"Ulm"}' } })),
  delta(call(1, { id: 'call_b', type: 'function', function: { name: 'lookup', arguments: '{}' } })),
  chunk([{ index: 0, delta: {}, finish_reason: 'tool_calls' }], { service_tier: 'default' }),
  chunk([], {
    usage: {
      prompt_tokens: 3,
      completion_tokens: 9,
      total_tokens: 12,
      completion_tokens_details: { reasoning_tokens: 2 },
    },
  }),
  'data: [DONE]\n\n',
].join('')

const block = (index: number, start: object, ...deltas: readonly object[]): string =>
  named('content_block_start', { index, content_block: start }) +
  deltas.map((delta) => named('content_block_delta', { index, delta })).join('') +
  named('content_block_stop', { index })
const richMessages = [
  named('message_start', {
    message: {
      ...{ id: 'msg_2', type: 'message', role: 'assistant', model: 'recorded', content: [], stop_reason: null },
      usage: { input_tokens: 3, cache_read_input_tokens: 2, cache_creation_input_tokens: 0, output_tokens: 1 },
    },
  }),
  named('ping'),
  block(
    0,
    { type: 'thinking', thinking: '', signature: '' },
    { type: 'thinking_delta', thinking: 'hm' },
    { type: 'signature_delta', signature: 'c2ln' },
  ),
  block(
    1,
    { type: 'text', text: '', citations: [] },
    { type: 'text_delta', text: 'so' },
    {
      type: 'citations_delta',
      citation: { type: 'char_location', cited_text: 'a', document_index: 0, start_char_index: 0, end_char_index: 1 },
    },
  ),
  block(
    2,
    { type: 'tool_use', id: 'toolu_a', name: 'lookup', input: {} },
    { type: 'input_json_delta', partial_json: '' },
    { type: 'input_json_delta', partial_json: '{"city":"Ulm"}' },
  ),
  block(
    3,
    { type: 'server_tool_use', id: 'srvtoolu_a', name: 'web_search', input: {} },
    { type: 'input_json_delta', partial_json: '{}' },
  ),
  block(4, {
    type: 'web_search_tool_result',
    tool_use_id: 'srvtoolu_a',
    content: [{ type: 'web_search_result', url: 'https://e.example', title: 't' }],
  }),
  block(5, { type: 'redacted_thinking', data: 'ZGF0YQ==' }),
  named('message_delta', {
    delta: { stop_reason: 'tool_use', stop_sequence: null },
    usage: { output_tokens: 9, input_tokens: 3 },
  }),
  named('message_stop'),
].join('')

const candidate = (parts: readonly object[], more: object = {}, top: object = {}): string =>
  data({
    candidates: [{ content: { parts, role: 'model' }, index: 0, ...more }],
    usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 2, thoughtsTokenCount: 1, totalTokenCount: 6 },
    ...{ modelVersion: 'recorded', responseId: 'r2', ...top },
  })
const richGemini = [
  candidate([{ text: 'hm', thought: true }]),
  candidate([{ text: 'so' }, { inlineData: { mimeType: 'image/png', data: 'iVBORw0K' } }]),
  candidate([
    { functionCall: { id: 'call_a', name: 'lookup', args: { city: 'Ulm' } }, thoughtSignature: 'c2ln' },
    { functionCall: { name: 'lookup' } },
  ]),
  candidate([
    { executableCode: { language: 'PYTHON', code: '1' } },
    { codeExecutionResult: { outcome: 'OUTCOME_OK', output: '1' } },
  ]),
  candidate([{ text: '' }], {
    finishReason: 'STOP',
    groundingMetadata: { groundingChunks: [{ web: { uri: 'https://e.example', title: 't' } }], groundingSupports: [] },
    citationMetadata: { citationSources: [{ startIndex: 0, endIndex: 1, uri: 'https://e.example' }] },
  }),
].join('')
const blockedGemini = data({
  promptFeedback: { blockReason: 'SAFETY' },
  usageMetadata: { promptTokenCount: 3, totalTokenCount: 3 },
})

let number = 0
const numbered = (type: string, value: object): string => named(type, { sequence_number: number++, ...value })
const item = (output_index: number, open: object, body: string, done: object): string =>
  numbered('response.output_item.added', { output_index, item: open }) +
  body +
  numbered('response.output_item.done', { output_index, item: done })
const thought = { id: 'rs_1', type: 'reasoning', summary: [] }
const message = { id: 'msg_3', type: 'message', role: 'assistant' }
const called = { id: 'fc_1', type: 'function_call', call_id: 'call_a', name: 'lookup' }
const spoken = { type: 'output_text', text: 'so', annotations: [], logprobs: [] }
const answer = { id: 'resp_2', object: 'response', created_at: 1, model: 'recorded' }
const richResponses = [
  numbered('response.created', { response: { ...answer, status: 'in_progress', output: [] } }),
  numbered('response.in_progress', { response: { ...answer, status: 'in_progress', output: [] } }),
  item(
    0,
    thought,
    numbered('response.reasoning_summary_part.added', {
      item_id: 'rs_1',
      output_index: 0,
      summary_index: 0,
      part: { type: 'summary_text', text: '' },
    }) +
      numbered('response.reasoning_summary_text.delta', {
        item_id: 'rs_1',
        output_index: 0,
        summary_index: 0,
        delta: 'hm',
      }),
    { ...thought, summary: [{ type: 'summary_text', text: 'hm' }], encrypted_content: 'ZGF0YQ==' },
  ),
  item(
    1,
    { ...message, status: 'in_progress', content: [] },
    numbered('response.content_part.added', {
      item_id: 'msg_3',
      output_index: 1,
      content_index: 0,
      part: { ...spoken, text: '' },
    }) +
      numbered('response.output_text.delta', {
        item_id: 'msg_3',
        output_index: 1,
        content_index: 0,
        delta: 'so',
        logprobs: [],
      }) +
      numbered('response.output_text.annotation.added', {
        ...{ item_id: 'msg_3', output_index: 1, content_index: 0, annotation_index: 0 },
        annotation: { type: 'url_citation', url: 'https://e.example', title: 't', start_index: 0, end_index: 1 },
      }) +
      numbered('response.output_text.done', {
        item_id: 'msg_3',
        output_index: 1,
        content_index: 0,
        text: 'so',
        logprobs: [],
      }) +
      numbered('response.content_part.done', { item_id: 'msg_3', output_index: 1, content_index: 0, part: spoken }),
    { ...message, status: 'completed', content: [spoken] },
  ),
  item(
    2,
    { ...called, arguments: '', status: 'in_progress' },
    numbered('response.function_call_arguments.delta', { item_id: 'fc_1', output_index: 2, delta: '{"city":' }) +
      numbered('response.function_call_arguments.delta', { item_id: 'fc_1', output_index: 2, delta: '"Ulm"}' }) +
      numbered('response.function_call_arguments.done', {
        item_id: 'fc_1',
        output_index: 2,
        arguments: '{"city":"Ulm"}',
      }),
    { ...called, arguments: '{"city":"Ulm"}', status: 'completed' },
  ),
  numbered('response.completed', {
    response: {
      ...{ ...answer, status: 'completed', output: [{ ...message, status: 'completed', content: [spoken] }] },
      usage: { input_tokens: 3, output_tokens: 9, total_tokens: 12, output_tokens_details: { reasoning_tokens: 2 } },
    },
  }),
].join('')

/** Handwritten streams: plain ones and feature-rich ones. */
export const writtenStreams: readonly { readonly format: Format; readonly text: string }[] = [
  ...formats.map((format) => ({ format, text: good[format].join('') })),
  { format: 'chat', text: richChat },
  { format: 'messages', text: richMessages },
  { format: 'gemini', text: richGemini },
  { format: 'gemini', text: blockedGemini },
  { format: 'responses', text: richResponses },
]
export const streamBases: readonly StreamBase[] = writtenStreams.map(({ format, text }) => streamBase(format, text))

/** Comments, unknown events, and events that contain the gateway's upstream key. */
const foreign: readonly string[] = [
  ...[
    ': comment\n\n',
    '\n\n',
    '\n\n\n\n',
    'data:\n\n',
    'data: \n\n',
    'event: ping\n\n',
    'id: 7\nretry: 10\n\n',
    'data\n\n',
    ':\n',
  ],
  ...[
    'data: {"broken": \n\n',
    'data: null\n\n',
    'data: 1\n\n',
    'data: "x"\n\n',
    'data: []\n\n',
    'data: {}\n\n',
    'data: [[]]\n\n',
  ],
  ...[
    'data: [DONE]x\n\n',
    'data: [done]\n\n',
    'data: DONE\n\n',
    'event: done\ndata: [DONE]\n\n',
    'data: {"type":"ping"}\n\n',
  ],
  ...[
    'datax: {}\n\n',
    ' data: {}\n\n',
    'DATA: {}\n\n',
    'data: {"a":\ndata: 1}\n\n',
    'event: message_stop\ndata: {}\n\n',
  ],
  ...['event: error\ndata: {}\n\n', 'event: error\ndata: no\n\n', 'data: {"error":null}\n\n', 'data: {"error":{}}\n\n'],
  ...[
    `{"error":{"message":"with ${upstreamKey}","type":"x"}}\n`,
    '{"error":\n',
    '<html>no</html>\n\n',
    '\u0000\n\n',
    '\uFEFF',
  ],
  ...formats.map((format) => errorEvent[format].replace('Boom', `Boom ${upstreamKey}`)),
  ...formats.map((format) => good[format][1] as string),
]

/** The numbers that determine a stream. */
export interface StreamRecipe {
  readonly base: number
  /** Mutations of the list of events. */
  readonly events: readonly Step[]
  /** Mutations within events; the first number selects the event. */
  readonly within: readonly (readonly [place: number, step: Step])[]
  readonly bytes: readonly Step[]
  readonly layout: number
}

const lineEnds: readonly string[] = ['\n', '\n', '\n', '\n', '\r\n', '\r']

const eventChanges: readonly ((texts: string[], at: number, how: number, base: StreamBase) => void)[] = [
  (texts, at) => void texts.splice(at, 1),
  (texts, at) => void texts.splice(at, 1),
  (texts, at) => void texts.splice(at, 0, texts[at] as string),
  (texts, at, how) => {
    const other = how % texts.length
    const text = texts[at] as string
    texts[at] = texts[other] as string
    texts[other] = text
  },
  (texts, at, how) => void texts.splice(at, 0, pick(foreign, how)),
  (texts, at, how) => void texts.splice(at, 0, pick(foreign, how)),
  (texts, at) => void texts.splice(at),
  (texts, at, how) => {
    // Another event name, or none.
    texts[at] = (texts[at] as string).replace(/^event: .*\n/, how % 2 === 0 ? '' : 'event: message_stop\n')
  },
  (texts, at) => {
    texts[at] = (texts[at] as string).replace('data: ', 'data:')
  },
  (texts, at) => {
    texts[at] = (texts[at] as string).replace(/\n\n$/, '\n')
  },
  (texts, at, how) => {
    const text = texts[at] as string
    texts[at] = text.slice(0, how % (text.length + 1))
  },
  (texts, at, how) => {
    // JSON may span several data lines.
    texts[at] =
      how % 2 === 0 ? (texts[at] as string).replace(',"', ',\ndata: "') : (texts[at] as string).replaceAll('":', '" : ')
  },
  (texts) => void texts.reverse(),
]

/** Returns the bytes of a stream after all mutations. */
export function streamOf(base: StreamBase, { events, within, bytes, layout }: StreamRecipe): Uint8Array {
  const steps = new Map<number, Step[]>()
  for (const [place, step] of within) {
    const at = place % base.events.length
    steps.set(at, [...(steps.get(at) ?? []), step])
  }
  const texts = base.events.map(({ event, data }, at) => {
    const text = typeof data === 'string' ? data : mutateJson(data, steps.get(at) ?? [])
    return `${event === '' ? '' : `event: ${event}\n`}data: ${text}\n\n`
  })
  for (const [what, where, how] of events) {
    if (texts.length === 0) break
    pick(eventChanges, what)(texts, where % texts.length, how, base)
  }
  const end = pick(lineEnds, layout)
  const text = texts.join('')
  return mutateBytes(`${layout % 16 === 9 ? '\uFEFF' : ''}${end === '\n' ? text : text.replaceAll('\n', end)}`, bytes)
}
