import { asString, isObject, type JsonObject } from '../base/json.ts'
import { createIds } from '../base/random.ts'
import { demoModels, type FakeProviderOptions } from '../contract/options.ts'
import type { FakeFormat, FakeStats, Matcher, RecordedRequest } from '../contract/request.ts'
import type { Script, ScriptedReply } from '../contract/script.ts'
import { demoBrain } from '../demo/brain.ts'
import { compose } from '../formats/compose.ts'
import type { Dialect, ProviderConventions, RenderInput, RequestHead } from '../formats/dialect.ts'
import { dialects } from '../formats/dialects.ts'
import { createMemory } from '../formats/memory.ts'
import { createPromptCache } from '../formats/prompt-cache.ts'
import type { ResponseHead } from '../formats/response-head.ts'
import { isError, storedResponse } from '../formats/responses/stored.ts'
import { createSeals } from '../formats/seals.ts'
import { checkCachedContent } from '../services/google-caches.ts'
import { createObjectMemory, serveObject } from '../services/stored-objects.ts'
import type { WireError } from '../wire/errors.ts'
import { readBody } from '../wire/request-body.ts'
import { createReplies } from './replies.ts'
import { createRequestLog, type OpenCall } from './request-log.ts'
import { formatOf, type MatchedRoute, matchRoute } from './routes.ts'
import { errorResponse, sendResponse } from './send-response.ts'
import { serveOperation } from './serve-operation.ts'

/** A model provider that runs in the process and behaves like the real ones. */
export interface FakeProvider {
  /**
   * Handles a request like `fetch`, so it can replace `fetch`. The host is ignored; the path selects the operation:
   * `/v1/chat/completions`, `/v1/messages`, `/v1/messages/count_tokens`, `/v1/responses`, `/v1/responses/input_tokens`,
   * `/v1/responses/compact`, `/v1/responses/{id}`, `/v1/responses/{id}/input_items`, `/v1/files…`, `/v1/conversations…`,
   * `/v1/realtime/calls…` (ids that begin with `rtc_sip_` are ringing phone calls), `/v1/skills…`,
   * `/v1beta/files…`, `/upload/v1beta/files`,
   * `/v1beta/models/{model}:generateContent` (also `:streamGenerateContent`, `:countTokens`, `:embedContent`,
   * `:batchEmbedContents`), `/v1/completions`, `/v1/embeddings`, `/v1/rerank`, `/v2/rerank`, `/v1/moderations`,
   * `/v1/images/…`, `/v1/audio/…` and `/v1/models`, all but `/v2/rerank` with any version or none.
   * Rejects like `fetch` for faults that break the connection, and with the signal's reason when the caller disconnects.
   */
  readonly fetch: (input: Request | URL | string, init?: RequestInit) => Promise<Response>
  /** All requests since the last `reset`, in order. */
  readonly requests: readonly RecordedRequest[]
  readonly stats: FakeStats
  /** Queues one reply for each of the next calls; they come before standing replies and the demo model. */
  reply(...replies: ScriptedReply[]): void
  /** Replies to every matching call; the latest registration wins. The returned function removes it. */
  on(matcher: Matcher, reply: ScriptedReply): () => void
  /** Restores the initial state: forgets requests, counts, replies, cached prefixes and ids. */
  reset(): void
}

interface Base {
  readonly exchange: OpenCall
  readonly conventions: ProviderConventions
  readonly route: MatchedRoute | undefined
  readonly responseHead: ResponseHead
  readonly paceMs: number
}

/** Prompt caches belong to the account of a key. */
const accountOf = (headers: Readonly<Record<string, string>>): string =>
  headers.authorization ?? headers['x-api-key'] ?? headers['x-goog-api-key'] ?? ''

/** Creates a fake provider. Providers share no state. */
export function createFakeProvider(options: FakeProviderOptions = {}): FakeProvider {
  const now = options.now ?? Date.now
  const brain = options.brain ?? demoBrain
  const log = createRequestLog(options.keepRequests ?? 10_000)
  const replies = createReplies()
  const cache = createPromptCache(options.cacheMinTokens ?? 64)
  let ids = createIds(options.seed ?? 1)
  const seals = createSeals(() => ids.completion().slice(9))
  const memory = createMemory()
  const objects = createObjectMemory()

  const fetch: FakeProvider['fetch'] = async (input, init) => {
    const request = new Request(input, init)
    const url = new URL(request.url)
    const headers = Object.fromEntries(request.headers)
    const head: RequestHead = { method: request.method, path: url.pathname, query: url.search.slice(1), headers }
    const route = matchRoute(head)
    const format = route?.format ?? formatOf(head)
    const dialect = dialects[format]
    const conventions = route?.service?.conventions ?? dialect
    const content = await readBody(request)
    const requestBody = route?.service?.read(content) ?? (isObject(content.json) ? content.json : {})
    const named = route?.model ?? asString(requestBody.model)
    const exchange = log.open(
      {
        ...head,
        body: content.json,
        form: content.form,
        format: route?.operation === 'generate' ? format : undefined,
        operation: route?.service?.operation,
        model: named === '' ? undefined : named,
        stream: route?.stream ?? route?.service?.wantsStream?.(requestBody) ?? requestBody.stream === true,
      },
      content,
      request.signal,
      [input, request],
    )
    const responseHead = conventions.createResponseHead(ids, now(), named)
    const base: Base = { exchange, conventions, route, responseHead, paceMs: options.paceMs ?? 0 }
    if (!route) return errorResponse(base, conventions.unknownPathError(head))
    if (head.method !== route.method) {
      return errorResponse(base, conventions.wrongMethodError(head), { allow: route.method })
    }
    const refusal = conventions.authenticate(head, options.apiKey)
    if (refusal) return errorResponse(base, refusal)
    if (route.operation === 'models') return listModels(base, dialect, route)
    if (route.operation === 'stored') {
      const kept = storedResponse(memory, route, head.query)
      if (isError(kept)) return errorResponse(base, kept)
      exchange.answered(200)
      exchange.settle('finished')
      return Response.json(kept, { headers: responseHead.headers })
    }
    if (route.operation === 'objects') {
      const answer = serveObject({
        origin: url.origin,
        head,
        route,
        content,
        memory: objects,
        ids,
        now: now(),
        exists,
        run,
      })
      if ('error' in answer) return errorResponse(base, answer.error, answer.headers)
      exchange.answered('status' in answer ? answer.status : 200)
      exchange.settle('finished')
      if ('json' in answer)
        return Response.json(answer.json, { headers: { ...responseHead.headers, ...answer.headers } })
      if ('text' in answer) {
        const { text, status } = answer
        return new Response(text, { status, headers: { ...responseHead.headers, ...answer.headers } })
      }
      if ('headers' in answer) return new Response('', { headers: { ...responseHead.headers, ...answer.headers } })
      return new Response(answer.content, {
        headers: { ...responseHead.headers, 'content-type': answer.contentType || 'application/octet-stream' },
      })
    }
    if (!route.service) return generate(base, dialect, route)
    return serveOperation({
      ...base,
      service: route.service,
      route,
      content,
      body: requestBody,
      scripted: await replies.take(exchange.record),
      validate: options.validate !== false,
      exists,
      brain,
      ids,
      now,
    })
  }

  function listModels(base: Base, dialect: Dialect, route: MatchedRoute): Response {
    const { exchange, responseHead } = base
    const { model } = route
    if (model !== undefined && !exists(model)) return errorResponse(base, dialect.unknownModelError(model, route))
    exchange.answered(200)
    exchange.settle('finished')
    const listed = (): JsonObject =>
      dialect.listModels(options.models ?? demoModels, new URLSearchParams(exchange.record.query))
    const body = model === undefined ? listed() : dialect.modelEntry(model)
    return Response.json(body, { headers: responseHead.headers })
  }

  const exists = (model: string): boolean => !options.models || options.models.includes(model)

  async function generate(base: Base, dialect: Dialect, route: MatchedRoute): Promise<Response> {
    const { exchange, responseHead } = base
    const counting = route.operation === 'count-tokens'
    const scripted = counting ? undefined : await replies.take(exchange.record)
    if (scripted?.raw) return sendResponse({ ...base, script: scripted }, undefined)
    const { body } = exchange.record
    if (!isObject(body)) return errorResponse(base, dialect.notJsonError)
    const error = check(body, dialect, route)
    if (error) return errorResponse(base, error)
    const prompt = dialect.read(body, route, memory)
    if (counting) {
      exchange.answered(200)
      exchange.settle('finished')
      const tokens = prompt.segments.reduce((sum, segment) => sum + segment.tokens, 0)
      return Response.json(dialect.tokenCountBody(tokens), { headers: responseHead.headers })
    }
    const script: Script = scripted ?? brain(prompt)
    const input = cache.take(prompt, dialect.cachesAutomatically, accountOf(exchange.record.headers))
    const answer = compose(script, { prompt, dialect, input, ids, seals, now, limited: scripted === undefined })
    const field = options.chatReasoning ?? 'hidden'
    // Reasoning of a script or directive is returned even if the request does not ask for it.
    const wanted = scripted !== undefined || prompt.reasoning === 'off'
    const generated: RenderInput = {
      prompt,
      answer,
      request: body,
      route,
      memory,
      ids,
      seals,
      now,
      reasoningField: field !== 'hidden' ? field : wanted ? 'reasoning_content' : undefined,
      padding: options.padding ?? true,
    }
    return sendResponse({ ...base, script }, () => ({ rendering: dialect.render(generated), stream: prompt.stream }))
  }

  /** Generates the response to a request of a batch. */
  function run(format: FakeFormat, body: JsonObject): { readonly status: number; readonly body: JsonObject } {
    const dialect = dialects[format]
    const route: MatchedRoute = {
      operation: 'generate',
      format,
      service: undefined,
      served: undefined,
      action: undefined,
      method: 'POST',
      model: undefined,
      stream: false,
      array: false,
      version: 'v1',
    }
    const error = check(body, dialect, route)
    if (error) return { status: error.status, body: dialect.errorBody(error, ids.requestHex(), {}) }
    const prompt = dialect.read(body, route, memory)
    const input = cache.take(prompt, dialect.cachesAutomatically, 'batches')
    const answer = compose(brain(prompt), { prompt, dialect, input, ids, seals, now, limited: true })
    const rendering = dialect.render({
      ...{ prompt, answer, request: body, route, memory, ids, seals, now },
      reasoningField: undefined,
      padding: false,
    })
    return { status: 200, body: rendering.body() as JsonObject }
  }

  function check(body: JsonObject, dialect: Dialect, route: MatchedRoute): WireError | undefined {
    if (options.validate !== false) {
      const error = dialect.check(body, { seals, memory, route })
      if (error) return error
    }
    const model = route.model ?? asString(body.model)
    if (!exists(model)) return dialect.unknownModelError(model, route)
    return route.format === 'gemini' ? checkCachedContent(body, model, objects) : undefined
  }

  return Object.freeze({
    fetch,
    requests: log.requests,
    get stats() {
      return log.stats
    },
    reply: (...next: ScriptedReply[]) => replies.queue(next),
    on: replies.on,
    reset() {
      log.clear()
      replies.clear()
      cache.clear()
      seals.reset()
      memory.clear()
      objects.files.clear()
      objects.conversations.clear()
      objects.googleFiles.clear()
      objects.uploads.clear()
      objects.googleCaches.clear()
      objects.messageBatches.clear()
      objects.fileBatches.clear()
      objects.calls.clear()
      objects.skills.clear()
      ids = createIds(options.seed ?? 1)
    },
  })
}
