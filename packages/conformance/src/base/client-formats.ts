import { exceptionPrefix } from './frames.ts'
import { isObject, type Json, type JsonObject, listOf, objectOf, textOf } from './json.ts'
import type { Format } from './recorded-traffic.ts'

// Everything that the matrices must know of a client format. A new format is one row here and its samples: the tables of samples are typed
// by `ClientFormat`, so that the compiler names each one that lacks it. Written from the formats, without code of the gateway.

/** Fields of an error in the dialect. */
export interface DialectError {
  readonly message: string
  /** The dialect's own name of the kind: `type`, Google's `status`, AWS's exception. Ollama has none. */
  readonly type: string
  readonly code: unknown
  /** The invalid field, if the error names one. */
  readonly param: string | undefined
}

/** Where an error arrived. */
export interface ErrorPlace {
  /** Undefined within a stream. */
  readonly status: number | undefined
  /** Name of the error outside of its body: that of an event, or a header. */
  readonly name: string
}

/** Recognizes an event of a stream by its data, parsed and as text, and by its name. */
type Recognize = (value: Json | undefined, event: string, data: string) => boolean

export interface ClientFormatRow {
  /** The upstream format whose model tests of the client's own API use: its own, if upstreams have it. */
  readonly upstream: Format
  readonly path: (model: string, stream: boolean) => string
  /** Query of a stream. */
  readonly streamQuery?: string
  /** Required headers. */
  readonly headers?: Readonly<Record<string, string>>
  /** Model and streaming are parts of the path, not of the body. */
  readonly inPath: boolean
  /** A body that does not name streaming requests a stream. */
  readonly streamsByDefault?: true
  /** Returns the smallest body with this prompt, without model and streaming. */
  readonly prompt: (text: string) => JsonObject
  /** Fields with which a stream reports its usage. */
  readonly streamFields?: JsonObject
  /** Path for token counts of the same body. */
  readonly countPath?: (model: string) => string
  /** Returns the body of a token count, if it is not that of the generation. */
  readonly countBody?: (body: JsonObject) => JsonObject
  /** Form of a stream: server-sent events, one line of JSON for each event, or binary frames. */
  readonly framing: 'events' | 'lines' | 'frames'
  /** The content type of a stream. */
  readonly streamType: string
  /** Recognizes the event that a client takes as the successful end. */
  readonly isSuccess: Recognize
  readonly isError: Recognize
  /** Type of the only event that follows an error: clients differ in which of the two they read. */
  readonly followsError?: string
  /** Returns the text that an event adds to the response. */
  readonly delta: (value: JsonObject) => string
  /** Returns whether a successful body has the format's form. */
  readonly isResponse: (body: JsonObject) => boolean
  /** Reads an error in the form that the dialect's official client expects; undefined for any other form. */
  readonly readError: (body: JsonObject, place: ErrorPlace) => DialectError | undefined
  /** Statuses of errors where the dialect has another one than HTTP. */
  readonly statuses?: Readonly<Record<number, number>>
  /** The header that names an error. */
  readonly errorHeader?: string
  /** Type of an error about an invalid request. */
  readonly invalidType: string
}

/**
 * Returns the type of an event: some readers use its name, others its data. Empty if the two contradict or the data is not JSON.
 */
function wordOf(value: Json | undefined, event: string): string {
  const { type } = objectOf(value)
  if (value === undefined || (typeof type === 'string' && event !== '' && type !== event)) return ''
  return textOf(type) === '' ? event : textOf(type)
}

const isSet = (value: unknown): boolean => value !== undefined && value !== null && value !== '' && value !== false
const candidatesOf = (value: Json | undefined): JsonObject[] => listOf(objectOf(value).candidates).map(objectOf)
const userMessage = (content: Json): JsonObject => ({ messages: [{ role: 'user', content }] })

/** Errors of OpenAI and Anthropic: an object `error` with `type` and `message`. */
function typedError({ error: body }: JsonObject): DialectError | undefined {
  const error = objectOf(body)
  const message = textOf(error.message)
  const type = textOf(error.type)
  if (message === '' || type === '') return undefined
  return { message, type, code: error.code, param: textOf(error.param) === '' ? undefined : textOf(error.param) }
}

/** An error event of Responses. OpenAI documents a flat event and sends a nested one. Its clients read the code. */
function responsesError(body: JsonObject, { status }: ErrorPlace): DialectError | undefined {
  if (status !== undefined) return typedError(body)
  const { message, code } = { ...objectOf(body.error), ...body }
  return { message: textOf(message), type: textOf(code), code, param: undefined }
}

function googleError({ error: body }: JsonObject, { status }: ErrorPlace): DialectError | undefined {
  const { message, code, status: type, details } = objectOf(body)
  if (textOf(message) === '' || textOf(type) === '' || typeof code !== 'number') return undefined
  if (status !== undefined && code !== status) return undefined
  const param = listOf(details)
    .flatMap((detail) => listOf(objectOf(detail).fieldViolations))
    .map((violation) => textOf(objectOf(violation).field))
    .find((field) => field !== '')
  return { message: textOf(message), type: textOf(type), code, param }
}

/** Ollama's errors are a text. */
const plainError = ({ error }: JsonObject): DialectError | undefined =>
  textOf(error) === '' ? undefined : { message: textOf(error), type: '', code: undefined, param: undefined }

/** AWS's errors. Their name is that of a header or of a frame. */
const awsError = ({ message }: JsonObject, { name }: ErrorPlace): DialectError | undefined => {
  const type = name.replace(exceptionPrefix, '')
  if (textOf(message) === '' || type === '') return undefined
  return { message: textOf(message), type, code: undefined, param: undefined }
}

const rows = {
  chat: {
    upstream: 'chat',
    path: () => '/v1/chat/completions',
    inPath: false,
    prompt: userMessage,
    streamFields: { stream_options: { include_usage: true } },
    framing: 'events',
    streamType: 'text/event-stream',
    isSuccess: (_, __, data) => data.trim() === '[DONE]',
    isError: (value, event) => isSet(objectOf(value).error) || event === 'error',
    delta: ({ choices }) =>
      listOf(choices)
        .map((choice) => textOf(objectOf(objectOf(choice).delta).content))
        .join(''),
    isResponse: ({ choices }) => listOf(choices).every(isObject) && listOf(choices).length > 0,
    readError: typedError,
    invalidType: 'invalid_request_error',
  },
  messages: {
    upstream: 'messages',
    path: () => '/v1/messages',
    headers: { 'anthropic-version': '2023-06-01' },
    inPath: false,
    prompt: (text) => ({ ...userMessage(text), max_tokens: 1024 }),
    countPath: () => '/v1/messages/count_tokens',
    framing: 'events',
    streamType: 'text/event-stream',
    // Clients of Messages ignore events without a name.
    isSuccess: (value, event) => event === 'message_stop' && wordOf(value, event) === event,
    isError: (_, event) => event === 'error',
    delta: ({ delta }) => textOf(objectOf(delta).text),
    isResponse: ({ type, content }) => type === 'message' && Array.isArray(content),
    readError: (body) => (body.type === 'error' ? typedError(body) : undefined),
    invalidType: 'invalid_request_error',
  },
  gemini: {
    upstream: 'gemini',
    path: (model, stream) =>
      `/v1beta/models/${encodeURIComponent(model)}:${stream ? 'streamGenerateContent' : 'generateContent'}`,
    // Without it, a stream is one JSON array.
    streamQuery: '?alt=sse',
    inPath: true,
    prompt: (text) => ({ contents: [{ role: 'user', parts: [{ text }] }] }),
    countPath: (model) => `/v1beta/models/${model}:countTokens`,
    framing: 'events',
    streamType: 'text/event-stream',
    isSuccess: (value) =>
      candidatesOf(value).some(({ finishReason }) => isSet(finishReason)) ||
      (objectOf(objectOf(value).promptFeedback).blockReason ?? undefined) !== undefined,
    isError: (value) => isSet(objectOf(value).error),
    delta: (value) =>
      candidatesOf(value)
        .flatMap(({ content }) => listOf(objectOf(content).parts))
        .map((part) => textOf(objectOf(part).text))
        .join(''),
    isResponse: ({ candidates, promptFeedback }) => Array.isArray(candidates) || isObject(promptFeedback),
    readError: googleError,
    invalidType: 'INVALID_ARGUMENT',
  },
  responses: {
    upstream: 'responses',
    path: () => '/v1/responses',
    inPath: false,
    prompt: (input) => ({ input }),
    countPath: () => '/v1/responses/input_tokens',
    framing: 'events',
    streamType: 'text/event-stream',
    isSuccess: (value, event) => ['response.completed', 'response.incomplete'].includes(wordOf(value, event)),
    isError: (value, event) => wordOf(value, event) === 'error' || isSet(objectOf(value).error),
    followsError: 'response.failed',
    delta: ({ type, delta }) => (type === 'response.output_text.delta' ? textOf(delta) : ''),
    isResponse: ({ output, status }) => Array.isArray(output) && typeof status === 'string',
    readError: responsesError,
    invalidType: 'invalid_request_error',
  },
  ollama: {
    // No upstream has it.
    upstream: 'chat',
    path: () => '/api/chat',
    inPath: false,
    streamsByDefault: true,
    prompt: userMessage,
    framing: 'lines',
    streamType: 'application/x-ndjson',
    isSuccess: (value) => objectOf(value).done === true,
    isError: (value) => 'error' in objectOf(value),
    delta: ({ message }) => textOf(objectOf(message).content),
    isResponse: ({ message, done }) => isObject(message) && done === true,
    readError: plainError,
    invalidType: '',
  },
  converse: {
    upstream: 'messages',
    path: (model, stream) => `/model/${encodeURIComponent(model)}/${stream ? 'converse-stream' : 'converse'}`,
    inPath: true,
    prompt: (text) => ({ messages: [{ role: 'user', content: [{ text }] }] }),
    countBody: (converse) => ({ input: { converse } }),
    framing: 'frames',
    streamType: 'application/vnd.amazon.eventstream',
    isSuccess: (_, event) => event === 'messageStop',
    isError: (_, event) => event.startsWith(exceptionPrefix),
    delta: ({ delta }) => textOf(objectOf(delta).text),
    isResponse: ({ output, stopReason }) => isObject(objectOf(output).message) && typeof stopReason === 'string',
    readError: awsError,
    // AWS's SDKs repeat calls after 500, 502 and 504, which the gateway has already done.
    statuses: { 401: 403, 502: 424, 504: 408 },
    errorHeader: 'x-amzn-errortype',
    invalidType: 'ValidationException',
  },
} as const satisfies Readonly<Record<string, ClientFormatRow>>

/** The formats that clients speak. There are no recordings of Ollama and Converse. */
export type ClientFormat = keyof typeof rows

export const clientFormatRows: Readonly<Record<ClientFormat, ClientFormatRow>> = rows
export const clientFormats = Object.keys(rows) as readonly ClientFormat[]

/** Returns whether a format of core is one of them. */
export const isClientFormat = (format: string): format is ClientFormat => Object.hasOwn(rows, format)

/** Parts of a request that some formats have in the path. */
export interface GenerationOptions {
  /** Default `recorded`. */
  readonly model?: string
  readonly stream?: boolean
}

/** Returns the format's generation path, without a query. */
export const pathOf = (format: ClientFormat, { model = 'recorded', stream = false }: GenerationOptions = {}): string =>
  clientFormatRows[format].path(model, stream)

/** Returns the query of a generation path. */
export const queryOf = (format: ClientFormat, { stream = false }: GenerationOptions = {}): string =>
  (stream ? clientFormatRows[format].streamQuery : undefined) ?? ''

/** Returns the status that clients of a format get for one of HTTP. */
export const statusIn = (format: ClientFormat, status: number): number =>
  clientFormatRows[format].statuses?.[status] ?? status

/** Returns whether a status of an error says that the request was wrong, and not that an upstream failed. */
export const blamesClient = (format: ClientFormat, status: number): boolean =>
  status < 500 && ![502, 504].some((fault) => statusIn(format, fault) === status)

/** Returns the name of an error that stands outside of its body. */
export const errorNameIn = (format: ClientFormat, header: (name: string) => string | undefined): string => {
  const { errorHeader } = clientFormatRows[format]
  return (errorHeader === undefined ? undefined : header(errorHeader)) ?? ''
}

/** Returns the fields of the body that name model and streaming, if the path does not. */
export const namedIn = (format: ClientFormat, model: string, stream: boolean): JsonObject =>
  clientFormatRows[format].inPath ? {} : { model, stream }

/** Returns a small request of a format, for tests that replay the response to another request. */
export function simpleRequest(format: ClientFormat, stream: boolean): JsonObject {
  const { prompt, streamFields } = clientFormatRows[format]
  return { ...namedIn(format, 'recorded', stream), ...prompt('Hello'), ...(stream ? streamFields : {}) }
}
