import { errorResponse, type Generated, respond } from './answer.ts'
import { demoBrain } from './brain.ts'
import { checkChat } from './check-chat.ts'
import { checkCount, checkMessages } from './check-messages.ts'
import { compose } from './compose.ts'
import { checkCredentials } from './credentials.ts'
import type { WireError } from './errors.ts'
import { providerHeaders, type Signing } from './headers.ts'
import { isObject, parseJson, stringOf } from './json.ts'
import { createLedger, type Exchange } from './ledger.ts'
import { demoModels, modelEntry, modelList, unknownModel } from './models.ts'
import { createPromptCache } from './prompt-cache.ts'
import { createIds } from './random.ts'
import { readChat } from './read-chat.ts'
import { readMessages } from './read-messages.ts'
import { createReplies } from './replies.ts'
import { type Destination, destinationOf, dialectOf } from './routes.ts'
import { createSeals } from './signature.ts'
import type {
  FakeFormat,
  FakeProviderOptions,
  FakeStats,
  JsonObject,
  Matcher,
  RecordedRequest,
  Reply,
  Script,
} from './types.ts'

/** A model provider that runs in the process and behaves like the real ones. */
export interface FakeProvider {
  /**
   * Answers a request as `fetch` would: pass it where a `fetch` is asked for. Whatever the host, the path decides:
   * `/v1/chat/completions`, `/v1/messages`, `/v1/messages/count_tokens`, `/v1/models`, all with or without `/v1`.
   * Rejects like `fetch` for faults that break the connection, and with the signal's reason when the caller leaves.
   */
  readonly fetch: (input: Request | URL | string, init?: RequestInit) => Promise<Response>
  /** Every request since the last `reset`, in order. */
  readonly requests: readonly RecordedRequest[]
  readonly stats: FakeStats
  /** Queues answers for the next calls, one each; they come before standing replies and the demo model. */
  reply(...replies: Reply[]): void
  /** Answers every call that matches; the latest wins. The returned function takes it away. */
  on(matcher: Matcher, reply: Reply): () => void
  /** Forgets requests, counts, replies, cached prefixes and ids: as new. */
  reset(): void
}

/** Makes a fake provider. Nothing is shared between two of them. */
export function createFakeProvider(options: FakeProviderOptions = {}): FakeProvider {
  const now = options.now ?? Date.now
  const brain = options.brain ?? demoBrain
  const ledger = createLedger(options.keepRequests ?? 10_000)
  const replies = createReplies()
  const cache = createPromptCache(options.cacheMinTokens ?? 64)
  let ids = createIds(options.seed ?? 1)
  const seals = createSeals(() => ids.completion().slice(9))

  const fetch: FakeProvider['fetch'] = async (input, init) => {
    const request = new Request(input, init)
    const url = new URL(request.url)
    const headers = Object.fromEntries(request.headers)
    const destination = destinationOf(url.pathname)
    const dialect = dialectOf(destination, headers)
    const bodyText = request.method === 'GET' || request.method === 'HEAD' ? '' : await request.text()
    const body = bodyText === '' ? undefined : parseJson(bodyText)
    const generation = destination?.operation === 'chat' || destination?.operation === 'messages'
    const exchange = ledger.open(
      {
        method: request.method,
        path: url.pathname,
        query: url.search.slice(1),
        headers,
        bodyText,
        body,
        format: generation ? dialect : undefined,
      },
      request.signal,
      [input, request],
    )
    const signing = providerHeaders(dialect, ids, now(), stringOf(isObject(body) ? body.model : ''))
    const refusal = refuse(request.method, url.pathname, destination, dialect, headers)
    if (refusal) return errorResponse({ exchange, format: dialect, signing }, refusal, allowOf(refusal, destination))
    if (!destination || destination.operation === 'models') return listModels(destination, dialect, exchange, signing)
    return generate(destination, dialect, exchange, signing)
  }

  function refuse(
    method: string,
    path: string,
    destination: Destination | undefined,
    dialect: FakeFormat,
    headers: Readonly<Record<string, string>>,
  ): WireError | undefined {
    if (!destination) {
      return dialect === 'chat'
        ? { status: 404, type: 'invalid_request_error', message: `Invalid URL (${method} ${path})` }
        : { status: 404, type: 'not_found_error', message: 'Not Found' }
    }
    if (method !== destination.method) {
      return dialect === 'chat'
        ? {
            status: 405,
            type: 'invalid_request_error',
            code: 'method_not_supported',
            message: `Not allowed to ${method} on ${path} (HINT: Perhaps you meant to use a different HTTP method?)`,
          }
        : { status: 405, type: 'invalid_request_error', message: 'Method Not Allowed' }
    }
    const credentials = checkCredentials(dialect, headers, options.apiKey)
    if (credentials || dialect === 'chat') return credentials
    const version = headers['anthropic-version']
    if (version === undefined) {
      return { status: 400, type: 'invalid_request_error', message: 'anthropic-version: header is required' }
    }
    if (!/^\d{4}-\d{2}-\d{2}$/.test(version)) {
      const message = `anthropic-version: "${version}" is not a valid version. Specify a valid version in the "anthropic-version" header`
      return { status: 400, type: 'invalid_request_error', message }
    }
    return undefined
  }

  function listModels(
    destination: Destination | undefined,
    format: FakeFormat,
    exchange: Exchange,
    signing: Signing,
  ): Response {
    const models = options.models ?? demoModels
    const model = destination?.model
    if (model !== undefined && options.models && !models.includes(model)) {
      return errorResponse({ exchange, format, signing }, unknownModel(format, model))
    }
    exchange.answered(200)
    exchange.settle('finished')
    const body = model === undefined ? modelList(format, models) : modelEntry(format, model)
    return Response.json(body, { headers: signing.headers })
  }

  async function generate(
    destination: Destination,
    format: FakeFormat,
    exchange: Exchange,
    signing: Signing,
  ): Promise<Response> {
    const base = { exchange, format, signing, paceMs: options.paceMs ?? 0 }
    const counting = destination.operation === 'count-tokens'
    const scripted = counting ? undefined : await replies.take(exchange.record)
    if (scripted?.raw) return respond({ ...base, script: scripted }, undefined)
    const { body } = exchange.record
    if (!isObject(body)) return errorResponse(base, notJson(format))
    const error = check(body, format, counting)
    if (error) return errorResponse(base, error)
    const prompt = format === 'chat' ? readChat(body) : readMessages(body)
    if (counting) {
      exchange.answered(200)
      exchange.settle('finished')
      const tokens = prompt.segments.reduce((sum, segment) => sum + segment.tokens, 0)
      return Response.json({ input_tokens: tokens }, { headers: signing.headers })
    }
    const script: Script = scripted ?? brain(prompt)
    const answer = compose(script, {
      prompt,
      input: cache.take(prompt),
      ids,
      seals,
      now,
      limited: scripted === undefined,
    })
    const field = options.chatReasoning ?? 'hidden'
    // Reasoning nobody asked for by a field was asked for by a script or a directive: that is meant to be seen.
    const wanted = scripted !== undefined || prompt.reasoning === 'off'
    const reasoningField = field !== 'hidden' ? field : wanted ? 'reasoning_content' : undefined
    const generated: Generated = { prompt, answer, chat: { reasoningField }, padding: options.padding ?? true }
    return respond({ ...base, script }, generated)
  }

  function check(body: JsonObject, format: FakeFormat, counting: boolean): WireError | undefined {
    const model = stringOf(body.model)
    if (options.validate !== false) {
      const error =
        format === 'chat' ? checkChat(body) : counting ? checkCount(body, seals) : checkMessages(body, seals)
      if (error) return error
    }
    return options.models && !options.models.includes(model) ? unknownModel(format, model) : undefined
  }

  return Object.freeze({
    fetch,
    requests: ledger.requests,
    get stats() {
      return ledger.stats
    },
    reply: (...next: Reply[]) => replies.queue(next),
    on: replies.on,
    reset() {
      ledger.clear()
      replies.clear()
      cache.clear()
      seals.reset()
      ids = createIds(options.seed ?? 1)
    },
  })
}

const allowOf = (error: WireError, destination: Destination | undefined): Record<string, string> =>
  error.status === 405 && destination ? { allow: destination.method } : {}

const notJson = (format: FakeFormat): WireError =>
  format === 'chat'
    ? {
        status: 400,
        type: 'invalid_request_error',
        message:
          "We could not parse the JSON body of your request. (HINT: This likely means you aren't using your HTTP library correctly. The OpenAI API expects a JSON payload, but what was sent was not valid JSON. If you have trouble figuring out how to fix this, please contact us through our help center at help.openai.com.)",
      }
    : {
        status: 400,
        type: 'invalid_request_error',
        message: 'The request body is not valid JSON: expected value at line 1 column 1',
      }
