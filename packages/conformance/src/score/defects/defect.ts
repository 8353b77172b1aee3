import type { FakeProviderOptions } from '@modelgate/testing'
import { isObject, type Json, type JsonObject, listOf, objectOf, parseJson } from '../../base/json.ts'

/** The token that the provider accepts. */
export const goodToken = 'good-token-41c7'

/** Kind of a response body or event. */
export interface MessageKind {
  readonly ok: boolean
  readonly path: string
  readonly stream: boolean
}

/** One defect of a server that otherwise behaves like the fake provider. */
export interface Defect {
  readonly name: string
  /** Changes the request body. */
  readonly changeRequest?: (body: JsonObject, url: URL) => JsonObject
  readonly headers?: (headers: Headers) => void
  /** Changes the request URL. */
  readonly url?: (url: URL) => void
  /** Changes the response body, or each event of a stream; undefined drops the event. */
  readonly changeResponse?: (body: Json, about: MessageKind) => Json | undefined
  /** Changes the whole response. */
  readonly replaceResponse?: (answer: Response, path: string) => Response | Promise<Response>
  readonly model?: NonNullable<FakeProviderOptions['brain']>
  /** Exactly the checks that must fail. A star as the format means every format that has the feature. */
  readonly failed: readonly string[]
  readonly notServed?: readonly string[]
}

/** Applies a change to every object in a value, outermost first. */
export function visit(value: Json, change: (object: JsonObject) => void): Json {
  if (Array.isArray(value)) for (const item of value) visit(item, change)
  else if (isObject(value)) {
    change(value)
    for (const item of Object.values(value)) visit(item, change)
  }
  return value
}

/** Removes these keys at every depth. */
export const without =
  (...keys: readonly string[]) =>
  (value: Json): Json =>
    visit(value, (object) => {
      for (const key of keys) delete object[key]
    })
export const dropped =
  (...keys: readonly string[]) =>
  (body: JsonObject): JsonObject =>
    objectOf(without(...keys)(body))

const turnLists = ['messages', 'contents', 'input']
/** Keeps only the conversation turns that match. */
export const turns =
  (wanted: (turn: JsonObject, index: number, all: readonly JsonObject[]) => boolean) =>
  (body: JsonObject): JsonObject => {
    for (const name of turnLists)
      if (Array.isArray(body[name]) && listOf(body[name]).every(isObject))
        body[name] = listOf(body[name]).map(objectOf).filter(wanted)
    return body
  }

/** Returns a fetch function with a defect. */
export const withDefect =
  (inner: typeof fetch, spoil: Omit<Defect, 'name' | 'failed'>): typeof fetch =>
  async (input, init) => {
    const url = new URL(input instanceof Request ? input.url : input)
    const path = url.pathname
    spoil.url?.(url)
    const headers = new Headers(init?.headers)
    spoil.headers?.(headers)
    const sent = typeof init?.body === 'string' ? parseJson(init.body) : undefined
    const body = spoil.changeRequest && isObject(sent) ? JSON.stringify(spoil.changeRequest(sent, url)) : init?.body
    const answer = await inner(url, { ...init, headers, ...(body === undefined ? {} : { body }) })
    const own = spoil.changeResponse
    const changed = own === undefined ? answer : await rewritten(answer, path, own)
    return spoil.replaceResponse?.(changed, path) ?? changed
  }

/** Returns the response with its JSON changed: each event of a stream, or the body. */
async function rewritten(
  answer: Response,
  path: string,
  change: NonNullable<Defect['changeResponse']>,
): Promise<Response> {
  const type = answer.headers.get('content-type') ?? ''
  if (!/json|event-stream/.test(type)) return answer
  const stream = type.includes('event-stream')
  const about = { ok: answer.ok, path, stream }
  const text = await answer.text()
  const head = { status: answer.status, headers: answer.headers }
  if (!stream) {
    const value = parseJson(text)
    return new Response(value === undefined ? text : JSON.stringify(change(value, about)), head)
  }
  const events = text.split(/\r?\n\r?\n/).flatMap((event) => {
    const at = event.indexOf('data: ')
    const value = at < 0 ? undefined : parseJson(event.slice(at + 6))
    if (value === undefined) return [event]
    const changed = change(value, about)
    return changed === undefined ? [] : [`${event.slice(0, at)}data: ${JSON.stringify(changed)}`]
  })
  return new Response(events.join('\n\n'), head)
}

/** Replaces string values of these keys at every depth. */
export const replacingValues =
  (keys: readonly string[], words: Readonly<Record<string, Json>>) =>
  (value: Json): Json =>
    visit(value, (object) => {
      for (const key of keys) {
        const word = object[key]
        if (typeof word === 'string' && word in words) object[key] = words[word] ?? null
      }
    })

/** Limits a change to bodies of unstreamed responses. */
export const whole =
  (change: (value: Json) => Json) =>
  (value: Json, { stream }: MessageKind) =>
    stream ? value : change(value)
/** Limits a change to events of streams. */
export const streamed =
  (change: (value: Json) => Json | undefined) =>
  (value: Json, { stream }: MessageKind) =>
    stream ? change(value) : value
/** Limits a change to error bodies. */
export const onError =
  (change: (value: Json) => Json) =>
  (value: Json, { ok }: MessageKind) =>
    ok ? value : change(value)
/** Limits a change to successful responses of matching paths. */
export const at =
  (end: RegExp, change: (value: JsonObject) => Json) =>
  (value: Json, { ok, path }: MessageKind) =>
    ok && end.test(path) ? change(objectOf(value)) : value
