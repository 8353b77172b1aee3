import type Anthropic from '@anthropic-ai/sdk'
import type { GoogleGenAI } from '@google/genai'
import type OpenAI from 'openai'
import type { JsonObject } from '../base/json.ts'
import type { Format } from '../base/recorded-traffic.ts'
import { anthropicClient, type ClientTarget, googleClient, openaiClient } from '../base/sdk-clients.ts'
import type { Clients, Conversation, ConversationOptions } from '../sdks/conversation.ts'
import { conversationStarters } from '../sdks/sdk-callers.ts'
import { CheckSkipped, must, NotServed } from './expectations.ts'
import type { ModelKind } from './models.ts'
import { describeRejection, namesField, rejectionOf } from './rejection.ts'

/** The server under test and the settings of its calls. */
export interface Target {
  /** Without `/v1` and without a trailing slash. */
  readonly origin: string
  readonly token: string | undefined
  /** Sent with every call. */
  readonly headers: Readonly<Record<string, string>>
  readonly fetch: typeof fetch
  /** Calls use a function in this process: realtime sessions are impossible without a socket. */
  readonly socketless: boolean
  readonly models: Readonly<Partial<Record<ModelKind, string>>>
  /** Text models of single formats, where they differ from `models.text`. */
  readonly modelOf: Readonly<Partial<Record<Format, string>>>
  readonly timeoutMs: number
}

/** Utilities of a check. */
export interface Context extends Clients {
  readonly target: Target
  /** Aborted when the check's time limit is reached. */
  readonly signal: AbortSignal
  /** Returns the text model of a format. */
  model(format: Format): string
  /** Returns the model of a kind. A check whose kind has no model is not run. */
  modelFor(kind: ModelKind): string
  /** The same clients with an unknown token. */
  readonly unknownTokenClients: Clients
  /** Starts a conversation with a format's official SDK. */
  startConversation(
    format: Format,
    manner?: Omit<ConversationOptions, 'stream' | 'model'> & { readonly stream?: boolean },
  ): Conversation
  /** Sends requests that the SDKs cannot send; a string is sent unchanged. Paths begin with `/v1`. */
  post(
    format: Format,
    path: string,
    body: JsonObject | string,
    headers?: Readonly<Record<string, string>>,
  ): Promise<Response>
  /** The same without an authentication header. */
  postWithoutKey(path: string, body: JsonObject): Promise<Response>
  get(path: string): Promise<Response>
  /** Runs a feature that not every model supports. The check is not served if the server rejects the field by name. */
  optionalFeature<Value>(field: string | readonly string[], call: () => Promise<Value>): Promise<Value>
  /** Returns a response header of this check that names the field: the server reports the field as lost. */
  reportedLoss(field: string): string | undefined
  /** Returns the headers of the latest response. */
  last(): Headers
}

/** Counts the calls of a check. */
export interface Meter {
  call(): void
}

const strangerToken = 'conformance-token-nobody-knows'

const auth: Readonly<Record<Format, (token: string) => Record<string, string>>> = {
  chat: (token) => ({ authorization: `Bearer ${token}` }),
  responses: (token) => ({ authorization: `Bearer ${token}` }),
  messages: (token) => ({ 'x-api-key': token, 'anthropic-version': '2023-06-01' }),
  gemini: (token) => ({ 'x-goog-api-key': token }),
}

/** Creates the context of one check. Its calls are aborted with the signal. */
export function createContext(target: Target, meter: Meter, signal: AbortSignal): Context {
  const answers: Response[] = []
  const call: typeof fetch = async (input, init) => {
    meter.call()
    const request = input instanceof Request ? input : undefined
    const headers = new Headers(init?.headers ?? request?.headers)
    for (const [name, value] of Object.entries(target.headers)) headers.set(name, value)
    const own = init?.signal ?? request?.signal
    const all = own ? AbortSignal.any([own, signal]) : signal
    const answer = await target.fetch(input, { ...init, headers, signal: all })
    answers.push(answer)
    return answer
  }
  // The SDKs require a token, so servers without authentication get a placeholder.
  const token = target.token ?? 'none'
  const send = (path: string, body: JsonObject | string, headers: Record<string, string>): Promise<Response> =>
    call(`${target.origin}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    })
  const place = (key: string): ClientTarget => ({
    origin: target.origin,
    fetch: call,
    token: key,
    timeoutMs: target.timeoutMs,
  })
  const clients = clientsOf(place(token))
  const model = (format: Format): string => target.modelOf[format] ?? target.models.text ?? ''
  return {
    get openai() {
      return clients.openai
    },
    get anthropic() {
      return clients.anthropic
    },
    get google() {
      return clients.google
    },
    target,
    signal,
    model,
    modelFor: (kind) => target.models[kind] ?? '',
    unknownTokenClients: clientsOf(place(strangerToken)),
    startConversation: (format, manner = {}) =>
      conversationStarters[format](clients, { stream: false, ...manner, model: model(format) }),
    post: (format, path, body, headers = {}) => send(path, body, { ...auth[format](token), ...headers }),
    postWithoutKey: (path, body) => send(path, body, {}),
    get: (path) => call(`${target.origin}${path}`, { headers: auth.chat(token) }),
    async optionalFeature(field, ask) {
      try {
        return await ask()
      } catch (error) {
        const refusal = rejectionOf(error)
        if (
          refusal &&
          (refusal.status === 400 || refusal.status === 422) &&
          [field].flat().some((name) => namesField(refusal, name))
        )
          throw new NotServed(`rejected, ${describeRejection(refusal)}`)
        throw error
      }
    },
    reportedLoss(field) {
      const reported = new RegExp(`[^,]*/${field}"?(?![\\w/])[^,]*`)
      return answers
        .flatMap(({ headers }) => [...headers])
        .flatMap(([name, value]) => {
          const part = reported.exec(value)?.[0]
          return part === undefined ? [] : [`${name}: ${part.trim()}`]
        })[0]
    },
    last: () => answers.at(-1)?.headers ?? new Headers(),
  }
}

/** Creates each client on first use: most checks need only one. */
function clientsOf(place: ClientTarget): Clients {
  let openai: OpenAI | undefined
  let anthropic: Anthropic | undefined
  let google: GoogleGenAI | undefined
  return {
    get openai() {
      openai ??= openaiClient(place)
      return openai
    },
    get anthropic() {
      anthropic ??= anthropicClient(place)
      return anthropic
    },
    get google() {
      google ??= googleClient(place)
      return google
    },
  }
}

/** Requires a requested part. The check is not served if a header reports the field as lost, otherwise it fails. */
export function requireUnlessLost(context: Context, field: string, there: boolean, why: string): void {
  const reported = there ? undefined : context.reportedLoss(field)
  if (reported !== undefined) throw new NotServed(`reported as lost: ${reported}`)
  must(there, why)
}

const keyHeaders = ['authorization', 'x-api-key', 'x-goog-api-key', 'api-key']

/** Skips checks of wrong tokens if the server accepts calls without a token. */
export function requireToken({ target }: Context): void {
  if (target.token === undefined) throw new CheckSkipped('no token was given: the server may accept every caller')
  const own = Object.keys(target.headers).find((name) => keyHeaders.includes(name.toLowerCase()))
  if (own !== undefined) throw new CheckSkipped(`the header ${own}, sent with every call, authenticates every caller`)
}
