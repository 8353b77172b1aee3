import type { Upstream } from '@modelgate/core'
import {
  allFieldsExcept,
  callUrl,
  codecOf,
  createReport,
  createSseDecoder,
  speaks,
  type TargetTraits,
} from '@modelgate/core/test-support'
import { describe, expect, test } from 'vitest'
import { isObject, type Json, type JsonObject, listOf, objectOf, parseJson, textOf } from '../base/json.ts'
import { haveRecordings } from '../base/recorded-traffic.ts'
import { type CatalogExchange, catalogErrors, catalogExchanges, publishedChatFields } from './catalog.ts'

const chat = codecOf('chat')
const all = catalogExchanges()
const by = (maker: string): CatalogExchange[] => all.filter((exchange) => exchange.maker === maker)
const makers = [...new Set(all.map(({ maker }) => maker))].sort()

/** URLs that no call of the gateway uses, with the reasons. */
const elsewhere: readonly (readonly [maker: string, path: string, why: string])[] = [
  ['cerebras', '/v1/models', 'the gateway has its own model list'],
  ['deepseek', '/beta/chat/completions', 'responses that continue a given prefix; users configure the URL themselves'],
  ['perplexity', '/v1/embeddings', 'bytes instead of floats'],
  ['xai', '/v1/images/edits', 'JSON instead of a form'],
]

/** Returns the URLs of an upstream's calls by operation. */
function placesOf(upstream: Upstream): string[] {
  const { formats, operations = {}, countTokens = {} } = upstream
  const paths = [formats, countTokens, ...Object.values(operations)].flatMap((group) => Object.values(group))
  return paths.map((path) => callUrl(upstream, path, undefined, 'm'))
}

/** Fields that a provider's documentation lists at the top level of a chat request, in addition to OpenAI's. */
const documented: Readonly<Record<string, string>> = {
  mistral:
    'model temperature top_p max_tokens stream stop random_seed metadata messages response_format tools tool_choice presence_penalty frequency_penalty n prediction parallel_tool_calls reasoning_effort prompt_mode guardrails prompt_cache_key service_tier safe_prompt',
  groq: 'model messages citation_options compound_custom disable_tool_validation documents exclude_domains frequency_penalty function_call functions include_domains include_reasoning max_completion_tokens max_tokens n parallel_tool_calls presence_penalty reasoning_effort reasoning_format response_format search_settings seed service_tier stop stream stream_options temperature tool_choice tools top_p user',
  deepseek:
    'model messages thinking reasoning_effort max_tokens response_format stop stream stream_options temperature top_p tools tool_choice logprobs top_logprobs user_id frequency_penalty presence_penalty',
  openrouter:
    'cache_control debug frequency_penalty image_config logit_bias logprobs max_completion_tokens max_tokens messages metadata min_p modalities model models parallel_tool_calls plugins prediction presence_penalty prompt_cache_key prompt_cache_options provider reasoning reasoning_effort repetition_penalty response_format route seed service_tier session_id stop stop_server_tools_when stream stream_options temperature tool_choice tools top_a top_k top_logprobs top_p trace user verbosity web_search_options',
  together:
    'messages model max_tokens stop temperature top_p top_k context_length_exceeded_behavior repetition_penalty stream stream_options echo n min_p presence_penalty frequency_penalty logit_bias seed function_call response_format tools tool_choice compliance chat_template_kwargs safety_model reasoning_effort reasoning',
  perplexity:
    'model messages frequency_penalty logprobs max_tokens n parallel_tool_calls presence_penalty reasoning_effort response_format stop stream temperature tool_choice tools top_k top_logprobs top_p web_search_options',
  cerebras:
    'messages model clear_thinking disable_reasoning frequency_penalty logit_bias logprobs max_completion_tokens max_tokens min_completion_tokens min_tokens model_parameters n parallel_tool_calls prediction presence_penalty prompt_cache_key reasoning_effort reasoning_format response_format seed service_tier stop stream stream_options temperature tool_choice tools top_logprobs top_p user',
  ollama:
    'model messages stream stream_options max_tokens seed stop temperature frequency_penalty presence_penalty top_p response_format tools reasoning reasoning_effort logprobs top_logprobs',
}

/** Message fields that strict providers accept, in addition to recorded ones. */
const inMessages: Readonly<Record<string, string>> = {
  mistral: 'role content tool_calls prefix tool_call_id name',
  groq: 'role content tool_calls tool_call_id reasoning function_call',
  cerebras: 'role content tool_calls tool_call_id reasoning name',
}

const words = (text = ''): string[] => text.split(' ').filter((word) => word !== '')

/** A request with everything that an OpenAI client can send. */
const everything: JsonObject = {
  model: 'm',
  messages: [
    { role: 'developer', content: 'Be brief.', name: 'boss' },
    { role: 'user', content: 'Hello', name: 'ada' },
    {
      role: 'assistant',
      content: null,
      refusal: null,
      annotations: [],
      audio: null,
      reasoning_content: 'Hm.',
      tool_calls: [{ id: 'call_0fypS1hVXq2', type: 'function', function: { name: 'f', arguments: '{}' } }],
    },
    { role: 'tool', tool_call_id: 'call_0fypS1hVXq2', content: '4' },
    { role: 'user', content: 'And?' },
  ],
  frequency_penalty: 0.1,
  logit_bias: { 50: 1 },
  logprobs: true,
  max_completion_tokens: 99,
  metadata: { a: 'b' },
  modalities: ['text'],
  n: 2,
  parallel_tool_calls: false,
  prediction: { type: 'content', content: 'x' },
  presence_penalty: 0.1,
  prompt_cache_key: 'k',
  prompt_cache_retention: '24h',
  reasoning_effort: 'minimal',
  response_format: { type: 'json_object' },
  safety_identifier: 's',
  seed: 1,
  service_tier: 'flex',
  stop: ['x'],
  store: true,
  stream: true,
  stream_options: { include_usage: true },
  temperature: 0.5,
  tool_choice: 'required',
  tools: [{ type: 'function', function: { name: 'f', parameters: { type: 'object', properties: {} } } }],
  top_logprobs: 2,
  top_p: 0.5,
  user: 'u',
  verbosity: 'low',
  web_search_options: {},
}

const traits = ({ quirks }: Upstream): TargetTraits => ({ model: 'm', quirks })

function translated(body: JsonObject, upstream: Upstream) {
  const report = createReport(body)
  const context = { report, newId: (prefix: string) => `${prefix}1`, now: () => 0, upstream: 'chat' } as const
  const request = chat.decodeRequest(structuredClone(body), context)
  return { sent: chat.encodeRequest(request, { ...context, target: traits(upstream) }), losses: report.losses }
}

// The code for quirks is loaded by the first call to an upstream with quirks.
await chat.prepareWireEdit?.({ model: '', quirks: { streamOptions: false } })

/** Returns the pass-through body, without the stream_options that the gateway adds. */
function onTheWire(body: JsonObject, upstream: Upstream) {
  const { set = {}, drop = [], losses = [], erase } = chat.wireEdit(structuredClone(body), traits(upstream)) ?? {}
  const own = Object.entries(set).filter(([field]) => !(field === 'stream_options' && erase !== undefined))
  const kept = Object.entries(body).filter(([field]) => !drop.includes(field))
  return { sent: { ...Object.fromEntries(kept), ...Object.fromEntries(own) }, losses }
}

const requestOf = ({ format, method, request }: CatalogExchange): JsonObject | undefined =>
  format === 'openai-chat' && method === 'POST' && isObject(request) && request.messages !== undefined
    ? request
    : undefined

const messageFields = (body: JsonObject): string[] => [
  ...new Set(listOf(body.messages).flatMap((message) => Object.keys(objectOf(message)))),
]

describe.skipIf(!haveRecordings).each(makers)('provider %s', (maker) => {
  const exchanges = haveRecordings ? by(maker) : []
  const requests = exchanges.flatMap((exchange) => {
    const request = requestOf(exchange)
    return request === undefined ? [] : [{ ...exchange, request }]
  })

  test('receives calls at the recorded URLs', () => {
    const missed = exchanges
      .filter(({ url }) => !elsewhere.some(([whose, path]) => whose === maker && url.pathname === path))
      .filter(({ upstream, url }) => !placesOf(upstream).includes(url.origin + url.pathname))
      .map(({ path, url }) => `${path}: ${url.href}`)
    expect(missed).toEqual([])
  })

  test('supports the recorded formats with the recorded models', () => {
    const formats = { 'openai-chat': 'chat', 'openai-responses': 'responses' } as const
    for (const { format, request, upstream, url } of exchanges) {
      const spoken = formats[format as keyof typeof formats]
      if (spoken === undefined || !isObject(request) || url.pathname.startsWith('/beta/')) continue
      expect(speaks(upstream, spoken, textOf(request.model)), `${textOf(request.model)} in ${spoken}`).toBe(true)
    }
  })

  test('receives requests of its own clients unchanged', () => {
    for (const { path, request, upstream, status } of requests) {
      if (status !== 200) continue
      chat.validateRequest(structuredClone(request))
      const { sent, losses } = onTheWire(request, upstream)
      expect(losses, path).toEqual([])
      expect(sent, path).toEqual(request)
    }
  })

  // The fields of the other providers are not documented.
  if (documented[maker] !== undefined)
    test('receives only fields that it knows', () => {
      const [first] = exchanges
      if (first === undefined) throw new Error('no recording')
      const seen = requests.filter(({ status }) => status === 200)
      const known = new Set([...words(documented[maker]), ...seen.flatMap(({ request }) => Object.keys(request))])
      const strict = inMessages[maker]
      const knownInMessages = new Set([...words(strict), ...seen.flatMap(({ request }) => messageFields(request))])
      for (const body of [everything, ...seen.map(({ request }) => request)]) {
        const { sent } = translated(body, first.upstream)
        expect(Object.keys(sent).filter((field) => !known.has(field))).toEqual([])
        if (strict !== undefined) expect(messageFields(sent).filter((field) => !knownInMessages.has(field))).toEqual([])
      }
    })

  test('receives recorded requests without loss in translation too', () => {
    for (const { path, request, upstream } of requests) {
      const { losses } = translated(request, upstream)
      expect(
        losses.filter(({ severity }) => severity !== 'note'),
        path,
      ).toEqual([])
    }
  })

  test('ends its recorded streams correctly', () => {
    for (const { path, answer, upstream, stream, format, status } of exchanges) {
      // Errors within a stream, and recordings without framing, are covered elsewhere.
      if (format !== 'openai-chat' || !stream || status !== 200 || !answer.includes('data:')) continue
      const tap = chat.tapStream({ withholdUsage: false, target: traits(upstream) })
      for (const event of createSseDecoder(1e9).pushText(`${answer}\n\n`)) tap.push(event)
      tap.end?.()
      expect(tap.ended || tap.error !== undefined, path).toBe(true)
    }
  })
})

test.skipIf(publishedChatFields() === undefined)(
  'hide every OpenAI field that they reject from strict providers',
  () => {
    /** Fields that every upstream has, or that another quirk covers. */
    const handled = ['model', 'messages', 'stream', 'max_tokens', 'max_completion_tokens', 'stream_options']
    const listed = Object.keys(allFieldsExcept([], 'refused'))
    const published = publishedChatFields() ?? []
    expect(published.length).toBeGreaterThan(30)
    expect(published.filter((field) => !listed.includes(field) && !handled.includes(field))).toEqual([])
  },
)

/** Fields beyond the recorded ones that strict providers do not receive, with their reports. */
describe('request with every OpenAI field', () => {
  const strict = { mistral: by('mistral'), groq: by('groq'), cerebras: by('cerebras') }
  test.skipIf(!haveRecordings).each(Object.entries(strict))(
    'contains only fields that %s knows in pass-through',
    (maker, [first]) => {
      if (first === undefined) throw new Error('no recording')
      const { sent, losses } = onTheWire(everything, first.upstream)
      const known = words(documented[maker])
      expect(Object.keys(sent).filter((field) => !known.includes(field))).toEqual([])
      expect(messageFields(sent).filter((field) => !words(inMessages[maker]).includes(field))).toEqual([])
      // Each removed field is reported, unless it was renamed or has no effect.
      const reported = new Set(losses.map(({ path }) => path.split('/')[1]))
      const gone = Object.keys(everything).filter((field) => !(field in sent) && !reported.has(field))
      expect(
        gone.filter((field) => !['max_completion_tokens', 'seed', 'stream_options', 'modalities'].includes(field)),
      ).toEqual([])
    },
  )
})

/** Expected kind of each recorded error. */
const kinds: readonly (readonly [vendor: string, status: number, says: string, kind: string])[] = [
  ['cohere', 404, "model 'nonexistent' not found", 'model_not_found'],
  ['voyage', 400, 'Model nonexistent is not supported', 'invalid_request'],
  ['groq', 404, 'does not exist or you do not have access', 'model_not_found'],
  ['groq', 400, 'Tool call validation failed', 'invalid_request'],
  ['deepseek', 400, 'No tool output found', 'invalid_request'],
  ['deepseek', 400, 'maximum context length', 'context_length_exceeded'],
  ['deepseek', 401, 'Authentication Fails', 'authentication'],
  ['openrouter', 429, 'temporarily rate-limited upstream', 'rate_limited'],
  ['openrouter', 401, 'Missing Authentication header', 'authentication'],
  ['openrouter', 400, 'maximum context length', 'context_length_exceeded'],
  ['mistral', 401, 'Invalid API Key', 'authentication'],
  ['ollama', 401, 'Unauthorized', 'authentication'],
  ['ollama', 400, 'prompt too long', 'context_length_exceeded'],
  ['perplexity', 401, 'Invalid API key provided', 'authentication'],
  ['perplexity', 400, 'total length of all messages is too long', 'context_length_exceeded'],
  ['xai', 400, 'Incorrect API key provided', 'authentication'],
]

describe.skipIf(!haveRecordings)('recorded errors of providers', () => {
  const vendors = new Set(kinds.map(([vendor]) => vendor))
  const errors = catalogErrors().filter(({ vendor }) => vendors.has(vendor))
  const says = (body: Json): string => (typeof body === 'string' ? body : JSON.stringify(body))

  test.each(kinds)('are mapped by kind: %s %i "%s" to %s', (vendor, status, words, kind) => {
    const found = errors.filter(
      (error) => error.vendor === vendor && error.status === status && says(error.body).includes(words),
    )
    expect(found.length).toBeGreaterThan(0)
    for (const { format, body } of found) {
      const codec = codecOf(format === 'openai-responses' ? 'responses' : 'chat')
      expect(codec.decodeError(status, typeof body === 'string' ? (parseJson(body) ?? body) : body).kind).toBe(kind)
    }
  })

  test('are all in the list', () => {
    const unlisted = errors.filter(
      ({ vendor, status, body }) =>
        !kinds.some(([whose, number, words]) => whose === vendor && number === status && says(body).includes(words)),
    )
    expect(unlisted.map(({ vendor, status, body }) => `${vendor} ${status} ${says(body).slice(0, 200)}`)).toEqual([])
  })
})
