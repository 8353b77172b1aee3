import type { FakeProviderOptions } from '@modelgate/testing'
import { isObject, type Json, type JsonObject, listOf, objectOf, parseJson } from '../../base/json.ts'

/** The token that the provider accepts. */
export const goodToken = 'good-token-41c7'

/** Kind of an answer. */
export interface About {
  readonly ok: boolean
  readonly path: string
  readonly stream: boolean
}

/** One thing that a server does badly; everything else it does as the fake provider does. */
export interface Spoil {
  readonly name: string
  /** Changes what the provider is asked. */
  readonly asked?: (body: JsonObject, url: URL) => JsonObject
  readonly headers?: (headers: Headers) => void
  /** Changes the URL that it is asked at. */
  readonly url?: (url: URL) => void
  /** Changes what it answers, event by event where it streams; undefined: the event is left out. */
  readonly answered?: (body: Json, about: About) => Json | undefined
  /** Changes the answer as a whole. */
  readonly reply?: (answer: Response, path: string) => Response | Promise<Response>
  readonly model?: NonNullable<FakeProviderOptions['brain']>
  /** The checks that notice, and no others: a feature with a star is that of every format that has it. */
  readonly failed: readonly string[]
  readonly notServed?: readonly string[]
}

/** Every object in a value, from the outside in. */
export function visit(value: Json, change: (object: JsonObject) => void): Json {
  if (Array.isArray(value)) for (const item of value) visit(item, change)
  else if (isObject(value)) {
    change(value)
    for (const item of Object.values(value)) visit(item, change)
  }
  return value
}

/** Drops these keys wherever they stand. */
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
/** Keeps of a conversation what `wanted` says. */
export const turns =
  (wanted: (turn: JsonObject, index: number, all: readonly JsonObject[]) => boolean) =>
  (body: JsonObject): JsonObject => {
    for (const name of turnLists)
      if (Array.isArray(body[name]) && listOf(body[name]).every(isObject))
        body[name] = listOf(body[name]).map(objectOf).filter(wanted)
    return body
  }

/** A fetch that spoils what another one does. */
export const spoiled =
  (inner: typeof fetch, spoil: Omit<Spoil, 'name' | 'failed'>): typeof fetch =>
  async (input, init) => {
    const url = new URL(input instanceof Request ? input.url : input)
    const path = url.pathname
    spoil.url?.(url)
    const headers = new Headers(init?.headers)
    spoil.headers?.(headers)
    const sent = typeof init?.body === 'string' ? parseJson(init.body) : undefined
    const body = spoil.asked && isObject(sent) ? JSON.stringify(spoil.asked(sent, url)) : init?.body
    const answer = await inner(url, { ...init, headers, ...(body === undefined ? {} : { body }) })
    const own = spoil.answered
    const changed = own === undefined ? answer : await rewritten(answer, path, own)
    return spoil.reply?.(changed, path) ?? changed
  }

/** The answer with its JSON changed: of every event of a stream, or of the body. */
async function rewritten(answer: Response, path: string, change: NonNullable<Spoil['answered']>): Promise<Response> {
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

/** Puts other words in the place of these, wherever they stand as values of these keys. */
export const worded =
  (keys: readonly string[], words: Readonly<Record<string, Json>>) =>
  (value: Json): Json =>
    visit(value, (object) => {
      for (const key of keys) {
        const word = object[key]
        if (typeof word === 'string' && word in words) object[key] = words[word] ?? null
      }
    })

/** Changes bodies that are no streams. */
export const whole =
  (change: (value: Json) => Json) =>
  (value: Json, { stream }: About) =>
    stream ? value : change(value)
/** Changes events of streams. */
export const streamed =
  (change: (value: Json) => Json | undefined) =>
  (value: Json, { stream }: About) =>
    stream ? change(value) : value
/** Changes bodies of errors. */
export const onError =
  (change: (value: Json) => Json) =>
  (value: Json, { ok }: About) =>
    ok ? value : change(value)
/** Changes an answer that is none of an error, at such a path. */
export const at =
  (end: RegExp, change: (value: JsonObject) => Json) =>
  (value: Json, { ok, path }: About) =>
    ok && end.test(path) ? change(objectOf(value)) : value
